/* SPDX-License-Identifier: Apache-2.0 */
/* A ring whose mark is of another boot: its writer did not close it before the machine went
 * down.  What the mark covers is checked and kept; all rows behind it are unproven, kept in
 * NAME.npy.cut, and their positions are never used again.
 *
 * Invariant: each step is on disk before the next.  (1) rows to .cut files; (2) "cut at 0" into
 * the entries of all newer names, then "cut at N" into that of the marked file: from then on
 * no other name was there before the power loss; (3) a new file, named in the manifest; (4) a
 * mark of this boot; (5) ends lowered to what the entries say.  Each can be done again.  Here
 * are (1) and (2); (3) and (5) in ring_reboot_next.c. */
#include "live/ring_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/failpoint.h"
#include "base/num.h"
#include "live/cut_rows.h"
#include "live/ring_cut.h"

#define CUT_TMP ".cut.tmp"

struct reboot {
	struct tt_ring_writer *writer;
	struct tti_mark mark;
	struct tti_names newer; /* owned; names after the marked file's */
	bool again;		/* an earlier try came as far as (2) */
	uint64_t kept;		/* rows of the marked file that are there */
	bool keep;		/* npyt wrote since: nothing is cut */
	uint64_t base;		/* rows of the ring up to the cut, or unknown */
};

/* ---- (1) Rows to .cut ---- */

/* Their bytes stay behind the lowered end when they cannot be copied, so a full disk does not
 * keep the feed from starting.  Recovery has no hurry: it fails, and nothing was changed. */
static int cut_rows(struct reboot *reboot, uint64_t name, const struct tti_live *live,
		    uint64_t row, struct tt_error *err)
{
	struct tti_repair *repair = &reboot->writer->repair;
	struct tt_error why;
	char cut[TTI_CUT_NAME_BYTES], file_name[TTI_RING_NAME_BYTES];
	const struct tti_cut what = { .dirfd = reboot->writer->ring.dirfd,
				      .name = file_name,
				      .tmp = CUT_TMP,
				      .from = live,
				      .row = row };
	int rc;

	if (live->end <= row)
		return TT_OK;
	tti_ring_format_name(file_name, name, false);
	rc = tti_cut_save(&what, cut, &why);
	if (rc < 0 && reboot->writer->recovers)
		return tti_fail(err, rc, "%s", why.text);
	reboot->writer->rows_cut += live->end - row;
	if (rc == TT_OK)
		tti_repair_add(repair,
			       "%" PRIu64 " rows of %" PRIu64 ".npy that were not synced "
			       "before the power loss were cut, now %s",
			       live->end - row, name, cut);
	else
		tti_repair_add(repair,
			       "%" PRIu64 " rows of %" PRIu64 ".npy that were not synced "
			       "before the power loss were cut, and stay behind its end "
			       "(%s)",
			       live->end - row, name, why.text);
	return TT_OK;
}

/* ---- What there is ---- */

static int add_name(struct tti_names *names, uint64_t name)
{
	uint64_t *larger;

	for (size_t i = 0; i < names->count; i++)
		if (names->at[i] == name)
			return TT_OK;
	if (names->count == names->room) {
		larger = reallocarray(names->at, names->room * 2 + 8, sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		names->at = larger;
		names->room = names->room * 2 + 8;
	}
	names->at[names->count++] = name;
	return TT_OK;
}

/* Every name after the marked file's that directory, manifest or entries still have. */
static int find_newer(struct reboot *reboot, struct tt_error *err)
{
	struct tti_ring *ring = &reboot->writer->ring;
	const struct tti_map lock = ring->lock;
	tti_auto_names queue = { 0 };
	tti_auto_items items = { 0 };
	uint64_t after = reboot->mark.file;
	int rc;

	if (ring->lock.addr && tti_ring_queue(ring, &queue, NULL) < 0)
		queue.count = 0; /* made again afterwards */
	ring->lock = (struct tti_map){ 0 };
	rc = tti_ring_list(ring, &items, err); /* by the directory alone */
	ring->lock = lock;
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == TT_OK && i < items.count; i++)
		if (items.at[i].name > after && !items.at[i].merged)
			rc = add_name(&reboot->newer, items.at[i].name);
	for (size_t i = 0; rc == TT_OK && i < queue.count; i++)
		if (queue.at[i] > after)
			rc = add_name(&reboot->newer, queue.at[i]);
	for (uint64_t i = 0; rc == TT_OK && i < tti_ring_entry_count(ring); i++)
		if (tti_entry_name(tti_ring_entry(ring, i)) > after)
			rc = add_name(&reboot->newer,
				      tti_entry_name(tti_ring_entry(ring, i)));
	return rc < 0 ? tti_fail_sys(err, rc, ring->path, NULL) : TT_OK;
}

