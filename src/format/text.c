/* SPDX-License-Identifier: Apache-2.0 */
/* Growing texts and strict UTF-8.  Invariant: bytes[len] is NUL whenever bytes is set. */
#include "format/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tti_text_fini(struct tti_text *text)
{
	free(text->bytes);
	*text = (struct tti_text){ 0 };
}

/* true when n more bytes and a NUL have their place. */
static bool make_room(struct tti_text *text, size_t n)
{
	size_t room = text->room ? text->room : 64;
	char *bytes;

	if (text->failed)
		return false;
	if (text->bytes && n < text->room - text->len)
		return true;
	while (room - text->len <= n) {
		if (room > SIZE_MAX / 2) {
			text->failed = true;
			return false;
		}
		room *= 2;
	}
	bytes = realloc(text->bytes, room);
	if (!bytes) {
		text->failed = true;
		return false;
	}
	text->bytes = bytes;
	text->room = room;
	return true;
}

void tti_text_put(struct tti_text *text, const void *bytes, size_t n)
{
	if (!make_room(text, n))
		return;
	if (n > 0)
		memcpy(text->bytes + text->len, bytes, n);
	text->len += n;
	text->bytes[text->len] = '\0';
}

void tti_text_put_str(struct tti_text *text, const char *str)
{
	tti_text_put(text, str, strlen(str));
}

void tti_text_putf(struct tti_text *text, const char *fmt, ...)
{
	char small[128];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (n < 0)
		text->failed = true;
	else if ((size_t)n < sizeof(small))
		tti_text_put(text, small, (size_t)n);
	else if (make_room(text, (size_t)n)) {
		va_start(ap, fmt);
		vsnprintf(text->bytes + text->len, (size_t)n + 1, fmt, ap);
		va_end(ap);
		text->len += (size_t)n;
	}
}

void tti_text_put_utf8(struct tti_text *text, uint32_t c)
{
	unsigned char out[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = (unsigned char)(0x80 | (c & 0x3f));
	out[0] = (unsigned char)(lead[n] | c);
	tti_text_put(text, out, n);
}

void tti_text_reset(struct tti_text *text)
{
	text->len = 0;
	if (text->bytes)
		text->bytes[0] = '\0';
}

char *tti_text_steal(struct tti_text *text)
{
	char *bytes = NULL;

	tti_text_put(text, "", 0);
	if (!text->failed)
		bytes = tti_steal_ptr(&text->bytes);
	tti_text_fini(text);
	return bytes;
}

size_t tti_utf8_next(const char *bytes, size_t n, uint32_t *out)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)bytes;
	size_t len = p[0] < 0x80   ? 1
		     : p[0] < 0xc0 ? 0
		     : p[0] < 0xe0 ? 2
		     : p[0] < 0xf0 ? 3
				   : 4;
	uint32_t c;

	if (len == 0 || len > n || p[0] > 0xf4)
		return 0;
	c = len == 1 ? p[0] : p[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*out = c;
	return len;
}

bool tti_utf8_valid(const char *bytes, size_t n)
{
	uint32_t c;

	for (size_t i = 0, len; i < n; i += len) {
		len = tti_utf8_next(bytes + i, n - i, &c);
		if (len == 0)
			return false;
	}
	return true;
}
