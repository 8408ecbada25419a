/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are to be text: escapes and UTF-8.  Invariant: what cli_escape_bytes() writes is
 * valid UTF-8 without controls but CR and LF, and cli_unescape() gives the same bytes back. */
#include <string.h>

#include "value.h"

static const char hex[] = "0123456789abcdef";

/* What of a value, and of its escaped form, a message shows. */
enum { SHOWN = 48, SHOWN_ESCAPED = CLI_SHOWN - 4 };

size_t cli_utf8_length(const unsigned char *text, size_t n)
{
	uint32_t code;
	size_t len = cli_utf8_get(text, n, &code);

	if (len > 4 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return len;
}

size_t cli_utf8_span(const char *text, size_t n)
{
	size_t at = 0, len = 1;

	while (at < n && len > 0) {
		len = (unsigned char)text[at] < 0x80
			      ? 1
			      : cli_utf8_length((const unsigned char *)text + at, n - at);
		at += len;
	}
	return at;
}

size_t cli_utf8_get(const unsigned char *text, size_t n, uint32_t *out)
{
	static const uint64_t least[] = { 0,	   0,	     0x80,	0x800,
					  0x10000, 0x200000, 0x4000000, 0x80000000 };
	size_t len = 0;
	uint64_t code;

	if (n == 0)
		return 0;
	if (text[0] < 0x80) {
		*out = text[0];
		return 1;
	}
	while (len < 8 && text[0] & 0x80 >> len)
		len++;
	if (len < 2 || len > 7 || len > n)
		return 0;
	code = text[0] & 0x7f >> len;
	for (size_t i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[len] || code > UINT32_MAX)
		return 0;
	*out = (uint32_t)code;
	return len;
}

size_t cli_utf8_put(uint32_t code, unsigned char *out)
{
	size_t len = code < 0x80	 ? 1
		     : code < 0x800	 ? 2
		     : code < 0x10000	 ? 3
		     : code < 0x200000	 ? 4
		     : code < 0x4000000	 ? 5
		     : code < 0x80000000 ? 6
					 : 7;
	uint64_t rest = code;

	if (len == 1) {
		out[0] = (unsigned char)code;
		return 1;
	}
	for (size_t i = len - 1; i > 0; i--, rest >>= 6)
		out[i] = (unsigned char)(0x80 | (rest & 0x3f));
	out[0] = (unsigned char)((0xff00 >> len & 0xff) | rest);
	return len;
}

size_t cli_escape_bytes(const unsigned char *in, size_t n, char *out)
{
	char *at = out;

	for (size_t i = 0; i < n;) {
		unsigned char c = in[i];
		size_t len = 1;

		if (c == '\\') {
			*at++ = '\\';
		} else if ((c < 0x20 && c != '\r' && c != '\n') || c == 0x7f ||
			   (c >= 0x80 && (len = cli_utf8_length(in + i, n - i)) == 0)) {
			*at++ = '\\';
			*at++ = 'x';
			*at++ = hex[c >> 4];
			*at++ = hex[c & 15];
			i++;
			continue;
		}
		memcpy(at, in + i, len);
		at += len;
		i += len;
	}
	return (size_t)(at - out);
}

const char *cli_show(const char *text, size_t len, char out[CLI_SHOWN])
{
	char escaped[4 * SHOWN];
	size_t n = cli_escape_bytes((const unsigned char *)text,
				    len < SHOWN ? len : SHOWN, escaped);

	if (n > SHOWN_ESCAPED)
		n = SHOWN_ESCAPED;
	memcpy(out, escaped, n);
	out[n] = '\0';
	for (char *c = out; *c; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	if (len > SHOWN)
		memcpy(out + n, "...", 4);
	return out;
}

int cli_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

size_t cli_unescape(const char *text, size_t len, unsigned char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\\' && i + 1 < len && text[i + 1] == '\\') {
			i++;
		} else if (c == '\\' && i + 3 < len && text[i + 1] == 'x' &&
			   cli_hex_digit(text[i + 2]) >= 0 &&
			   cli_hex_digit(text[i + 3]) >= 0) {
			c = (unsigned char)(cli_hex_digit(text[i + 2]) << 4 |
					    cli_hex_digit(text[i + 3]));
			i += 3;
		}
		if (n == size)
			return SIZE_MAX;
		out[n++] = c;
	}
	return n;
}
