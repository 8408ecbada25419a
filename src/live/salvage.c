/* SPDX-License-Identifier: Apache-2.0 */
/* What a damaged file is: its header, read as it stands, or with its first bytes put right, or
 * taken from a file like it.  Invariant: see salvage.h. */
#include "live/salvage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "base/fs.h"
#include "base/num.h"
#include "live/live_file.h"
#include "live/ring.h"

#define SEARCH_BYTES 65536 /* a header that lost its length is looked for up to here */
#define HEADER_STEP 16	   /* where a header may end: all that numpy ever aligned to */

void tti_salvage_note(struct tti_salvage *out, const char *fmt, ...)
{
	size_t len = strlen(out->what);
	va_list ap;

	if (len > 0 && len + 3 < sizeof(out->what))
		len += (size_t)snprintf(out->what + len, sizeof(out->what) - len, "; ");
	va_start(ap, fmt);
	vsnprintf(out->what + len, sizeof(out->what) - len, fmt, ap);
	va_end(ap);
}

void tti_salvage_fini(struct tti_salvage *salvage)
{
	tti_npy_fini(&salvage->npy);
}

/* ---- The header ---- */

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

static bool parse_mended(struct tti_npy *out, int fd, uint64_t file_bytes,
			 const char *path)
{
	size_t n = tti_min_u64(SEARCH_BYTES, file_bytes);
	tti_auto_free uint8_t *bytes = malloc(n + 1);
	tti_auto_free uint8_t *copy = malloc(n + 1);

	if (!bytes || !copy || tti_pread_all(fd, bytes, n, 0) < 0)
		return false;
	for (size_t at = HEADER_STEP; at <= n; at += HEADER_STEP) {
		if (bytes[at - 1] != '\n' || !memchr(bytes, '}', at))
			continue;
		for (uint8_t major = 1; major <= 3; major++) {
			memcpy(copy, bytes, at);
			if (parse_as(out, copy, at, major, path))
				return true;
		}
	}
	return false;
}

int tti_salvage_header(struct tti_npy *out, int fd, uint64_t file_bytes, const char *path)
{
	*out = (struct tti_npy){ 0 };
	return parse_as_is(out, fd, file_bytes, path) ||
	       parse_mended(out, fd, file_bytes, path);
}

/* ---- Rows of another file ---- */

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
	rc = tti_npy_format(&header, &len, like->dtype, like->rank, shape, true, NULL);
	free(header);
	*out = len;
	return rc;
}

/* The tail knows where the rows begin, when the file ends in one that fits. */
static bool data_off_by_tail(int fd, uint64_t file_bytes, uint64_t row_bytes,
			     uint64_t *out)
{
	uint64_t pair[2];

	if (file_bytes < TTI_TAIL_MAX_BYTES ||
	    tti_pread_all(fd, pair, sizeof(pair), file_bytes - sizeof(pair)) < 0 ||
	    (pair[1] != TTI_TAIL_MAGIC && pair[1] != TTI_TAIL_SUPERSEDED) ||
	    pair[0] > file_bytes - TTI_TAIL_MAX_BYTES)
		return false;
	*out = pair[0];
	return (file_bytes - 40 - pair[0]) % row_bytes == 0 ||
	       (file_bytes - 32 - pair[0]) % row_bytes == 0;
}

static int take_like(struct tti_salvage *out, int fd, const struct tti_npy *like)
{
	uint64_t rows;

	out->npy = *like;
	out->npy.dtype = tt_dtype_ref(like->dtype);
	out->npy.fortran_order = false;
	out->npy.shape[0] = TTI_SALVAGE_UNKNOWN;
	out->row_bytes = like->row_bytes;
	rows = out->file_bytes / like->row_bytes;
	if (data_off_by_tail(fd, out->file_bytes, like->row_bytes, &out->data_off))
		return TT_OK;
	return data_off_of(like, rows, &out->data_off);
}

