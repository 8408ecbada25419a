/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of a damaged file is, and where its rows begin.  The header says both, in bytes that
 * nothing protects: a changed bit may leave another type or another length, as possible as the
 * right one.  So it is held against size and tail, and against who knows better.
 *
 * Invariant: a type that its file contradicts is never believed; where nobody knows the right
 * one, that is said, and the file is let alone. */
#include "live/salvage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/fs.h"
#include "base/num.h"
#include "live/ring.h"

#define SEARCH_BYTES 65536 /* a header that lost its length is looked for up to here */
#define HEADER_STEP 16	   /* where a header may end: all that numpy ever aligned to */

/* ---- The header's bytes ---- */

static bool parse_as_is(struct tti_npy *out, int fd, uint64_t file_bytes,
			const char *path)
{
	uint8_t prefix[TTI_NPY_PREFIX];
	size_t n = tti_min_u64(sizeof(prefix), file_bytes);
	tti_auto_free void *bytes = NULL;
	uint64_t length;

	if (tti_pread_all(fd, prefix, n, 0) < 0 ||
	    tti_npy_header_length(prefix, n, &length, path, NULL) < 0 ||
	    length > file_bytes)
		return false;
	bytes = malloc(length);
	return bytes && tti_pread_all(fd, bytes, length, 0) == TT_OK &&
	       tti_npy_parse(out, bytes, length, path, NULL) == TT_OK;
}

/* A header that ends at length, its magic, version and length put right.  The dict tells
 * whether that was a good guess. */
static bool parse_as(struct tti_npy *out, uint8_t *bytes, uint64_t length, uint8_t major,
		     const char *path)
{
	size_t prefix = major == 1 ? 10 : 12;
	uint64_t dict = length - prefix;

	if (length <= prefix || (major == 1 && dict > UINT16_MAX))
		return false;
	memcpy(bytes, "\x93NUMPY", 6);
	bytes[6] = major;
	bytes[7] = 0;
	for (size_t i = 8; i < prefix; i++)
		bytes[i] = (uint8_t)(dict >> (8 * (i - 8)));
	return tti_npy_parse(out, bytes, length, path, NULL) == TT_OK;
}

/* Any version that fits; copy has the room of bytes. */
static bool parse_any(struct tti_npy *out, const uint8_t *bytes, uint8_t *copy,
		      uint64_t length, const char *path)
{
	if (bytes[length - 1] != '\n' || !memchr(bytes, '}', length))
		return false;
	for (uint8_t major = 1; major <= 3; major++) {
		memcpy(copy, bytes, length);
		if (parse_as(out, copy, length, major, path))
			return true;
	}
	return false;
}

/* length 0: wherever one may end. */
static bool parse_mended(struct tti_npy *out, int fd, uint64_t file_bytes,
			 uint64_t length, const char *path)
{
	size_t n = tti_min_u64(SEARCH_BYTES, file_bytes);
	tti_auto_free uint8_t *bytes = malloc(n + 1);
	tti_auto_free uint8_t *copy = malloc(n + 1);

	if (!bytes || !copy || length > n || tti_pread_all(fd, bytes, n, 0) < 0)
		return false;
	if (length > 0)
		return parse_any(out, bytes, copy, length, path);
	for (size_t at = HEADER_STEP; at <= n; at += HEADER_STEP)
		if (parse_any(out, bytes, copy, at, path))
			return true;
	return false;
}

uint64_t tti_salvage_tail_offset(int fd, uint64_t file_bytes)
{
	uint64_t pair[2];

	if (file_bytes < TTI_TAIL_MAX_BYTES ||
	    tti_pread_all(fd, pair, sizeof(pair), file_bytes - sizeof(pair)) < 0 ||
	    (pair[1] != TTI_TAIL_MAGIC && pair[1] != TTI_TAIL_SUPERSEDED) ||
	    pair[0] > file_bytes - TTI_TAIL_MAX_BYTES)
		return 0;
	return pair[0];
}

/* A header whose length was changed to another that it may have ends elsewhere than where the
 * tail says, and where the tail says there is the end of one.  *as_is_out: nothing was mended. */
