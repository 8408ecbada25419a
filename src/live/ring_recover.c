/* SPDX-License-Identifier: Apache-2.0 */
/* Recovering a ring: its writer is opened, which makes manifest and settings right and goes on in
 * a new file if the newest is damaged; then all older files, which nobody appends to any more,
 * are looked at one by one, and their entries.
 *
 * Invariant: the newest file is never replaced, because readers wait in it; a file that is
 * replaced holds under each number the row that it held before, and what it lost is noted in
 * its entry before it is replaced. */
#include "ticktail/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/num.h"
#include "live/ring_cut.h"
#include "live/ring_mark.h"
#include "live/ring_recover.h"

#define MAX_PASSES 8

static int no_memory(const struct tti_ring_recovery *rec, struct tt_error *err)
{
	return tti_fail_sys(err, -ENOMEM, rec->dir, NULL);
}

int tti_ring_recover_say(struct tti_ring_recovery *rec, const char *name,
			 enum tt_recover_did did, const char *what, struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];

	snprintf(path, sizeof(path), name ? "%s/%s" : "%s", rec->dir, name);
	return tti_recover_say(rec->report, path, did, what, NULL) ? TT_OK
								   : no_memory(rec, err);
}

/* ---- One file ---- */

static struct tti_entry *entry_of(const struct tti_ring_recovery *rec, uint64_t name)
{
	uint64_t idx = tti_ring_find_entry(rec->ring, name);

	return idx == TTI_NO_ENTRY ? NULL : tti_ring_entry(rec->ring, idx);
}

/* The rows of the ring before the file that follows item, when nothing lies between the two. */
static uint64_t next_base(const struct tti_ring_recovery *rec, size_t i)
{
	uint64_t name = rec->items.at[i].name, next = 0;
	const struct tti_entry *entry;

	for (size_t k = i + 1; k < rec->items.count && next == 0; k++)
		if (!rec->items.at[k].shadowed && rec->items.at[k].name != name)
			next = rec->items.at[k].name;
	for (uint64_t k = 0; k < tti_ring_entry_count(rec->ring); k++) {
		uint64_t other = tti_entry_name(tti_ring_entry(rec->ring, k));

		if (other > name && other < next)
			return TTI_ROWS_UNKNOWN;
	}
	entry = next ? entry_of(rec, next) : NULL;
	return entry ? tti_field_load(&entry->base) : TTI_ROWS_UNKNOWN;
}

/* Rows of a merged file: those of its parts. */
static uint64_t merged_rows(const struct tti_ring_recovery *rec, uint64_t name)
{
	uint64_t rows = 0;

	for (uint64_t k = 0; k < tti_ring_entry_count(rec->ring); k++) {
		const struct tti_entry *entry = tti_ring_entry(rec->ring, k);
		uint64_t of = tti_field_load(&entry->rows);

		if (tti_entry_name(entry) == 0 || tti_entry_merged(entry) != name)
			continue;
		of = tti_min_u64(of, tti_field_load(&entry->cut_at));
		if (of == TTI_ROWS_UNKNOWN || tti_add_overflow(rows, of, &rows))
			return TTI_ROWS_UNKNOWN;
	}
	return rows ? rows : TTI_ROWS_UNKNOWN;
}

/* How many rows a file had when it was sealed, by its entry or by the number that the next one
 * begins with.  *sure_out: two of them say it. */
static uint64_t known_rows(const struct tti_ring_recovery *rec, size_t i, bool *sure_out)
{
	const struct tti_ring_item *item = &rec->items.at[i];
	const struct tti_entry *entry = entry_of(rec, item->name);
	uint64_t rows, base, next, cut;

	*sure_out = false;
	if (item->merged)
		return merged_rows(rec, item->name);
	if (!entry)
		return TTI_ROWS_UNKNOWN;
	rows = tti_field_load(&entry->rows);
	base = tti_field_load(&entry->base);
	cut = tti_field_load(&entry->cut_at);
	next = next_base(rec, i);
	if (base != TTI_ROWS_UNKNOWN && next != TTI_ROWS_UNKNOWN && next >= base) {
		*sure_out = rows == next - base;
		if (rows == TTI_ROWS_UNKNOWN)
			rows = next - base;
	}
	return tti_min_u64(rows, cut);
}

