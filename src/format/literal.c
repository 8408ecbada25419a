/* SPDX-License-Identifier: Apache-2.0 */
/* Reading Python literals.  Invariant: pos <= len, and no byte from len on is read. */
#include "format/literal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

int tti_literal_fail(struct tti_literal *lit, const char *fmt, ...)
{
	char words[320];
	size_t near = tti_min_u64(lit->len - lit->pos, 24);
	va_list ap;

	while (near > 0 && lit->pos + near < lit->len && /* whole characters */
	       ((unsigned char)lit->text[lit->pos + near] & 0xc0) == 0x80)
		near--;
	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	if (near == 0)
		return tti_fail(lit->err, lit->code, "%s: at the end: %s", lit->what,
				words);
	return tti_fail(lit->err, lit->code, "%s: at character %zu (near \"%.*s\"): %s",
			lit->what, lit->pos + 1, (int)near, lit->text + lit->pos, words);
}

static char byte_at(const struct tti_literal *lit, size_t pos)
{
	return pos < lit->len ? lit->text[pos] : '\0';
}

static bool is_blank(char c)
{
	return c != '\0' && strchr(" \t\r\n\f\v", c);
}

void tti_literal_space(struct tti_literal *lit)
{
	for (; lit->pos < lit->len; lit->pos++) {
		if (lit->has_comments && lit->text[lit->pos] == '#')
			while (lit->pos + 1 < lit->len && lit->text[lit->pos + 1] != '\n')
				lit->pos++;
		else if (!is_blank(lit->text[lit->pos]))
			return;
	}
}

bool tti_literal_at_end(struct tti_literal *lit)
{
	tti_literal_space(lit);
	return lit->pos == lit->len;
}

bool tti_literal_peek(struct tti_literal *lit, char c)
{
	tti_literal_space(lit);
	return lit->pos < lit->len && lit->text[lit->pos] == c;
}

bool tti_literal_take(struct tti_literal *lit, char c)
{
	if (!tti_literal_peek(lit, c))
		return false;
	lit->pos++;
	return true;
}

int tti_literal_expect(struct tti_literal *lit, char c)
{
	if (tti_literal_take(lit, c))
		return TT_OK;
	return tti_literal_fail(lit, "expected '%c'", c);
}

static bool is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || (unsigned char)c >= 0x80;
}

bool tti_literal_word(struct tti_literal *lit, const char *word)
{
	size_t n = strlen(word);

	tti_literal_space(lit);
	if (lit->len - lit->pos < n || memcmp(lit->text + lit->pos, word, n) != 0 ||
	    is_word_byte(byte_at(lit, lit->pos + n)))
		return false;
	lit->pos += n;
	return true;
}

/* Bytes of a prefix (u, b, r, br, rb, either case) that a quote follows, or -1. */
static int string_prefix(struct tti_literal *lit, bool *raw)
{
	bool bytes = false;
	int n = 0;

	tti_literal_space(lit);
	*raw = false;
	for (; n < 2; n++) {
		char c = byte_at(lit, lit->pos + (size_t)n);

		if (c == '\0' || !strchr("uUbBrR", c))
			break;
		*raw |= c == 'r' || c == 'R';
		bytes |= c == 'b' || c == 'B';
	}
	if (n == 2 && !(*raw && bytes))
		return -1;
	switch (byte_at(lit, lit->pos + (size_t)n)) {
	case '\'':
	case '"': return n;
	}
	return -1;
}

bool tti_literal_at_string(struct tti_literal *lit)
{
	bool raw;

	return string_prefix(lit, &raw) >= 0;
}

/* Up to n digits in base; the number of digits taken. */
static int take_digits(struct tti_literal *lit, int n, int base, uint32_t *out)
{
	int taken = 0;

	for (*out = 0; taken < n; taken++, lit->pos++) {
		int value = tti_digit_value(byte_at(lit, lit->pos));

		if (value >= base)
			break;
		*out = *out * (uint32_t)base + (uint32_t)value;
	}
	return taken;
}