static bool parse(struct tti_npy *out, int fd, uint64_t file_bytes, bool *as_is_out,
		  const char *path)
{
	uint64_t off = tti_salvage_tail_offset(fd, file_bytes);
	struct tti_npy other;

	*out = (struct tti_npy){ 0 };
	*as_is_out = parse_as_is(out, fd, file_bytes, path);
	if (*as_is_out && (off == 0 || off == out->data_off))
		return true;
	if (off != 0 && parse_mended(&other, fd, file_bytes, off, path)) {
		tti_npy_fini(out);
		*out = other;
		*as_is_out = false;
		return true;
	}
	return *as_is_out || parse_mended(out, fd, file_bytes, 0, path);
}

int tti_salvage_header(struct tti_npy *out, int fd, uint64_t file_bytes, const char *path)
{
	bool as_is;

	return parse(out, fd, file_bytes, &as_is, path);
}

/* ---- Its type, held against size and tail ---- */

/* The extent and the size of a row account for every byte up to the tail, or to the end of a
 * plain array. */
static bool is_borne_out(const struct tti_npy *npy, int fd, uint64_t file_bytes)
{
	uint64_t data = file_bytes - tti_min_u64(file_bytes, npy->data_off), want;

	if (npy->rank == 0 || tti_mul_overflow(npy->shape[0], npy->row_bytes, &want) ||
	    want > data)
		return false;
	if (want == data)
		return true;
	return (data - want == 40 || data - want == 32) &&
	       tti_salvage_tail_offset(fd, file_bytes) == npy->data_off;
}

struct size_vote {
	uint64_t bytes, end; /* of all rows up to the tail; published rows */
	uint64_t row, extent;
	int fd;
	uint64_t from; /* where the rows begin */
};

/* The last byte with something in it lies in the last published row. */
static bool ends_in(const struct size_vote *vote, uint64_t row)
{
	uint64_t last;

	if (tti_salvage_last_byte(vote->fd, vote->from, vote->from + vote->bytes, &last) <
	    0)
		return false;
	last -= vote->from;
	return last <= vote->end * row &&
	       (vote->end == 0 || last > (vote->end - 1) * row);
}

/* Either the extent is wrong or the size of a row: what both leave possible, what stands in the
 * rows decides.  1: *other_out is the right size; 0: the header's is; -1: neither can be. */
static int count_votes(const struct size_vote *vote, uint64_t *other_out)
{
	bool mine = vote->bytes % vote->row == 0 && vote->end <= vote->bytes / vote->row;
	bool other = vote->extent > 0 && vote->bytes >= vote->extent &&
		     vote->bytes % vote->extent == 0 && vote->end <= vote->extent;

	if (!other)
		return mine ? 0 : -1;
	*other_out = vote->bytes / vote->extent;
	return !mine || (!ends_in(vote, vote->row) && ends_in(vote, *other_out));
}

uint64_t tti_salvage_other_row(const struct tti_npy *npy, int fd, uint64_t file_bytes)
{
	uint64_t words[5], other;

	if (npy->rank == 0 || tti_salvage_tail_offset(fd, file_bytes) != npy->data_off ||
	    is_borne_out(npy, fd, file_bytes))
		return 0;
	for (uint32_t n = 5; n >= 4; n--) {
		struct size_vote vote = { .row = npy->row_bytes,
					  .extent = npy->shape[0],
					  .fd = fd,
					  .from = npy->data_off };
		int rc;

		if (file_bytes - npy->data_off < n * 8u ||
		    tti_pread_all(fd, words, n * 8u, file_bytes - n * 8u) < 0)
			continue;
		vote.bytes = file_bytes - npy->data_off - n * 8u;
		vote.end = words[1];
		rc = count_votes(&vote, &other);
		if (rc >= 0)
			return rc ? other : 0;
	}
	return 0;
}

/* ---- Rows as somebody else says ---- */

/* Where the rows begin in a file of like's kind: as there, or as in a new one. */
static int data_off_of(const struct tti_npy *like, uint64_t capacity, uint64_t *out)
{
	uint64_t shape[TT_MAX_RANK];
	void *header = NULL;
	size_t len;
	int rc;

	if (like->data_off) {
		*out = like->data_off;
		return TT_OK;
	}
	memcpy(shape, like->shape, sizeof(shape));
	shape[0] = tti_max_u64(capacity, 1);
	rc = tti_npy_format(
		&header, &len,
		&(struct tti_npy_form){ like->dtype, like->rank, shape, true }, NULL);
	free(header);
	*out = len;
	return rc;
}