/* What is noted before the file is replaced, so that it is not taken for damage afterwards. */
static int note_loss(struct tti_ring_recovery *rec, const struct tti_ring_item *item,
		     const struct tti_salvage *salvage, struct tt_error *err)
{
	bool loses = salvage->lost > 0 || !salvage->end_known;

	for (uint64_t k = 0; k < tti_ring_entry_count(rec->ring); k++) {
		struct tti_entry *entry = tti_ring_entry(rec->ring, k);
		uint64_t name = tti_entry_name(entry), from = 0;

		if (name == 0)
			continue;
		if (item->merged && tti_entry_merged(entry) == item->name)
			from = tti_field_load(&entry->merged_row);
		else if (item->merged || name != item->name)
			continue;
		if (tti_field_load(&entry->rows) == TTI_ROWS_UNKNOWN)
			tti_field_store(&entry->rows, salvage->end + salvage->lost);
		else if (!loses && !item->merged)
			tti_field_store(&entry->rows, salvage->end);
		if (loses &&
		    (!item->merged || salvage->end < from + tti_field_load(&entry->rows)))
			tti_field_store(&entry->cut_at,
					salvage->end > from ? salvage->end - from : 0);
	}
	return tti_ring_sync_settings(rec->ring, err);
}

static int replace(struct tti_ring_recovery *rec, const struct tti_ring_item *item,
		   int fd, const struct tti_salvage *salvage, struct tt_error *err)
{
	char file_name[TTI_RING_NAME_BYTES], path[TTI_RING_PATH_BYTES],
		aside[NAME_MAX + 1];
	struct tti_place place = { .dirfd = rec->ring->dirfd,
				   .path = path,
				   .in_ring = true };
	const struct tti_replace args = { .place = &place,
					  .fd = fd,
					  .salvage = salvage,
					  .closed = true,
					  .aside_prefix = ".",
					  .cut = &rec->cut };
	struct tt_recover_item *said;
	int rc = TT_OK;

	tti_ring_format_name(file_name, item->name, item->merged);
	tti_ring_path(rec->ring, file_name, path, sizeof(path));
	place.name = strrchr(path, '/') + 1;
	if (!rec->opts.dry_run) {
		rc = note_loss(rec, item, salvage, err);
		TTI_FAILPOINT("recover.noted");
		if (rc == TT_OK)
			rc = tti_recover_replace(&args, aside, err);
	}
	if (rc < 0)
		return rc;
	said = tti_recover_say(rec->report, path, TT_RECOVER_REPLACED, salvage->what,
			       salvage);
	if (!said || (!rec->opts.dry_run && tti_recover_aside(said, aside) < 0))
		return no_memory(rec, err);
	return TT_OK;
}

/* A whole file is right, what its entry noted is not. */
static int mend_rows(struct tti_ring_recovery *rec, const struct tti_ring_item *item,
		     uint64_t rows, struct tt_error *err)
{
	struct tti_entry *entry = item->merged ? NULL : entry_of(rec, item->name);
	char what[160];
	uint64_t said;

	if (!entry || tti_field_load(&entry->cut_at) != UINT64_MAX)
		return TT_OK;
	said = tti_field_load(&entry->rows);
	if (said == rows || said == TTI_ROWS_UNKNOWN) {
		if (!rec->opts.dry_run)
			tti_field_store(&entry->rows, rows);
		return TT_OK;
	}
	if (!rec->opts.dry_run)
		tti_field_store(&entry->rows, rows);
	snprintf(what, sizeof(what),
		 "the entry of file %" PRIu64 " said %" PRIu64 " rows, it has %" PRIu64,
		 item->name, said, rows);
	return tti_ring_recover_say(rec, TTI_SETTINGS_NAME, TT_RECOVER_MENDED, what, err);
}