static int find_header(struct tti_salvage *out, int fd,
		       const struct tti_salvage_hints *hints, bool *has_out,
		       const char *path, struct tt_error *err)
{
	bool as_is = parse_as_is(&out->npy, fd, out->file_bytes, path);

	*has_out = as_is || parse_mended(&out->npy, fd, out->file_bytes, path);
	if (*has_out && hints->like && hints->like_rules &&
	    !tti_ring_same_rows(&out->npy, hints->like)) {
		tti_salvage_note(out, "its header says rows of %s, all others are %s",
				 tt_dtype_descr(out->npy.dtype),
				 tt_dtype_descr(hints->like->dtype));
		tti_npy_fini(&out->npy);
		*has_out = false;
	} else if (!*has_out || !as_is) {
		tti_salvage_note(out, "its header is damaged");
	}
	if (*has_out) {
		out->data_off = out->npy.data_off;
		out->row_bytes = out->npy.row_bytes;
		return TT_OK;
	}
	if (!hints->like)
		return tti_fail(
			err, TT_E_DAMAGED,
			"%s: its header cannot be read, so what a row is must be "
			"said: recover it with --dtype DESCR [--row-shape SHAPE], "
			"or with --like FILE",
			path);
	return take_like(out, fd, hints->like);
}

/* ---- The whole ---- */

/* It opens, and nothing from outside says that it is wrong. */
static int judge_whole(struct tti_salvage *out, int fd,
		       const struct tti_salvage_hints *hints, const char *path)
{
	const struct tti_live_open args = {
		.path = path, .plain = true, .by_pread = true, .take_fd = true, .fd = fd
	};
	struct tti_live live;
	bool whole;
	int rc = tti_live_open(&live, &args, NULL);

	if (rc < 0)
		return rc == TT_E_DAMAGED || rc == TT_E_FORMAT || rc == TT_E_DTYPE ||
				       rc == -ENODATA
			       ? 0
			       : rc;
	whole = live.tail_words != 0 ||
		(!hints->live && live.npy.extent_width < TTI_NPY_EXTENT_WIDTH);
	if (hints->like && hints->like_rules)
		whole = whole && tti_ring_same_rows(&live.npy, hints->like);
	if (live.tail_words && hints->rows != TTI_SALVAGE_UNKNOWN)
		whole = whole && live.end == hints->rows;
	if (whole) {
		out->npy = live.npy;
		live.npy = (struct tti_npy){ 0 }; /* taken over */
		out->data_off = live.data_off;
		out->row_bytes = live.row_bytes;
		out->capacity = live.capacity;
		out->tail_words = live.tail_words;
		out->end = out->certain = live.end;
		out->end_known = true;
		if (tti_live_bounds(&live, &out->start, &out->end, NULL) < 0)
			whole = false;
	}
	live.fd = -1; /* the caller's */
	tti_live_close(&live);
	if (!whole)
		tti_npy_fini(&out->npy);
	return whole;
}

int tti_salvage(struct tti_salvage *out, int fd, const struct tti_salvage_hints *hints,
		const char *path, struct tt_error *err)
{
	struct stat st;
	bool has_header;
	int rc;

	*out = (struct tti_salvage){ 0 };
	if (fstat(fd, &st) < 0)
		return tti_fail_sys(err, -errno, path, "fstat");
	out->file_bytes = (uint64_t)st.st_size;
	rc = judge_whole(out, fd, hints, path);
	if (rc == 1)
		return TT_OK;
	if (rc < 0)
		return tti_fail_sys(err, rc, path, NULL);
	out->damaged = true;
	rc = find_header(out, fd, hints, &has_header, path, err);
	if (rc == TT_OK) {
		rc = tti_salvage_rows(out, fd, hints, has_header);
		if (rc < 0)
			tti_fail_sys(err, rc, path, "read");
	}
	if (rc < 0)
		tti_salvage_fini(out);
	return rc;
}