static bool is_npyts_file(const struct tti_ring *ring, uint64_t name)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	bool is = tti_ring_open_raw(ring, name, &live, NULL) == TT_OK &&
		  tti_ring_wrote_npyt(&live,
				      tti_ring_find_entry(ring, name) != TTI_NO_ENTRY);

	tti_live_close(&live);
	return is;
}

static void judge_writers(struct reboot *reboot)
{
	const struct tti_ring *ring = &reboot->writer->ring;

	reboot->keep = is_npyts_file(ring, reboot->mark.file);
	for (size_t i = 0; !reboot->keep && i < reboot->newer.count; i++)
		reboot->keep = is_npyts_file(ring, reboot->newer.at[i]);
	if (reboot->keep)
		tti_repair_add(&reboot->writer->repair,
			       "unproven after a reboot: npyt wrote since the last sync, "
			       "so nothing was cut");
}

static int quarantine(struct reboot *reboot, uint64_t name, const char *why,
		      struct tt_error *err)
{
	struct tti_ring *ring = &reboot->writer->ring;
	char file_name[TTI_RING_NAME_BYTES], aside[64];
	int rc;

	tti_ring_format_name(file_name, name, false);
	rc = tti_ring_move_aside(ring, file_name, aside, err);
	TTI_FAILPOINT("ring.reboot.aside");
	if (rc == TT_OK)
		tti_repair_add(&reboot->writer->repair, "%s %s, now %s", file_name, why,
			       aside);
	return rc;
}

/* ---- The marked file ---- */

/* Its tail fell behind its mark, which has a checksum of its own and was stored after all rows
 * below it were on disk. */
static int raise_end(struct reboot *reboot, struct tti_live *live, struct tt_error *err)
{
	uint64_t end = reboot->mark.end;
	struct tti_live writable = TTI_LIVE_EMPTY;
	int rc = tti_ring_open_writable(&reboot->writer->ring, reboot->mark.file,
					&writable, err);

	if (rc == TT_OK)
		rc = tti_live_publish(&writable, end);
	if (rc == TT_OK && fdatasync(writable.fd) < 0)
		rc = tti_fail_sys(err, -errno, writable.path, "fdatasync");
	tti_live_close(&writable);
	if (rc == TT_OK)
		tti_repair_add(&reboot->writer->repair,
			       "%" PRIu64 ".npy said %" PRIu64 " rows, %" PRIu64
			       " were synced: they are shown again",
			       reboot->mark.file, live->end, end);
	live->end = end;
	return rc;
}

/* Rows up to the mark: 1 right, 0 damaged. */
static int check_rows(struct reboot *reboot, struct tti_live *live, struct tt_error *err)
{
	const struct tti_mark *mark = &reboot->mark;
	uint32_t crc;
	int rc;

	if (mark->end > live->capacity)
		return 0;
	if (mark->from < mark->end) {
		rc = tti_rows_crc_of(live, mark->from, mark->end, &crc, err);
		if (rc < 0 || crc != mark->rows_crc)
			return 0;
	}
	if (mark->end <= live->end)
		return 1;
	rc = raise_end(reboot, live, err);
	return rc < 0 ? rc : 1;
}

static bool is_merged(const struct tti_ring *ring, uint64_t name)
{
	uint64_t idx = tti_ring_find_entry(ring, name);

	return idx != TTI_NO_ENTRY && tti_entry_merged(tti_ring_entry(ring, idx)) != 0;
}

/* Something in them is not what was synced; nobody knows what.  The others are right, so all
 * are kept, and it is said. */
static void doubt_rows(struct reboot *reboot, const struct tti_live *live)
{
	const struct tti_mark *mark = &reboot->mark;

	reboot->kept = tti_min_u64(mark->end, live->end);
	reboot->writer->rows_unproven =
		reboot->kept - tti_min_u64(reboot->kept, mark->from);
	tti_repair_add(&reboot->writer->repair,
		       "%" PRIu64 ".npy does not hold the rows that were synced before "
		       "the power loss: some of rows %" PRIu64 " to %" PRIu64
		       " are damaged",
		       mark->file, mark->from, mark->end);
}