static int put_code_point(struct tti_literal *lit, struct tti_text *out, uint32_t c)
{
	if (c == 0)
		return tti_literal_fail(lit, "a NUL in a string is not supported");
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return tti_literal_fail(lit, "U+%04X is no character", (unsigned)c);
	tti_text_put_utf8(out, c);
	return TT_OK;
}

/* What follows a backslash. */
static int take_escape(struct tti_literal *lit, struct tti_text *out)
{
	static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
	char c = byte_at(lit, lit->pos);
	const char *simple = c ? strchr(from, c) : NULL;
	int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
	uint32_t value;

	if (simple || c == '\n') {
		lit->pos++;
		if (simple)
			tti_text_put(out, &to[simple - from], 1);
		return TT_OK;
	}
	if (c >= '0' && c <= '7') {
		take_digits(lit, 3, 8, &value);
		return put_code_point(lit, out, value);
	}
	if (digits) {
		lit->pos++;
		if (take_digits(lit, digits, 16, &value) != digits)
			return tti_literal_fail(lit, "expected %d hexadecimal digits",
						digits);
		return put_code_point(lit, out, value);
	}
	if (c == 'N')
		return tti_literal_fail(lit, "\\N{name} is not supported; use \\u");
	tti_text_put(out, "\\", 1);
	return TT_OK;
}

/* true when n quotes stand at the cursor; they are taken. */
static bool take_quotes(struct tti_literal *lit, char quote, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (byte_at(lit, lit->pos + i) != quote)
			return false;
	lit->pos += n;
	return true;
}

static int take_quoted(struct tti_literal *lit, bool raw, struct tti_text *out)
{
	char quote = lit->text[lit->pos];
	size_t from = lit->pos;
	size_t quotes = take_quotes(lit, quote, 3) ? 3 : 1;
	int rc;

	lit->pos += quotes == 1;
	while (!take_quotes(lit, quote, quotes)) {
		char c = byte_at(lit, lit->pos);

		if (c == '\0' || (c == '\n' && quotes == 1)) {
			lit->pos = from;
			return tti_literal_fail(lit, "the string does not end");
		}
		lit->pos++;
		if (c == '\\' && !raw) {
			rc = take_escape(lit, out);
			if (rc < 0)
				return rc;
			continue;
		}
		tti_text_put(out, &c, 1);
		if (c == '\\' && byte_at(lit, lit->pos) != '\0')
			tti_text_put(out, &lit->text[lit->pos++], 1);
	}
	return TT_OK;
}

int tti_literal_string(struct tti_literal *lit, struct tti_text *out)
{
	bool raw;
	int n = string_prefix(lit, &raw), rc;

	if (n < 0)
		return tti_literal_fail(lit, "expected a string in quotes");
	tti_text_reset(out);
	for (; n >= 0; n = string_prefix(lit, &raw)) {
		lit->pos += (size_t)n;
		rc = take_quoted(lit, raw, out);
		if (rc < 0)
			return rc;
	}
	tti_text_put(out, "", 0);
	if (out->failed)
		return tti_fail(lit->err, -ENOMEM, "%s: out of memory", lit->what);
	return TT_OK;
}

int tti_literal_u64(struct tti_literal *lit, uint64_t *out)
{
	size_t from, to;

	tti_literal_space(lit);
	from = to = lit->pos;
	while (to < lit->len && lit->text[to] >= '0' && lit->text[to] <= '9')
		to++;
	if (to == from && byte_at(lit, from) == '-')
		return tti_literal_fail(lit, "negative number");
	if (!tti_parse_u64(lit->text + from, to - from, out))
		return tti_literal_fail(lit, to == from ? "expected a whole number"
							: "number too large");
	if (byte_at(lit, to) == 'L')
		to++;
	if (is_word_byte(byte_at(lit, to)) || byte_at(lit, to) == '.')
		return tti_literal_fail(lit, "expected a whole number");
	lit->pos = to;
	return TT_OK;
}
