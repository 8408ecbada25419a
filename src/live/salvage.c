/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file is damaged at all, and what is found in one that is.  Invariant: see
 * salvage.h. */
#include "live/salvage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "base/fs.h"
#include "live/live_file.h"
#include "live/ring.h"

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

/* ---- The whole ---- */

/* Nothing in a file that opens, and nothing from outside, says that it is wrong. */
static bool is_whole(const struct tti_live *live, const struct tti_salvage_hints *hints)
{
	uint64_t start, end;

	if (tti_live_bounds(live, &start, &end, NULL) < 0)
		return false;
	if (hints->like && !tti_ring_same_rows(&live->npy, hints->like))
		return false;
	if (live->tail_words == 0)
		return !hints->live && live->npy.extent_width < TTI_NPY_EXTENT_WIDTH;
	/* nobody adopts a file of a ring or takes rows off its beginning */
	if (hints->live && (live->npy.shape[0] != live->capacity || start != 0))
		return false;
	if (hints->rows != TTI_SALVAGE_UNKNOWN && live->end != hints->rows)
		return false;
	return hints->like ||
	       tti_salvage_other_row(&live->npy, live->fd, live->file_bytes) == 0;
}

/* Of what opening a file may say, that it is damaged.  A version that is not supported is one
 * byte of it: where a tail of ours stands, that byte is wrong. */
static bool is_damage(const struct tti_salvage *out, int fd,
		      const struct tti_salvage_hints *hints, int rc)
{
	return rc == TT_E_DAMAGED || rc == TT_E_FORMAT || rc == TT_E_DTYPE ||
	       rc == -ENODATA ||
	       (rc == TT_E_UNSUPPORTED &&
		(hints->live || tti_salvage_tail_offset(fd, out->file_bytes) != 0));
}

/* It opens, and nothing is wrong. */
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
		return is_damage(out, fd, hints, rc) ? 0 : rc;
	whole = is_whole(&live, hints);
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
	rc = tti_salvage_find_header(out, fd, hints, path, err);
	if (rc == TT_OK) {
		rc = tti_salvage_rows(out, fd, hints);
		if (rc < 0)
			tti_fail_sys(err, rc, path, "read");
	}
	if (rc < 0)
		tti_salvage_fini(out);
	return rc;
}