static int save_marked(struct reboot *reboot, struct tt_error *err)
{
	uint64_t name = reboot->mark.file;
	struct tti_live live = TTI_LIVE_EMPTY;
	int rc = tti_ring_open_raw(&reboot->writer->ring, name, &live, err);

	reboot->kept = reboot->mark.end;
	if (rc == -ENOENT) {
		if (!is_merged(&reboot->writer->ring, name))
			reboot->kept = 0;
		return TT_OK;
	}
	if (rc < 0 &&
	    tti_ring_is_damage(rc)) { /* stays where recover looks for its rows */
		tti_repair_add(&reboot->writer->repair,
			       "%" PRIu64 ".npy is damaged: 'ticktail recover' brings "
			       "back of its %" PRIu64 " rows what can be read",
			       name, reboot->mark.end);
		return TT_OK;
	}
	if (rc < 0)
		return rc;
	rc = check_rows(reboot, &live, err);
	if (rc == 0)
		doubt_rows(reboot, &live);
	if (rc >= 0)
		rc = cut_rows(reboot, name, &live, reboot->kept, err);
	tti_live_close(&live);
	return rc;
}

/* ---- Newer files ---- */

static int save_newer(struct reboot *reboot, uint64_t name, struct tt_error *err)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	int rc = tti_ring_open_raw(&reboot->writer->ring, name, &live, err);

	if (rc == TT_OK) {
		rc = cut_rows(reboot, name, &live, 0, err);
		tti_live_close(&live);
		return rc;
	}
	if (rc == -ENOENT)
		return TT_OK;
	return tti_ring_is_damage(rc)
		       ? quarantine(reboot, name,
				    "was not on disk whole before the power loss", err)
		       : rc;
}

/* An earlier try came as far as (2), not to (5): what it could not copy is still there. */
static int save_rest(struct reboot *reboot, struct tt_error *err)
{
	const struct tti_ring *ring = &reboot->writer->ring;
	int rc = TT_OK;

	for (uint64_t i = 0; rc == TT_OK && i < tti_ring_entry_count(ring); i++) {
		const struct tti_entry *entry = tti_ring_entry(ring, i);
		uint64_t name = tti_entry_name(entry),
			 cut = tti_field_load(&entry->cut_at);
		struct tti_live live = TTI_LIVE_EMPTY;

		if (name != 0 && cut != UINT64_MAX &&
		    tti_ring_open_raw(ring, name, &live, NULL) == TT_OK)
			rc = cut_rows(reboot, name, &live, cut, err);
		tti_live_close(&live);
	}
	return rc;
}

/* (2): "cut at" into the entry of a file. */
struct cut_place {
	uint64_t name;
	uint64_t row,
		rows; /* the first that is cut; how many are known to have been there */
	uint64_t base;
};

static int enter_cut(struct reboot *reboot, const struct cut_place *at,
		     struct tt_error *err)
{
	struct tti_ring *ring = &reboot->writer->ring;
	struct tti_entry *entry;
	uint64_t idx;
	int rc = tti_ring_make_entry(ring, at->name, at->base, &idx, err);

	if (rc < 0)
		return rc;
	entry = tti_ring_entry(ring, idx);
	if (at->base != TTI_ROWS_UNKNOWN)
		tti_field_store(&entry->base, at->base);
	tti_field_store(&entry->rows, at->rows);
	tti_field_store(&entry->cut_at, at->row);
	return TT_OK;
}

static int enter_cuts(struct reboot *reboot, struct tt_error *err)
{
	const struct tti_ring *ring = &reboot->writer->ring;
	/* what it has fewer was lost, not cut */
	const struct cut_place marked = { .name = reboot->mark.file,
					  .row = reboot->kept,
					  .rows = reboot->mark.end,
					  .base = TTI_ROWS_UNKNOWN };
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < reboot->newer.count; i++)
		rc = enter_cut(reboot,
			       &(struct cut_place){ .name = reboot->newer.at[i],
						    .base = reboot->base },
			       err);
	TTI_FAILPOINT("ring.reboot.newer_entered");
	if (rc == TT_OK)
		rc = tti_ring_sync_settings(ring, err);
	TTI_FAILPOINT("ring.reboot.newer_synced");
	if (rc == TT_OK)
		rc = enter_cut(reboot, &marked, err);
	TTI_FAILPOINT("ring.reboot.entered");
	return rc < 0 ? rc : tti_ring_sync_settings(ring, err);
}

