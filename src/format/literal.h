/* SPDX-License-Identifier: Apache-2.0 */
/* A cursor over a Python literal: what the headers of .npy files are written in.  The
 * text is UTF-8 and is never evaluated; every reader below either moves past what it took
 * or fails with the place. */
#ifndef TTI_LITERAL_H
#define TTI_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "format/text.h"

struct tti_literal {
	const char *text;
	size_t len, pos;
	bool has_comments;    /* '#' to the end of the line is blank */
	const char *what;     /* opens the error texts: "element type" or a path */
	int code;	      /* of the errors */
	struct tt_error *err; /* may be NULL */
};

/* Set the error: "what: at character N (near ...): words".  Returns code. */
int tti_literal_fail(struct tti_literal *lit, const char *fmt, ...) TTI_PRINTF(2, 3);

void tti_literal_space(struct tti_literal *lit);  /* skip blanks and newlines */
bool tti_literal_at_end(struct tti_literal *lit); /* nothing but blanks follows */
/* After blanks: is the next byte c, or is it and take it, or take it or fail. */
bool tti_literal_peek(struct tti_literal *lit, char c);
bool tti_literal_take(struct tti_literal *lit, char c);
int tti_literal_expect(struct tti_literal *lit, char c);

/* True, False, None: taken when it stands there as a whole word. */
bool tti_literal_word(struct tti_literal *lit, const char *word);

/* 'text', "text", '''text''', with u, b, r before it, adjacent ones joined; the value
 * replaces what out held. */
bool tti_literal_at_string(struct tti_literal *lit);
int tti_literal_string(struct tti_literal *lit, struct tti_text *out);

/* A decimal number from 0 to 2^64 - 1, an L of Python 2 taken with it. */
int tti_literal_u64(struct tti_literal *lit, uint64_t *out);

#endif
