/* SPDX-License-Identifier: Apache-2.0 */
/* Checking one file by pread.  What the header, the tail and the size say is judged by the
 * code that opens files; here its verdict becomes a report instead of an error. */
#include "live/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"

struct report {
	const char *path;
	tt_damage_fn *fn;
	void *ctx;
	uint64_t found;
};

static void tell(struct report *report, const char *what)
{
	const struct tt_damage damage = {
		.path = report->path, .chunk = -1, .row = -1, .what = what
	};

	report->found++;
	if (report->fn)
		report->fn(report->ctx, &damage);
}

/* The text without the path before it: reports carry the path apart. */
static const char *without_path(const char *text, const char *path)
{
	size_t n = strlen(path);

	return strncmp(text, path, n) == 0 && strncmp(text + n, ": ", 2) == 0
		       ? text + n + 2
		       : text;
}

static void check_stamp(struct report *report, const struct tti_live *live)
{
	uint64_t stamp, again;

	if (live->tail_words != 5 ||
	    tti_pread_all(live->fd, &stamp, sizeof(stamp), live->tail_off + 16) < 0 ||
	    !tti_stamp_is_changing(stamp))
		return;
	/* changing is right while the one who changes rows lives */
	if (tti_lock_is_held(live->fd, TTI_LOCK_WRITER) != 0 ||
	    tti_pread_all(live->fd, &again, sizeof(again), live->tail_off + 16) < 0 ||
	    again != stamp)
		return;
	tell(report,
	     "rows are marked as changing, but no writer lives: an update was cut off "
	     "half way");
}

/* Every row must be readable: a bad sector shows here. */
static int check_rows(struct report *report, const struct tti_live *live,
		      struct tt_error *err)
{
	char buf[65536], what[160];
	uint64_t at = live->data_off, start, end, stop;
	int rc = tti_live_bounds(live, &start, &end, err);

	if (rc < 0)
		return rc;
	stop = live->tail_words ? live->data_off + end * live->row_bytes
				: live->file_bytes;
	while (at < stop) {
		size_t n = stop - at < sizeof(buf) ? (size_t)(stop - at) : sizeof(buf);

		rc = tti_pread_all(live->fd, buf, n, at);
		if (rc < 0) {
			snprintf(what, sizeof(what),
				 "rows cannot be read at byte %" PRIu64 ": %s", at,
				 tt_strerror(rc));
			tell(report, what);
		}
		at += n;
	}
	return TT_OK;
}

/* Cut exactly where its tail began it looks like a plain array with room for a longer extent. */
static void check_lost_tail(struct report *report, const struct tti_live *live)
{
	char what[240];

	if (live->tail_words != 0 || live->npy.extent_width < TTI_NPY_EXTENT_WIDTH)
		return;
	snprintf(what, sizeof(what),
		 "its tail is missing: %" PRIu64 " rows end at byte %" PRIu64
		 " and so does the file, a live file has 40 bytes more: 'ticktail "
		 "recover' "
		 "brings it back",
		 live->capacity, live->file_bytes);
	tell(report, what);
}

/* FILE.mark is told under its own path. */
static void tell_mark(void *ctx, const char *what, enum tti_mark_age age)
{
	struct report *report = ctx;
	tti_auto_free char *path = NULL;
	const struct tt_damage damage = {
		.path = asprintf(&path, "%s.mark", report->path) < 0 ? report->path
								     : path,
		.chunk = -1,
		.row = -1,
		.what = what
	};

	(void)age;
	report->found++;
	if (report->fn)
		report->fn(report->ctx, &damage);
}

static void check_mark(struct report *report, const struct tti_live *live)
{
	tti_auto_place place = TTI_PLACE_EMPTY;

	if (tti_place_open(&place, report->path, true, NULL) == TT_OK)
		tti_file_mark_verify(&place, live, tell_mark, report);
}

int tt_file_verify(const char *path, tt_damage_fn *fn, void *ctx, uint64_t *found_out,
		   struct tt_error *err)
{
	const struct tti_live_open args = { .dirfd = AT_FDCWD,
					    .name = path,
					    .path = path,
					    .plain = true,
					    .by_pread = true };
	struct report report = { path, fn, ctx, 0 };
	struct tt_error why = { .text = "" };
	struct tti_live live;
	int rc = tti_live_open(&live, &args, &why);

	if (rc == TT_E_DAMAGED) {
		tell(&report, without_path(why.text, path));
		rc = TT_OK;
	} else if (rc < 0) {
		return tti_fail(err, rc, "%s", why.text);
	} else {
		check_stamp(&report, &live);
		check_mark(&report, &live);
		check_lost_tail(&report, &live);
		rc = check_rows(&report, &live, &why);
		if (rc == TT_E_DAMAGED) {
			tell(&report, without_path(why.text, path));
			rc = TT_OK;
		} else if (rc < 0) {
			tti_fail(err, rc, "%s", why.text);
		}
		tti_live_close(&live);
	}
	if (rc == TT_OK && found_out)
		*found_out = report.found;
	return rc;
}
