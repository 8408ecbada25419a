/* SPDX-License-Identifier: Apache-2.0 */
/* Recovering a single file.  Invariant: nothing is changed before the writer lock is held, and
 * a file that opens is not replaced. */
#include "ticktail/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/num.h"
#include "live/file.h"
#include "live/recover.h"

struct recovery {
	struct tti_place place;
	struct tt_recover_opts opts;
	struct tti_npy like;
	struct tti_salvage_hints hints;
	struct tti_cut_file cut;
	struct tt_recover_report *report;
};

static int no_memory(const struct recovery *rec, struct tt_error *err)
{
	return tti_fail_sys(err, -ENOMEM, rec->place.path, NULL);
}

/* Something that opening for writing mends: an interrupted adopt, resize or update. */
static bool is_half_done(const struct recovery *rec, int fd,
			 const struct tti_salvage *salvage)
{
	char copy[TTI_COPY_NAME_BYTES];
	uint64_t words[5];
	uint64_t n = salvage->tail_words;

	if (salvage->npy.rank && salvage->npy.shape[0] != salvage->capacity)
		return true;
	if (tti_pread_all(fd, words, n * 8, salvage->file_bytes - n * 8) == TT_OK &&
	    (words[n - 1] == TTI_TAIL_SUPERSEDED ||
	     (n == 5 && tti_stamp_is_changing(words[2]))))
		return true;
	return tti_file_copy_name(copy, fd) == TT_OK &&
	       faccessat(rec->place.dirfd, copy, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What the last power loss left behind its mark: whether there is something, and *end_out. */
static bool is_behind_mark(const struct recovery *rec, int fd, uint64_t *end_out)
{
	const struct tti_live_open args = {
		.path = rec->place.path, .by_pread = true, .take_fd = true, .fd = fd
	};
	struct tti_live live;
	bool waits;

	if (tti_live_open(&live, &args, NULL) < 0)
		return false;
	waits = tti_file_mark_waits(&rec->place, &live, rec->opts.cut_unproven, end_out);
	live.fd = -1; /* the caller's */
	tti_live_close(&live);
	return waits;
}

static bool has_mark(const struct recovery *rec)
{
	tti_auto_free char *name = NULL;

	return asprintf(&name, "%s.mark", rec->place.name) >= 0 &&
	       faccessat(rec->place.dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int say_behind(struct recovery *rec, const char *what, uint64_t before,
		      uint64_t after, struct tt_error *err)
{
	struct tt_recover_item *item = tti_recover_say(rec->report, rec->place.path,
						       TT_RECOVER_MENDED, what, NULL);

	if (!item)
		return no_memory(rec, err);
	item->has_rows = before != after;
	rec->report->rows_kept -=
		tti_min_u64(rec->report->rows_kept, before > after ? before - after : 0);
	rec->report->rows_kept += after > before ? after - before : 0;
	item->rows_kept = rec->report->rows_kept;
	item->rows_cut = before > after ? before - after : 0;
	return TT_OK;
}

/* ---- What is wrong with FILE.mark ---- */

struct mark_damage {
	char what[TTI_MARK_SLOTS + 1][TTI_MARK_WORDS];
	unsigned count;
	bool old; /* one is the mark of another boot that its rows do not bear out */
};

static void note_damage(void *ctx, const char *what, enum tti_mark_age age)
{
	struct mark_damage *damage = ctx;

	if (damage->count == sizeof(damage->what) / sizeof(damage->what[0]))
		return;
	snprintf(damage->what[damage->count++], TTI_MARK_WORDS, "%s", what);
	damage->old |= age == TTI_MARK_OLD;
}

static void look_at_mark(const struct recovery *rec, int fd, struct mark_damage *damage)
{
	const struct tti_live_open args = {
		.path = rec->place.path, .by_pread = true, .take_fd = true, .fd = fd
	};
	struct tti_live live;

	*damage = (struct mark_damage){ .count = 0 };
	if (tti_live_open(&live, &args, NULL) < 0)
		return;
	tti_file_mark_verify(&rec->place, &live, note_damage, damage);
	live.fd = -1; /* the caller's */
	tti_live_close(&live);
}

static int say_damage(struct recovery *rec, const struct mark_damage *damage,
		      enum tt_recover_did did, struct tt_error *err)
{
	tti_auto_free char *path = NULL;

	if (asprintf(&path, "%s.mark", rec->place.path) < 0)
		return no_memory(rec, err);
	for (unsigned i = 0; i < damage->count; i++) {
		char what[TTI_MARK_WORDS + 80];

		snprintf(what, sizeof(what), "%s%s", damage->what[i],
			 did == TT_RECOVER_LEFT
				 ? ": 'ticktail recover --cut-unproven' marks anew"
				 : "");
		if (!tti_recover_say(rec->report, path, did, what, NULL))
			return no_memory(rec, err);
	}
	return TT_OK;
}

/* ---- In place ---- */

/* before: rows that there are; after: as many as a power loss leaves of them.  quiet: what is
 * mended was said already. */
static int mend_in_place(struct recovery *rec, uint64_t before, uint64_t after,
			 bool quiet, struct tt_error *err)
{
	const struct tt_file_open_opts opts = {
		.struct_size = sizeof(opts),
		.access = TT_WRITE,
		.no_helper = true,
		.force_network_fs = true, /* no feed, as a copy to replace it is none */
		/* who had a mark goes on with one */
		.sync_ms = has_mark(rec) ? 1000 : TT_SYNC_NONE,
		.wake_us = TT_WAKE_DEFAULT,
		.helper_cpu = -1,
	};
	const struct tti_file_hints hints = { .cut_unproven = rec->opts.cut_unproven };
	struct tt_file *file;
	int rc;

	if (rec->opts.dry_run && quiet)
		return TT_OK;
	if (rec->opts.dry_run)
		return say_behind(rec,
				  before == after
					  ? "left half done by a process that died"
					  : "rows are not those that its mark proves",
				  before, after, err);
	rc = tti_file_open_hinted(&file, rec->place.path, &opts, &hints, err);
	if (rc == TT_E_UNSUPPORTED) /* rows in Fortran order: nobody writes it */
		return TT_OK;
	if (rc < 0)
		return rc;
	after = file->live.end;
	if (!quiet || *tt_file_repaired(file))
		rc = say_behind(rec,
				*tt_file_repaired(file)
					? tt_file_repaired(file)
					: "a copy that was not finished was removed",
				before, after, err);
	tt_file_close(file);
	return rc;
}

static int replace(struct recovery *rec, int fd, const struct tti_salvage *salvage,
		   struct tt_error *err)
{
	const struct tti_replace args = { .place = &rec->place,
					  .fd = fd,
					  .salvage = salvage,
					  .aside_prefix = "",
					  .cut = &rec->cut };
	char aside[NAME_MAX + 1];
	struct tt_recover_item *item;
	int rc = rec->opts.dry_run ? TT_OK : tti_recover_replace(&args, aside, err);

	if (rc < 0)
		return rc;
	item = tti_recover_say(rec->report, rec->place.path, TT_RECOVER_REPLACED,
			       salvage->what, salvage);
	if (!item || (!rec->opts.dry_run && tti_recover_aside(item, aside) < 0))
		return no_memory(rec, err);
	if (!rec->opts
		     .dry_run) /* it spoke of the file that is aside; all of this one is synced */
		tti_file_mark_remove(&rec->place);
	return TT_OK;
}

/* A file that opens: what a writer finds to do in it, and its mark. */
static int look_in_place(struct recovery *rec, int *fd, const struct tti_salvage *salvage,
			 struct tt_error *err)
{
	struct mark_damage damage;
	uint64_t after = salvage->end;
	bool behind = is_behind_mark(rec, *fd, &after),
	     half = is_half_done(rec, *fd, salvage), leave;
	int rc;

	look_at_mark(rec, *fd, &damage);
	leave = damage.old && !rec->opts.cut_unproven && !behind && !half;
	rc = say_damage(rec, &damage, leave ? TT_RECOVER_LEFT : TT_RECOVER_MENDED, err);
	if (rc < 0 || leave || (!behind && !half && damage.count == 0))
		return rc;
	tti_close_fd(fd); /* its lock is taken again */
	return mend_in_place(rec, salvage->end, after, !behind && !half, err);
}

static int recover_locked(struct recovery *rec, int *fd, struct tt_error *err)
{
	struct tti_salvage salvage;
	int rc = tti_salvage(&salvage, *fd, &rec->hints, rec->place.path, err);

	if (rc < 0)
		return rc;
	rec->report->rows_kept = salvage.end - salvage.start;
	if (salvage.damaged) {
		rc = replace(rec, *fd, &salvage, err);
	} else if (salvage.tail_words) {
		rc = look_in_place(rec, fd, &salvage, err);
	}
	tti_salvage_fini(&salvage);
	return rc;
}

static int recover(struct recovery *rec, const char *path, struct tt_error *err)
{
	tti_auto_fd fd = -1;
	int rc = tti_place_open(&rec->place, path, true, err);

	if (rc == TT_OK)
		rc = tti_place_refuse_ring(&rec->place, "recovery", err);
	if (rc < 0)
		return rc;
	fd = rec->opts.dry_run ? tti_open_regular(rec->place.dirfd, rec->place.name,
						  O_RDONLY, rec->place.path, err)
			       : tti_file_lock(&rec->place, err);
	return fd < 0 ? fd : recover_locked(rec, &fd, err);
}

int tt_file_recover(const char *path, const struct tt_recover_opts *opts,
		    struct tt_recover_report *report_out, struct tt_error *err)
{
	struct recovery rec = { .place = TTI_PLACE_EMPTY,
				.cut = { .fd = -1 },
				.report = report_out };
	int rc;

	*report_out = (struct tt_recover_report){ 0 };
	rc = tti_recover_take_opts(&rec.opts, opts, path, err);
	if (rc < 0)
		return rc;
	rec.cut.path = rec.opts.keep_cut;
	rec.hints.rows = TTI_SALVAGE_UNKNOWN;
	rec.hints.cut_unproven = rec.opts.cut_unproven;
	if (tti_recover_like(&rec.like, &rec.opts))
		rec.hints.like = &rec.like;
	rec.hints.like_by = "the caller's are";
	rc = recover(&rec, path, err);
	tti_close_fd(&rec.cut.fd);
	tti_place_close(&rec.place);
	tti_recover_sum(report_out);
	return rc;
}
