/* SPDX-License-Identifier: Apache-2.0 */
/* Short texts in shared memory, stored and loaded as 8-byte words: a reader may get words of
 * two texts, never half of a word, and sees before it what was released before. */
#ifndef TTI_SHARED_TEXT_H
#define TTI_SHARED_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* text into bytes at out (8-aligned, a multiple of 8, at most 96), NUL-padded, at least one
 * NUL; cut between characters with "..." when it is longer.  Each word with release. */
void tti_shared_text_store(uint8_t *out, size_t bytes, const char *text);
/* Back, terminated: out has bytes + 1.  Each word with acquire. */
void tti_shared_text_load(char *out, size_t bytes, const uint8_t *from);

/* What others stored, fit to be shown: UTF-8 without controls, all else as \xNN.  out has
 * 4 * strlen(text) + 1. */
void tti_show_text(char *out, const char *text);

#endif
