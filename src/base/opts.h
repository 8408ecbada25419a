/* SPDX-License-Identifier: Apache-2.0 */
/* Options structs of the public headers.  They begin with their size and grow at their end only,
 * so a program built against an older header passes fewer bytes. */
#ifndef TTI_OPTS_H
#define TTI_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Lay the caller's options over the defaults in mine, which is size bytes: what his header did
 * not have keeps its default.  false: his are larger, made for a newer library (or not set). */
static inline bool tti_take_opts(void *mine, size_t size, const void *opts)
{
	size_t given;

	memcpy(&given, opts, sizeof(given));
	if (given < sizeof(given) || given > size)
		return false;
	memcpy(mine, opts, given);
	memcpy(mine, &size, sizeof(size));
	return true;
}

#endif
