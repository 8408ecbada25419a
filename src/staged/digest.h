/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of chunks: SHA-256 over the bytes of the trimmed chunk in C order, then its
 * shape as text, "(10,)" or "(2, 4)".  Two chunks with equal digests share one slot, so
 * what is hashed is part of the archive's format (docs/FORMAT.md). */
#ifndef TTI_DIGEST_H
#define TTI_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct tti_digest {
	uint8_t b[32];
};
#define TTI_DIGEST_TEXT 65 /* 64 hex digits and the end */

bool tti_digest_equal(const struct tti_digest *a, const struct tti_digest *b);
/* All zero: "not known" in a hash table. */
bool tti_digest_is_zero(const struct tti_digest *digest);
void tti_digest_print(const struct tti_digest *digest, char out[TTI_DIGEST_TEXT]);

/* One hasher a thread, used again and again:
 *	begin, update or vlen_element any number of times, end. */
struct tti_hasher;
int tti_hasher_new(struct tti_hasher **out, struct tt_error *err);
void tti_hasher_free(struct tti_hasher **hasher); /* accepts NULL inside */
#define tti_auto_hasher TTI_CLEANUP(tti_hasher_free) struct tti_hasher

/* These return TT_OK or -EIO: libcrypto refused. */
int tti_hasher_begin(struct tti_hasher *hasher);
int tti_hasher_update(struct tti_hasher *hasher, const void *bytes, size_t n);
/* One variable-length string: its length as u64, then its bytes; NULL is empty. */
int tti_hasher_vlen_element(struct tti_hasher *hasher, const char *text, size_t n);
/* Add the shape text (none when rank is 0: a plain SHA-256) and take the digest. */
int tti_hasher_end(struct tti_hasher *hasher, unsigned rank, const uint64_t *shape,
		   struct tti_digest *out);

/* The SHA-256 of bytes. */
int tti_digest_bytes(struct tti_hasher *hasher, const void *bytes, size_t n,
		     struct tti_digest *out);

/* The trimmed box of a chunk that lies full size in memory: extent[] of chunk[] elements
 * of element_bytes each. */
struct tti_chunk_box {
	unsigned rank;
	const uint64_t *chunk, *extent;
	size_t element_bytes;
};
int tti_digest_box(struct tti_hasher *hasher, const void *bytes,
		   const struct tti_chunk_box *box, struct tti_digest *out);

#endif
