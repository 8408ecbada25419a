/* SPDX-License-Identifier: Apache-2.0 */
/* The Python dict literal of an .npy header.  Accepts what ast.literal_eval() and NumPy's
 * checks accept: any order of keys (the last of equal ones counts), any quotes, spaces,
 * comments, trailing commas, and long integers of Python 2.
 * A descr that a later one replaces is skipped without a look inside.
 * Invariant: at <= end; nothing is read at or past end. */
#include "format/npy_text.h"

#include <string.h>
#include "base/error.h"
#include "base/num.h"

struct scan {
	const char *begin, *at, *end;
	bool python2;
	const char *path;
	struct tt_error *err;
};

static int refuse(const struct scan *s, const char *why)
{
	return tti_fail(s->err, TT_E_DAMAGED,
			"%s: bad .npy header: %s at byte %zu of its dict", s->path, why,
			(size_t)(s->at - s->begin));
}

static int peek(const struct scan *s)
{
	return s->at < s->end ? (unsigned char)*s->at : -1;
}

static bool starts(const struct scan *s, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(s->end - s->at) >= n && memcmp(s->at, word, n) == 0;
}

static bool take(struct scan *s, const char *word)
{
	if (!starts(s, word))
		return false;
	s->at += strlen(word);
	return true;
}

static bool is_name_char(int c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || c >= 0x80;
}

static bool take_name(struct scan *s, const char *name)
{
	const char *before = s->at;

	if (take(s, name) && !is_name_char(peek(s)))
		return true;
	s->at = before;
	return false;
}

static void skip_space(struct scan *s)
{
	while (s->at < s->end) {
		if (*s->at == '#') {
			while (s->at < s->end && *s->at != '\n')
				s->at++;
		} else if (starts(s, "\\\n")) {
			s->at += 2;
		} else if (*s->at && strchr(" \t\f\r\n", *s->at)) {
			s->at++;
		} else {
			return;
		}
	}
}

/* One string literal; *from_out, *len_out is what stands between its quotes.  false when there
 * is none, or it does not end. */
static bool take_string(struct scan *s, const char **from_out, size_t *len_out)
{
	const char *at = s->at, *from;
	size_t quotes;
	char quote;

	if (at < s->end && *at && strchr("uUrR", *at))
		at++;
	if (at >= s->end || (*at != '\'' && *at != '"'))
		return false;
	quote = *at;
	quotes = s->end - at >= 3 && at[1] == quote && at[2] == quote ? 3 : 1;
	from = at + quotes;
	for (at = from; (size_t)(s->end - at) >= quotes; at++) {
		if (*at == '\\' && s->end - at >= 2) {
			at++; /* hides a quote, in raw strings too */
		} else if (*at == '\n' && quotes == 1) {
			return false;
		} else if (*at == quote &&
			   (quotes == 1 || (at[1] == quote && at[2] == quote))) {
			*from_out = from;
			*len_out = (size_t)(at - from);
			s->at = at + quotes;
			return true;
		}
	}
	return false;
}

enum key { KEY_OTHER, KEY_DESCR, KEY_FORTRAN_ORDER, KEY_SHAPE };

/* Adjacent literals are one string. */
static int take_key(struct scan *s, enum key *out)
{
	static const char *const names[] = { "", "descr", "fortran_order", "shape" };
	char key[16] = "";
	size_t len = 0, n;
	const char *from;

	if (!take_string(s, &from, &n))
		return refuse(s, "a key that is no string");
	do {
		if (n >= sizeof(key) - len)
			return refuse(s, "an unknown key");
		memcpy(key + len, from, n);
		len += n;
		skip_space(s);
	} while (take_string(s, &from, &n));
	for (*out = KEY_DESCR; *out <= KEY_SHAPE; (*out)++)
		if (len == strlen(names[*out]) && memcmp(key, names[*out], len) == 0)
			return TT_OK;
	return refuse(s, "an unknown key");
}

/* 0x, 0o and 0b, underscores between digits; leading zeros only in zero. */
static int take_digits(struct scan *s, uint64_t *out)
{
	int base = 10;
	const char *from;
	uint64_t value = 0;

	if (starts(s, "0x") || starts(s, "0X"))
		base = 16;
	else if (starts(s, "0o") || starts(s, "0O"))
		base = 8;
	else if (starts(s, "0b") || starts(s, "0B"))
		base = 2;
	s->at += base == 10 ? 0 : 2;
	for (from = s->at; tti_digit_value(peek(s)) < base; s->at++) {
		if (tti_mul_overflow(value, (uint64_t)base, &value) ||
		    tti_add_overflow(value, (uint64_t)tti_digit_value(peek(s)), &value))
			return refuse(s, "an extent beyond 64 bits");
		if (s->end - s->at >= 2 && s->at[1] == '_')
			s->at++; /* what follows must be a digit: checked below */
	}
	if (s->at == from || s->at[-1] == '_')
		return refuse(s, "an extent that is no integer");
	if (base == 10 && *from == '0' && value != 0)
		return refuse(s, "an extent with leading zeros");
	*out = value;
	return TT_OK;
}

