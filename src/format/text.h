/* SPDX-License-Identifier: Apache-2.0 */
/* A text that grows.  A failed allocation sticks: further bytes are dropped and
 * tti_text_steal() gives NULL, so that callers check once, at the end. */
#ifndef TTI_TEXT_H
#define TTI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/compiler.h"

struct tti_text {
	char *bytes; /* terminated once anything was put */
	size_t len, room;
	bool failed;
};

void tti_text_fini(struct tti_text *text);
#define tti_auto_text TTI_CLEANUP(tti_text_fini) struct tti_text

void tti_text_put(struct tti_text *text, const void *bytes, size_t n);
void tti_text_put_str(struct tti_text *text, const char *str);
void tti_text_putf(struct tti_text *text, const char *fmt, ...) TTI_PRINTF(2, 3);
void tti_text_put_utf8(struct tti_text *text, uint32_t code_point);
void tti_text_reset(struct tti_text *text); /* empty again; the memory stays */

/* The text as its own allocation (never NULL for an empty one), NULL without memory. */
char *tti_text_steal(struct tti_text *text);

/* One code point of bytes[0..n), n > 0; its length in bytes, 0 when it is not UTF-8
 * (overlong forms, surrogates and values above U+10FFFF are not). */
size_t tti_utf8_next(const char *bytes, size_t n, uint32_t *out);
bool tti_utf8_valid(const char *bytes, size_t n);

bool tti_is_printable(uint32_t code_point); /* for Python's repr() */

#endif
