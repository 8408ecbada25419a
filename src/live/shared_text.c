/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of counters and reader slots.  Invariant: what leaves tti_show_text() is valid UTF-8
 * that no terminal obeys. */
#include "live/shared_text.h"

#include <stdatomic.h>
#include <string.h>
#include "format/text.h"

typedef _Atomic(uint64_t) word;

/* The longest beginning of text of at most room bytes that ends with a whole character. */
static size_t fit(const char *text, size_t room)
{
	size_t len = 0;

	while (len < room && text[len] != '\0')
		len++;
	if (text[len] == '\0')
		return len;
	while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
		len--;
	return len;
}

void tti_shared_text_store(uint8_t *out, size_t bytes, const char *text)
{
	word *words = (void *)out;
	char padded[96] = "";
	size_t len = fit(text, bytes - 1);

	if (text[len] != '\0') {
		len = fit(text, bytes - 4);
		memcpy(padded + len, "...", 3);
	}
	memcpy(padded, text, len);
	for (size_t i = 0; i < bytes / sizeof(word); i++) {
		uint64_t value;

		memcpy(&value, padded + i * sizeof(value), sizeof(value));
		atomic_store_explicit(&words[i], value, memory_order_release);
	}
}

void tti_shared_text_load(char *out, size_t bytes, const uint8_t *from)
{
	const word *words = (const void *)from;

	for (size_t i = 0; i < bytes / sizeof(word); i++) {
		uint64_t value = atomic_load_explicit(&words[i], memory_order_acquire);

		memcpy(out + i * sizeof(value), &value, sizeof(value));
	}
	out[bytes] = '\0';
}

static bool is_shown(uint32_t code)
{
	return code < 0x80 ? code >= 0x20 && code < 0x7f : tti_is_printable(code);
}

void tti_show_text(char *out, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = strlen(text), at = 0;

	while (at < n) {
		uint32_t code = 0;
		size_t len = tti_utf8_next(text + at, n - at, &code);

		if (len > 0 && is_shown(code)) {
			memcpy(out, text + at, len);
			out += len;
			at += len;
		} else {
			unsigned char byte = (unsigned char)text[at++];

			*out++ = '\\';
			*out++ = 'x';
			*out++ = hex[byte >> 4];
			*out++ = hex[byte & 15];
		}
	}
	*out = '\0';
}