static void copy_rows_of(struct tti_salvage *out, const struct tti_npy *like)
{
	out->npy = *like;
	out->npy.dtype = tt_dtype_ref(like->dtype);
	out->npy.fortran_order = false;
	out->npy.shape[0] = TTI_SALVAGE_UNKNOWN;
	out->row_bytes = like->row_bytes;
}

/* There is no header.  The tail knows where the rows begin, when what it says fits. */
static int take_like(struct tti_salvage *out, int fd, const struct tti_npy *like)
{
	uint64_t row = like->row_bytes, bytes = out->file_bytes,
		 off = tti_salvage_tail_offset(fd, bytes);

	copy_rows_of(out, like);
	if (off != 0 &&
	    ((bytes - 40 - off) % row == 0 || (bytes - 32 - off) % row == 0)) {
		out->data_off = off;
		return TT_OK;
	}
	return data_off_of(like, bytes / row, &out->data_off);
}

/* The header's other numbers stay. */
static void take_type(struct tti_salvage *out, const struct tti_npy *like)
{
	struct tti_npy said = out->npy;

	copy_rows_of(out, like);
	out->npy.shape[0] = said.rank ? said.shape[0] : TTI_SALVAGE_UNKNOWN;
	out->npy.data_off = out->data_off = said.data_off;
	out->npy.extent_width = said.extent_width;
	tti_npy_fini(&said);
}

/* Another type than is known from elsewhere. */
static int judge_type(struct tti_salvage *out, int fd,
		      const struct tti_salvage_hints *hints, const char *path,
		      struct tt_error *err)
{
	const char *mine = tt_dtype_descr(out->npy.dtype),
		   *other = tt_dtype_descr(hints->like->dtype);

	if (out->npy.row_bytes != hints->like->row_bytes &&
	    is_borne_out(&out->npy, fd, out->file_bytes))
		return tti_fail(err, TT_E_MISMATCH,
				"%s: holds rows of %s by its header, and size and tail "
				"bear it out; %s of %s: it is left as it is",
				path, mine, hints->like_by, other);
	if (hints->like_unsure)
		return tti_fail(err, TT_E_MISMATCH,
				"%s: its header says rows of %s, %s of %s, and nothing "
				"tells which is right: say it, by 'ticktail recover RING "
				"--dtype DESCR'",
				path, mine, hints->like_by, other);
	tti_salvage_note(out, "its header says rows of %s, %s of %s", mine,
			 hints->like_by, other);
	take_type(out, hints->like);
	return TT_OK;
}

static int fail_size(const struct tti_salvage *out, uint64_t other, const char *path,
		     struct tt_error *err)
{
	return tti_fail(err, TT_E_DAMAGED,
			"%s: its header says rows of %s, %" PRIu64
			" bytes each, its size and tail ask for %" PRIu64
			": what a row is must be said: recover it with --dtype DESCR "
			"[--row-shape SHAPE], or with --like FILE",
			path, tt_dtype_descr(out->npy.dtype), out->npy.row_bytes, other);
}

int tti_salvage_find_header(struct tti_salvage *out, int fd,
			    const struct tti_salvage_hints *hints, const char *path,
			    struct tt_error *err)
{
	bool as_is;
	uint64_t other;

	out->has_header = parse(&out->npy, fd, out->file_bytes, &as_is, path) &&
			  (out->npy.rank > 0 || !hints->live);
	if (!out->has_header || !as_is)
		tti_salvage_note(out, "its header is damaged");
	if (!out->has_header) {
		tti_npy_fini(&out->npy);
		if (hints->like)
			return take_like(out, fd, hints->like);
		return tti_fail(
			err, TT_E_DAMAGED,
			"%s: its header cannot be read, so what a row is must be "
			"said: recover it with --dtype DESCR [--row-shape SHAPE], "
			"or with --like FILE",
			path);
	}
	out->data_off = out->npy.data_off;
	out->row_bytes = out->npy.row_bytes;
	if (hints->like && !tti_ring_same_rows(&out->npy, hints->like))
		return judge_type(out, fd, hints, path, err);
	other = hints->like ? 0 : tti_salvage_other_row(&out->npy, fd, out->file_bytes);
	return other ? fail_size(out, other, path, err) : TT_OK;
}