static int look_at(struct tti_ring_recovery *rec, size_t i, int fd, const char *path,
		   struct tt_error *err)
{
	const struct tti_ring_item *item = &rec->items.at[i];
	struct tti_salvage_hints hints = { .like = &rec->like.npy,
					   .like_by = rec->told ? "the caller's are"
								: "the ring's are",
					   .like_unsure = rec->like.split,
					   .live = true,
					   .cut_unproven = rec->opts.cut_unproven };
	struct tti_salvage salvage;
	bool sure;
	uint64_t rows = known_rows(rec, i, &sure);
	int rc;

	if (rec->mark.sequence && rec->mark.file == item->name && !item->merged)
		hints.mark = &rec->mark;
	hints.rows = sure || item->merged ? rows : TTI_SALVAGE_UNKNOWN;
	rc = tti_salvage(&salvage, fd, &hints, path, err);
	if (rc == TT_OK && hints.rows == TTI_SALVAGE_UNKNOWN &&
	    tti_ring_recover_outweighs(rec, item, fd, &salvage, rows)) {
		tti_salvage_fini(&salvage);
		hints.rows = rows;
		rc = tti_salvage(&salvage, fd, &hints, path, err);
	}
	if (rc < 0)
		return rc;
	rc = salvage.damaged ? replace(rec, item, fd, &salvage, err)
			     : mend_rows(rec, item, salvage.end, err);
	rec->report->rows_kept += salvage.end - salvage.start;
	tti_salvage_fini(&salvage);
	return rc;
}

/* By an earlier pass. */
static bool is_said_left(const struct tti_ring_recovery *rec, const char *path)
{
	for (size_t i = 0; i < rec->report->item_count; i++)
		if (rec->report->items[i].did == TT_RECOVER_LEFT &&
		    strcmp(rec->report->items[i].path, path) == 0)
			return true;
	return false;
}

/* One file that cannot be mended leaves the others; a full disk or a lock ends it all. */
static int one_file(struct tti_ring_recovery *rec, size_t i, struct tt_error *err)
{
	const struct tti_ring_item *item = &rec->items.at[i];
	char file_name[TTI_RING_NAME_BYTES], path[TTI_RING_PATH_BYTES];
	struct tt_error why;
	tti_auto_fd fd = -1;
	int rc;

	tti_ring_format_name(file_name, item->name, item->merged);
	tti_ring_path(rec->ring, file_name, path, sizeof(path));
	fd = tti_open_regular(rec->ring->dirfd, file_name,
			      (rec->opts.dry_run ? O_RDONLY : O_RDWR) | O_NOFOLLOW, path,
			      &why);
	if (fd == -ENOENT)
		return TT_OK;
	rc = fd < 0 ? fd : look_at(rec, i, fd, path, &why);
	if (rc == TT_E_DAMAGED || rc == TT_E_MISMATCH || rc == -EIO)
		return is_said_left(rec, path)
			       ? TT_OK
			       : tti_ring_recover_say(rec, file_name, TT_RECOVER_LEFT,
						      why.text, err);
	return rc < 0 ? tti_fail(err, rc, "%s", why.text) : TT_OK;
}

static int all_files(struct tti_ring_recovery *rec, struct tt_error *err)
{
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < rec->items.count; i++) {
		const struct tti_ring_item *item = &rec->items.at[i];

		if (item->shadowed || !item->published ||
		    (rec->writer && item->name == tti_writer_file(rec->writer)->name))
			continue;
		rc = one_file(rec, i, err);
	}
	if (rec->writer)
		rec->report->rows_kept += tti_writer_file(rec->writer)->live.end;
	return rc;
}

/* ---- The directory ---- */

/* What dead processes left; the locks say that none of them lives. */
static int drop_leftovers(struct tti_ring_recovery *rec, struct tt_error *err)
{
	static const char *const names[] = { TTI_RING_NEXT_NAME, TTI_RING_MERGE_NAME,
					     TTI_RING_SETTINGS_TMP };
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < sizeof(names) / sizeof(names[0]); i++)
		if (unlinkat(rec->ring->dirfd, names[i], 0) == 0)
			rc = tti_ring_recover_say(rec, names[i], TT_RECOVER_REMOVED,
						  "left by a process that died", err);
	return rc == TT_OK ? tti_ring_drop_copies(rec, err) : rc;
}