static int take_integer(struct scan *s, uint64_t *out)
{
	bool negative = peek(s) == '-', sign = negative || peek(s) == '+';
	int rc;

	s->at += sign;
	skip_space(s);
	if (!sign &&
	    (take_name(s, "True") || take_name(s, "False"))) { /* integers, to Python */
		*out = s->at[-2] == 'u';
		return TT_OK;
	}
	rc = take_digits(s, out);
	if (rc < 0)
		return rc;
	if (negative && *out != 0)
		return refuse(s, "a negative extent");
	if (s->python2) {
		const char *before = s->at;

		skip_space(s);
		if (!take_name(s, "L"))
			s->at = before;
	}
	return is_name_char(peek(s)) || peek(s) == '.'
		       ? refuse(s, "an extent that is no integer")
		       : TT_OK;
}

/* An integer, in brackets perhaps. */
static int take_extent(struct scan *s, uint64_t *out)
{
	size_t brackets = 0;
	int rc;

	for (; take(s, "("); brackets++)
		skip_space(s);
	rc = take_integer(s, out);
	for (; rc == TT_OK && brackets > 0; brackets--) {
		skip_space(s);
		if (!take(s, ")"))
			return refuse(s, "an extent that is no integer");
	}
	return rc;
}

/* The columns of the first extent, and of the spaces right before it. */
static void note_columns(struct tti_npy_text *out, const struct scan *s,
			 const char *bracket, const char *from)
{
	const char *first = from;

	while (first > bracket && first[-1] == ' ')
		first--;
	out->extent_off = (size_t)(first - s->begin);
	out->extent_width = (uint32_t)(s->at - first);
}

static int take_shape(struct scan *s, struct tti_npy_text *out)
{
	const char *bracket;
	bool comma = true;
	int rc;

	out->rank = 0;
	out->extent_off = out->extent_width = 0;
	if (!take(s, "("))
		return refuse(s, "a shape that is no tuple");
	bracket = s->at;
	for (skip_space(s); !take(s, ")"); skip_space(s)) {
		const char *from = s->at;

		if (!comma)
			return refuse(s, "a shape without a comma");
		if (out->rank == TT_MAX_RANK)
			return refuse(s, "a shape of more than 32 extents");
		rc = take_extent(s, &out->shape[out->rank]);
		if (rc < 0)
			return rc;
		if (out->rank++ == 0)
			note_columns(out, s, bracket, from);
		skip_space(s);
		comma = take(s, ",");
	}
	return out->rank == 1 && !comma ? refuse(s, "a shape that is no tuple") : TT_OK;
}

static int take_bool(struct scan *s, bool *out)
{
	*out = take_name(s, "True");
	return *out || take_name(s, "False")
		       ? TT_OK
		       : refuse(s, "a fortran_order that is no bool");
}

/* Everything up to the comma or brace that ends the value; the dtype parser judges it. */
static int take_descr(struct scan *s, struct tti_npy_text *out)
{
	const char *from = s->at, *inside;
	uint32_t depth = 0;
	size_t n;

	for (;;) {
		int c;

		skip_space(s);
		if (take_string(s, &inside, &n))
			continue;
		c = peek(s);
		if (c <= 0 || c == '\'' || c == '"')
			return refuse(s, "a descr that does not end");
		if (depth == 0 && (c == ',' || c == '}'))
			break;
		if (c == '(' || c == '[' || c == '{')
			depth++;
		else if (c == ')' || c == ']' || c == '}')
			depth--;
		if (depth == UINT32_MAX)
			return refuse(s, "a bracket too many");
		s->at++;
	}
	out->descr = from;
	out->descr_len = (size_t)(s->at - from);
	while (out->descr_len && strchr(" \t\f\r\n", from[out->descr_len - 1]))
		out->descr_len--;
	return out->descr_len ? TT_OK : refuse(s, "an empty descr");
}

static int take_value(struct scan *s, enum key key, struct tti_npy_text *out)
{
	if (key == KEY_DESCR)
		return take_descr(s, out);
	return key == KEY_SHAPE ? take_shape(s, out) : take_bool(s, &out->fortran_order);
}

/* The items behind the opening brace, with the closing one. */
static int take_items(struct scan *s, struct tti_npy_text *out)
{
	unsigned seen = 0;
	bool comma = true;
	enum key key = KEY_OTHER;
	int rc;

	for (skip_space(s); !take(s, "}"); skip_space(s)) {
		if (!comma)
			return refuse(s, "a missing comma");
		rc = take_key(s, &key);
		if (rc < 0)
			return rc;
		skip_space(s);
		if (!take(s, ":"))
			return refuse(s, "a missing colon");
		skip_space(s);
		rc = take_value(s, key, out);
		if (rc < 0)
			return rc;
		seen |= 1u << key;
		skip_space(s);
		comma = take(s, ",");
	}
	if (seen != (1u << KEY_DESCR | 1u << KEY_FORTRAN_ORDER | 1u << KEY_SHAPE))
		return refuse(s, "not all of descr, fortran_order and shape");
	return TT_OK;
}

int tti_npy_text_parse(struct tti_npy_text *out, const struct tti_npy_dict *dict,
		       struct tt_error *err)
{
	struct scan s = { dict->text,	 dict->text, dict->text + dict->len,
			  dict->python2, dict->path, err };
	int rc;

	memset(out, 0, sizeof(*out));
	skip_space(&s);
	if (!take(&s, "{"))
		return refuse(&s, "no dict");
	rc = take_items(&s, out);
	if (rc < 0)
		return rc;
	skip_space(&s);
	return s.at == s.end ? TT_OK : refuse(&s, "text after the dict");
}