/* A name in the queue must have its file; it holds no row and never will. */
static int make_missing(struct reboot *reboot, struct tt_error *err)
{
	struct tt_ring_writer *writer = reboot->writer;
	tti_auto_names queue = { 0 };
	int rc = TT_OK;

	if (!writer->ring.lock.addr || tti_ring_queue(&writer->ring, &queue, NULL) < 0)
		return TT_OK;
	for (size_t i = 0; rc == TT_OK && i < queue.count; i++) {
		char file_name[TTI_RING_NAME_BYTES];

		tti_ring_format_name(file_name, queue.at[i], false);
		if (queue.at[i] < reboot->mark.file ||
		    faccessat(writer->ring.dirfd, file_name, F_OK, AT_SYMLINK_NOFOLLOW) ==
			    0)
			continue;
		rc = tti_writer_know_rows(writer, err);
		if (rc == TT_OK)
			rc = tti_writer_make_file(writer, &writer->like.npy, 1,
						  queue.at[i], err);
		TTI_FAILPOINT("ring.reboot.made_missing");
	}
	return rc;
}

static void find_base(struct reboot *reboot)
{
	const struct tti_ring *ring = &reboot->writer->ring;
	uint64_t idx = tti_ring_find_entry(ring, reboot->mark.file), base;

	reboot->base = TTI_ROWS_UNKNOWN;
	if (idx == TTI_NO_ENTRY)
		return;
	base = tti_field_load(&tti_ring_entry(ring, idx)->base);
	if (base != TTI_ROWS_UNKNOWN)
		reboot->base = base + reboot->mark.end;
}

static int save_all(struct reboot *reboot, struct tt_error *err)
{
	struct tti_ring *ring = &reboot->writer->ring;
	int rc = find_newer(reboot, err);

	if (rc < 0)
		return rc;
	judge_writers(reboot);
	if (reboot->keep)
		return TT_OK;
	find_base(reboot);
	reboot->again = tti_ring_cut_at(ring, reboot->mark.file) != UINT64_MAX;
	unlinkat(ring->dirfd, CUT_TMP, 0);
	if (reboot->again) {
		rc = save_rest(reboot, err);
	} else {
		for (size_t i = 0; rc == TT_OK && i < reboot->newer.count; i++)
			rc = save_newer(reboot, reboot->newer.at[i], err);
		if (rc == TT_OK)
			rc = save_marked(reboot, err);
		if (rc == TT_OK)
			rc = enter_cuts(reboot, err);
	}
	TTI_FAILPOINT("ring.reboot.cut");
	if (rc == TT_OK)
		rc = make_missing(reboot, err);
	reboot->writer->rebooted = rc == TT_OK;
	reboot->writer->reboot_base = reboot->base;
	return rc;
}

/* No mark says anything.  1: all that nothing proves is to be cut, by the mark that is set. */
static int without_mark(struct reboot *reboot, struct tt_error *err)
{
	struct tt_ring_writer *writer = reboot->writer;
	bool any = reboot->mark.file != 0 || !tti_boot_is_zero(reboot->mark.boot_id);
	int rc = tti_ring_unproven(&writer->ring, &reboot->mark, err);

	if (rc <= 0 || writer->cut_unproven)
		return rc;
	writer->doubtful = true;
	tti_repair_add(&writer->repair, "unproven after a reboot: %s",
		       any ? "the writer before did not sync, or its mark was lost"
			   : "no mark says what was synced");
	return 0;
}

int tti_writer_reboot_cut(struct tt_ring_writer *writer, struct tt_error *err)
{
	struct reboot reboot = { .writer = writer };
	bool sure;
	int rc = tti_ring_mark_load_sure(&writer->ring, &reboot.mark, &sure);

	if (rc < 0)
		return tti_fail_sys(err, rc, writer->ring.path,
				    "read the marks of " TTI_SETTINGS_NAME);
	if (rc == 0 || reboot.mark.file == 0 || !sure)
		rc = without_mark(&reboot, err);
	else
		rc = tti_mark_age(&reboot.mark) == TTI_MARK_OLD;
	if (rc <= 0)
		return rc;
	rc = save_all(&reboot, err);
	tti_names_free(&reboot.newer);
	return rc;
}