static int mend_settings(struct tti_ring_recovery *rec, struct tt_error *err)
{
	uint8_t page[TTI_WORDS_OFF];
	struct tt_recover_item *said;
	char aside[64], path[TTI_RING_PATH_BYTES];
	const char *what;
	int rc = tti_pread_all(rec->ring->set_fd, page, sizeof(page), 0);

	if (rc < 0)
		return tti_fail_sys(err, rc, rec->dir, "read of " TTI_SETTINGS_NAME);
	what = tti_settings_bad_copies(page) ? "a copy of the settings was damaged"
	       : tti_settings_has_dirt(page) ? "bytes that must be zero were not"
					     : NULL;
	if (!what)
		return TT_OK;
	rc = tti_ring_remake_settings(rec->ring, aside, err);
	if (rc < 0)
		return rc;
	tti_ring_path(rec->ring, TTI_SETTINGS_NAME, path, sizeof(path));
	said = tti_recover_say(rec->report, path, TT_RECOVER_MENDED, what, NULL);
	return said && tti_recover_aside(said, aside) == TT_OK ? TT_OK
							       : no_memory(rec, err);
}

/* ---- Marks ---- */

/* Before the writer opens, which stores marks of its own. */
static void look_at_marks(struct tti_ring_recovery *rec, struct tti_ring *ring)
{
	struct tti_live live = TTI_LIVE_EMPTY;

	for (unsigned i = 0; i < TTI_MARK_SLOTS; i++)
		rec->torn[i] = tti_ring_mark_is_damaged(ring, i);
	if (!ring->set.addr || tti_ring_mark_load(ring, &rec->mark) != 1) {
		rec->mark = (struct tti_mark){ 0 };
		return;
	}
	/* that of another boot is judged by the writer, which says what it did */
	if (rec->mark.file == 0 || tti_mark_age(&rec->mark) == TTI_MARK_OLD ||
	    tti_ring_cut_at(ring, rec->mark.file) != UINT64_MAX ||
	    tti_ring_open_file(ring, rec->mark.file, false, &live, NULL) < 0)
		return;
	if (tti_mark_judge(&rec->mark, &live, rec->mark_words))
		rec->mark_words[0] = '\0';
	tti_live_close(&live);
}

static int mend_marks(struct tti_ring_recovery *rec, struct tt_error *err)
{
	char what[TTI_MARK_WORDS + 64];
	int rc = TT_OK;

	for (unsigned i = 0; rc == TT_OK && i < TTI_MARK_SLOTS; i++) {
		if (tti_ring_mark_is_damaged(rec->ring, i)) {
			rec->torn[i] = true; /* behind damaged settings it was not seen */
			rc = tti_ring_mark_mend(rec->ring, i, err);
		}
		TTI_FAILPOINT("recover.mark_mended");
		snprintf(what, sizeof(what), "slot %u of the marks was damaged", i);
		if (rc == TT_OK && rec->torn[i])
			rc = tti_ring_recover_say(rec, TTI_SETTINGS_NAME,
						  TT_RECOVER_MENDED, what, err);
	}
	if (rc < 0 || !rec->mark_words[0])
		return rc;
	snprintf(what, sizeof(what), "%" PRIu64 ".npy: %s; marked anew", rec->mark.file,
		 rec->mark_words);
	return tti_ring_recover_say(rec, TTI_SETTINGS_NAME, TT_RECOVER_MENDED, what, err);
}

/* ---- The whole ---- */

static int list(struct tti_ring_recovery *rec, struct tt_error *err)
{
	tti_items_free(&rec->items);
	return tti_ring_list_entered(rec->ring, &rec->items, err);
}

