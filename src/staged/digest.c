/* SPDX-License-Identifier: Apache-2.0 */
/* Invariant: a hasher is between begin and end or idle; a failed call leaves it usable
 *            from the next begin on. */
#include "staged/digest.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ticktail/dtype.h"
#include "base/compiler.h"

struct tti_hasher {
	/* fetched once: a fetch for each chunk costs more than a small chunk */
	EVP_MD *sha256;
	EVP_MD_CTX *state;
	/* the shape text last added: most chunks of a dataset have the same */
	unsigned rank;
	uint64_t shape[TT_MAX_RANK];
	size_t text_len;
	char text[TT_MAX_RANK * 22 + 4];
};

bool tti_digest_equal(const struct tti_digest *a, const struct tti_digest *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

bool tti_digest_is_zero(const struct tti_digest *digest)
{
	static const struct tti_digest zero;

	return tti_digest_equal(digest, &zero);
}

void tti_digest_print(const struct tti_digest *digest, char out[TTI_DIGEST_TEXT])
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof(digest->b); i++) {
		out[2 * i] = hex[digest->b[i] >> 4];
		out[2 * i + 1] = hex[digest->b[i] & 15];
	}
	out[2 * sizeof(digest->b)] = '\0';
}

int tti_hasher_new(struct tti_hasher **out, struct tt_error *err)
{
	tti_auto_hasher *hasher = calloc(1, sizeof(*hasher));

	if (!hasher)
		return tti_fail(err, -ENOMEM, "SHA-256: out of memory");
	hasher->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (!hasher->sha256 &&
	    ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_MALLOC_FAILURE)
		return tti_fail(err, -ENOMEM, "SHA-256: out of memory");
	if (!hasher->sha256)
		return tti_fail(
			err, TT_E_UNSUPPORTED,
			"SHA-256: libcrypto offers no SHA256; see its configuration "
			"(openssl.cnf)");
	hasher->state = EVP_MD_CTX_new();
	if (!hasher->state)
		return tti_fail(err, -ENOMEM, "SHA-256: out of memory");
	if (EVP_DigestInit_ex2(hasher->state, hasher->sha256, NULL) != 1)
		return tti_fail(err, -EIO, "SHA-256: libcrypto refused to start");
	*out = tti_steal_ptr(&hasher);
	return TT_OK;
}

void tti_hasher_free(struct tti_hasher **hasher)
{
	if (!*hasher)
		return;
	EVP_MD_CTX_free((*hasher)->state);
	EVP_MD_free((*hasher)->sha256);
	free(*hasher);
	*hasher = NULL;
}

int tti_hasher_begin(struct tti_hasher *hasher)
{
	/* no type: the fetched one is kept, only the state starts anew */
	return EVP_DigestInit_ex2(hasher->state, NULL, NULL) == 1 ? TT_OK : -EIO;
}

int tti_hasher_update(struct tti_hasher *hasher, const void *bytes, size_t n)
{
	return EVP_DigestUpdate(hasher->state, bytes, n) == 1 ? TT_OK : -EIO;
}

int tti_hasher_vlen_element(struct tti_hasher *hasher, const char *text, size_t n)
{
	uint64_t len = text ? n : 0;
	int rc = tti_hasher_update(hasher, &len, sizeof(len));

	return rc < 0 || len == 0 ? rc : tti_hasher_update(hasher, text, len);
}

static void write_shape(struct tti_hasher *hasher, unsigned rank, const uint64_t *shape)
{
	size_t len = 0, room = sizeof(hasher->text);

	for (unsigned i = 0; i < rank; i++)
		len += (size_t)snprintf(hasher->text + len, room - len, "%s%" PRIu64,
					i ? ", " : "(", shape[i]);
	len += (size_t)snprintf(hasher->text + len, room - len, rank == 1 ? ",)" : ")");
	hasher->text_len = len;
	hasher->rank = rank;
	memcpy(hasher->shape, shape, rank * sizeof(*shape));
}

static int add_shape(struct tti_hasher *hasher, unsigned rank, const uint64_t *shape)
{
	if (rank > TT_MAX_RANK)
		return -EINVAL;
	if (rank != hasher->rank ||
	    memcmp(shape, hasher->shape, rank * sizeof(*shape)) != 0)
		write_shape(hasher, rank, shape);
	return tti_hasher_update(hasher, hasher->text, hasher->text_len);
}

int tti_hasher_end(struct tti_hasher *hasher, unsigned rank, const uint64_t *shape,
		   struct tti_digest *out)
{
	int rc = rank > 0 ? add_shape(hasher, rank, shape) : TT_OK;

	if (rc < 0)
		return rc;
	return EVP_DigestFinal_ex(hasher->state, out->b, NULL) == 1 ? TT_OK : -EIO;
}

int tti_digest_bytes(struct tti_hasher *hasher, const void *bytes, size_t n,
		     struct tti_digest *out)
{
	int rc = tti_hasher_begin(hasher);

	if (rc == TT_OK)
		rc = tti_hasher_update(hasher, bytes, n);
	return rc < 0 ? rc : tti_hasher_end(hasher, 0, NULL, out);
}

/* One axis of the box; the innermost trimmed piece is hashed in one go. */
static int add_axis(struct tti_hasher *hasher, const struct tti_chunk_box *box,
		    unsigned axis, const char *bytes)
{
	size_t inner = box->element_bytes;
	int rc = TT_OK;

	for (unsigned i = axis + 1; i < box->rank; i++)
		inner *= box->chunk[i];
	for (unsigned i = axis + 1; i < box->rank; i++) {
		if (box->extent[i] == box->chunk[i])
			continue;
		for (uint64_t k = 0; k < box->extent[axis] && rc == TT_OK; k++)
			rc = add_axis(hasher, box, axis + 1, bytes + k * inner);
		return rc;
	}
	return tti_hasher_update(hasher, bytes, box->extent[axis] * inner);
}

int tti_digest_box(struct tti_hasher *hasher, const void *bytes,
		   const struct tti_chunk_box *box, struct tti_digest *out)
{
	int rc = tti_hasher_begin(hasher);

	if (rc == TT_OK)
		rc = box->rank == 0 ? tti_hasher_update(hasher, bytes, box->element_bytes)
				    : add_axis(hasher, box, 0, bytes);
	return rc < 0 ? rc : tti_hasher_end(hasher, box->rank, box->extent, out);
}
