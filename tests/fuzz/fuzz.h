/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share.  A target takes any bytes, runs one parser and checks what
 * must hold whatever they were; a broken invariant aborts.  Linked with replay.c it runs
 * its corpus and mutations of it, with -fsanitize=fuzzer it is a libFuzzer program. */
#ifndef TT_FUZZ_H
#define TT_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ticktail/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) fuzz_must(condition, #condition, __FILE__, __LINE__)
static inline void fuzz_must(int holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

/* A refusal has a code of its own kind and words. */
static inline void fuzz_refused(int rc, const struct tt_error *err)
{
	MUST(rc < 0);
	MUST(err->code == rc);
	MUST(memchr(err->text, '\0', sizeof(err->text)) != NULL);
	MUST(err->text[0] != '\0');
}

/* Little-endian numbers from the front of the input; zeros when it has run out. */
struct fuzz_input {
	const uint8_t *data;
	size_t size;
};

static inline uint64_t fuzz_take(struct fuzz_input *in, size_t bytes)
{
	uint64_t value = 0;
	size_t n = bytes < in->size ? bytes : in->size;

	for (size_t i = n; i-- > 0;)
		value = value << 8 | in->data[i];
	in->data += n;
	in->size -= n;
	return value;
}

#endif