static int one_pass(struct tti_ring_recovery *rec, struct tt_error *err)
{
	int rc = list(rec, err);

	rec->report->rows_kept = 0;
	if (rc == TT_OK)
		rc = tti_ring_recover_entries(rec, err);
	if (rc == TT_OK)
		rc = tti_ring_recover_merges(rec, err);
	TTI_FAILPOINT("recover.merges");
	if (rc == TT_OK)
		rc = list(rec, err);
	if (rc == TT_OK)
		rc = all_files(rec, err);
	return rc == TT_OK ? tti_ring_recover_bases(rec, err) : rc;
}

/* What one pass puts right may show that another value is wrong: until there is nothing more. */
static int recover_locked(struct tti_ring_recovery *rec, struct tt_error *err)
{
	size_t before = SIZE_MAX, now = 0;
	int rc = tti_lock_try(rec->writer->lock.fd, TTI_LOCK_MAINTAINER);

	if (rc == TT_E_BUSY)
		return tti_fail(err, rc,
				"%s: another process is merging or removing files: try "
				"again",
				rec->dir);
	if (rc < 0)
		return tti_fail_sys(err, rc, rec->dir, "lock");
	if (*tt_ring_writer_repaired(rec->writer))
		rc = tti_ring_recover_say(rec, NULL, TT_RECOVER_MENDED,
					  tt_ring_writer_repaired(rec->writer), err);
	if (rc == TT_OK && rec->writer->rows_cut > 0)
		rec->report->items[0].rows_cut = rec->writer->rows_cut;
	if (rc == TT_OK && rec->writer->rows_unproven > 0)
		rec->report->items[0].rows_unproven = rec->writer->rows_unproven;
	TTI_FAILPOINT("recover.opened");
	if (rc == TT_OK)
		rc = drop_leftovers(rec, err);
	if (rc == TT_OK)
		rc = mend_settings(rec, err);
	if (rc == TT_OK)
		rc = mend_marks(rec, err);
	TTI_FAILPOINT("recover.settings");
	for (unsigned i = 0; rc == TT_OK && i < MAX_PASSES && before != now; i++) {
		before = rec->report->item_count;
		rc = one_pass(rec, err);
		now = rec->report->item_count;
	}
	TTI_FAILPOINT("recover.entries");
	return rc < 0 ? rc : tti_ring_sync_settings(rec->ring, err);
}

static int run(struct tti_ring_recovery *rec, struct tt_error *err)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tti_writer_hints hints = { .like = &rec->like,
					  .cut_unproven = rec->opts.cut_unproven };
	struct tti_ring look;
	int rc = tti_ring_open(&look, rec->dir, false, err);

	if (rc < 0)
		return rc;
	/* opening for writing stores a new mark */
	look_at_marks(rec, &look);
	rc = tti_ring_recover_rows(rec, &look, err);
	tti_ring_close(&look);
	if (rc < 0)
		return rc;
	hints.like_rules = rec->told;
	if (rec->opts.dry_run)
		return tti_ring_recover_look(rec, all_files, err);
	opts.no_helper = true;	      /* nobody else looks at the files meanwhile */
	opts.force_network_fs = true; /* no row is appended */
	rc = tti_ring_writer_open_with(&rec->writer, rec->dir, &opts, &hints, err);
	if (rc < 0)
		return rc;
	rec->ring = &rec->writer->ring;
	rc = recover_locked(rec, err);
	tt_ring_writer_close(rec->writer);
	return rc;
}

int tt_ring_recover(const char *dir, const struct tt_recover_opts *opts,
		    struct tt_recover_report *report_out, struct tt_error *err)
{
	struct tti_ring_recovery rec = { .dir = dir,
					 .report = report_out,
					 .cut = { .fd = -1 } };
	int rc;

	*report_out = (struct tt_recover_report){ 0 };
	rc = tti_recover_take_opts(&rec.opts, opts, dir, err);
	rec.cut.path = rec.opts.keep_cut;
	if (rc == TT_OK)
		rc = run(&rec, err);
	tti_items_free(&rec.items);
	tti_ring_like_fini(&rec.like);
	tti_close_fd(&rec.cut.fd);
	tti_recover_sum(report_out);
	return rc;
}
