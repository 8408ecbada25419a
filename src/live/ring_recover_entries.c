/* SPDX-License-Identifier: Apache-2.0 */
/* What the settings file of a ring says of its files, made to fit them.  Entries have no
 * checksum, so each value is held against the files and against its neighbours; one that cannot
 * be is corrected where two others tell it, else forgotten.
 * Invariant: a number that is forgotten costs the exact count of lost rows, never a row. */
#include "live/ring_recover.h"
#include "live/ring_cut.h"

#include <dirent.h>
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

#define BLOCK (1u << 20)

static int mended(struct tti_ring_recovery *rec, const char *what, uint64_t name,
		  struct tt_error *err)
{
	char words[160];

	snprintf(words, sizeof(words), "entry of file %" PRIu64 ": %s", name, what);
	return tti_ring_recover_say(rec, TTI_SETTINGS_NAME, TT_RECOVER_MENDED, words,
				    err);
}

static bool is_merged_file(const struct tti_ring_recovery *rec, uint64_t name)
{
	const struct tti_ring_item *item = tti_items_find(&rec->items, name);

	return item && item->merged;
}

/* ---- Entries one by one ---- */

static bool is_second(const struct tti_ring *ring, uint64_t idx)
{
	uint64_t name = tti_entry_name(tti_ring_entry(ring, idx));

	for (uint64_t i = 0; i < idx; i++)
		if (tti_entry_name(tti_ring_entry(ring, i)) == name)
			return true;
	return false;
}

/* A joined file lies in one that is not newer; one that is there by itself was not joined. */
static bool is_joined_wrongly(const struct tti_ring_recovery *rec,
			      const struct tti_entry *entry)
{
	uint64_t into = tti_entry_merged(entry), name = tti_entry_name(entry);

	if (into == 0)
		return false;
	return into > name ||
	       (!is_merged_file(rec, into) && tti_items_find(&rec->items, name));
}

int tti_ring_recover_entries(struct tti_ring_recovery *rec, struct tt_error *err)
{
	struct tti_ring *ring = rec->ring;
	int rc = TT_OK;

	for (uint64_t i = 0; rc == TT_OK && i < tti_ring_entry_count(ring); i++) {
		struct tti_entry *entry = tti_ring_entry(ring, i);
		uint64_t name = tti_entry_name(entry);

		if (name == 0)
			continue;
		if (is_second(ring, i) && i != tti_writer_file(rec->writer)->entry_idx) {
			tti_entry_release(entry);
			rc = mended(rec, "was there twice", name, err);
			continue;
		}
		if (tti_entry_claimed_by(entry) == 0 &&
		    tti_entry_claim(entry, (uint64_t)getpid()))
			rc = mended(rec, "counted as free", name, err);
		if (rc == TT_OK && is_joined_wrongly(rec, entry)) {
			tti_entry_merged_store(entry, 0);
			rc = mended(rec, "pointed to a merged file that is not there",
				    name, err);
		}
	}
	return rc;
}

/* ---- Merges ---- */

/* Rows of the file as it stands, or unknown. */
static uint64_t rows_of(const struct tti_ring_recovery *rec, uint64_t name, bool merged)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	uint64_t rows = TTI_ROWS_UNKNOWN;

	if (tti_ring_open_file(rec->ring, name, merged, &live, NULL) == TT_OK &&
	    tti_ring_same_rows(&live.npy, &rec->like.npy))
		rows = live.end;
	tti_live_close(&live);
	return rows;
}

static bool is_there(const struct tti_ring_recovery *rec, uint64_t name)
{
	char file_name[TTI_RING_NAME_BYTES];
	struct stat st;

	tti_ring_format_name(file_name, name, false);
	return fstatat(rec->ring->dirfd, file_name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The next part of a merged file after the one named: by name, as they were joined. */
static struct tti_entry *next_part(const struct tti_ring_recovery *rec, uint64_t into,
				   uint64_t after)
{
	struct tti_entry *next = NULL;

	for (uint64_t i = 0; i < tti_ring_entry_count(rec->ring); i++) {
		struct tti_entry *entry = tti_ring_entry(rec->ring, i);
		uint64_t name = tti_entry_name(entry);

		if (name > after && tti_entry_merged(entry) == into &&
		    (!next || name < tti_entry_name(next)))
			next = entry;
	}
	return next;
}

/* All joined files are still there and whole: the merge can be taken back. */
static bool has_all_parts(const struct tti_ring_recovery *rec, uint64_t into)
{
	struct tti_entry *part = next_part(rec, into, 0);

	if (!part)
		return false;
	for (; part; part = next_part(rec, into, tti_entry_name(part)))
		if (rows_of(rec, tti_entry_name(part), false) == TTI_ROWS_UNKNOWN)
			return false;
	return true;
}

/* The merged file is damaged, its parts are not. */
static int take_back(struct tti_ring_recovery *rec, uint64_t into, struct tt_error *err)
{
	char file_name[TTI_RING_NAME_BYTES], aside[64], path[TTI_RING_PATH_BYTES];
	struct tti_entry *part;
	struct tt_recover_item *said;
	int rc;

	tti_ring_format_name(file_name, into, true);
	rc = tti_ring_move_aside(rec->ring, file_name, aside, err);
	TTI_FAILPOINT("recover.took_back");
	if (rc < 0)
		return rc;
	while ((part = next_part(rec, into, 0)) != NULL)
		tti_entry_merged_store(part, 0);
	tti_ring_path(rec->ring, file_name, path, sizeof(path));
	said = tti_recover_say(rec->report, path, TT_RECOVER_MENDED,
			       "damaged; the files that it joins are still there", NULL);
	if (!said || tti_recover_aside(said, aside) < 0)
		return tti_fail_sys(err, -ENOMEM, rec->dir, NULL);
	return TT_OK;
}

static int drop_joined(struct tti_ring_recovery *rec, uint64_t name, struct tt_error *err)
{
	char file_name[TTI_RING_NAME_BYTES];

	tti_ring_format_name(file_name, name, false);
	if (unlinkat(rec->ring->dirfd, file_name, 0) < 0)
		return errno == ENOENT ? TT_OK
				       : tti_fail_sys(err, -errno, rec->dir, file_name);
	return tti_ring_recover_say(rec, file_name, TT_RECOVER_REMOVED,
				    "its rows are in a merged file", err);
}

/* Rows [at, at + rows) of the merged file are those of the file name. */
static bool holds_rows_of(const struct tti_ring_recovery *rec, uint64_t into, uint64_t at,
			  uint64_t name, uint64_t rows)
{
	struct tti_live merged = TTI_LIVE_EMPTY, part = TTI_LIVE_EMPTY;
	uint64_t row_bytes = rec->like.npy.row_bytes,
		 step = tti_max_u64(BLOCK / row_bytes, 1);
	tti_auto_free char *a = malloc(step * row_bytes);
	tti_auto_free char *b = malloc(step * row_bytes);
	bool same = a && b &&
		    tti_ring_open_file(rec->ring, into, true, &merged, NULL) == TT_OK &&
		    tti_ring_open_file(rec->ring, name, false, &part, NULL) == TT_OK;

	for (uint64_t row = 0; same && row < rows; row += step) {
		uint64_t n = tti_min_u64(step, rows - row);

		same = tti_live_copy(&merged, at + row, n, a, NULL) == TT_OK &&
		       tti_live_copy(&part, row, n, b, NULL) == TT_OK &&
		       memcmp(a, b, n * row_bytes) == 0;
	}
	tti_live_close(&merged);
	tti_live_close(&part);
	return same;
}

/* The settings file was lost between the merge and the removal of what it joined: without the
 * entries the rows of the later files would be read twice.  Files are removed from the last to
 * the first, so while one is there, so is the first. */
static int enter_joined(struct tti_ring_recovery *rec, uint64_t into, uint64_t total,
			struct tt_error *err)
{
	uint64_t at = 0;
	int rc = TT_OK;

	if (next_part(rec, into, 0) || !is_there(rec, into))
		return TT_OK;
	for (size_t i = 0; rc == TT_OK && i < rec->items.count; i++) {
		const struct tti_ring_item *item = &rec->items.at[i];
		uint64_t rows, idx = 0;

		if (item->name < into || item->merged)
			continue;
		rows = item->queued ? TTI_ROWS_UNKNOWN : rows_of(rec, item->name, false);
		if (rows == TTI_ROWS_UNKNOWN || rows > total - at ||
		    !holds_rows_of(rec, into, at, item->name, rows))
			return rc;
		rc = tti_ring_make_entry(rec->ring, item->name, TTI_ROWS_UNKNOWN, &idx,
					 err);
		if (rc < 0)
			return rc;
		tti_field_store(&tti_ring_entry(rec->ring, idx)->rows, rows);
		tti_field_store(&tti_ring_entry(rec->ring, idx)->merged_row, at);
		tti_entry_merged_store(tti_ring_entry(rec->ring, idx), into);
		at += rows;
	}
	return rc;
}

/* Rows of parts follow each other; when they add up, that is where each begins. */
static int number_parts(struct tti_ring_recovery *rec, uint64_t into, uint64_t total,
			struct tt_error *err)
{
	uint64_t sum = 0, at = 0;
	int rc = TT_OK;

	for (struct tti_entry *part = next_part(rec, into, 0); part;
	     part = next_part(rec, into, tti_entry_name(part)))
		if (tti_add_overflow(sum, tti_field_load(&part->rows), &sum))
			return TT_OK;
	if (sum != total)
		return TT_OK;
	for (struct tti_entry *part = next_part(rec, into, 0); rc == TT_OK && part;
	     part = next_part(rec, into, tti_entry_name(part))) {
		if (tti_field_load(&part->merged_row) != at) {
			tti_field_store(&part->merged_row, at);
			rc = mended(rec, "its rows begin elsewhere in the merged file",
				    tti_entry_name(part), err);
		}
		at += tti_field_load(&part->rows);
	}
	return rc;
}

static int one_merge(struct tti_ring_recovery *rec, uint64_t into, struct tt_error *err)
{
	uint64_t total = rows_of(rec, into, true);
	int rc = TT_OK;

	if (total == TTI_ROWS_UNKNOWN)
		return has_all_parts(rec, into) ? take_back(rec, into, err) : TT_OK;
	rc = enter_joined(rec, into, total, err);
	if (rc == TT_OK)
		rc = number_parts(rec, into, total, err);
	for (struct tti_entry *part = next_part(rec, into, 0); rc == TT_OK && part;
	     part = next_part(rec, into, tti_entry_name(part))) {
		uint64_t end;

		/* what the merged file does not hold is not to be removed */
		if (is_there(rec, tti_entry_name(part)) &&
		    !tti_add_overflow(tti_field_load(&part->merged_row),
				      tti_field_load(&part->rows), &end) &&
		    end <= total) {
			TTI_FAILPOINT("recover.drop_joined");
			rc = drop_joined(rec, tti_entry_name(part), err);
		}
	}
	return rc;
}

int tti_ring_recover_merges(struct tti_ring_recovery *rec, struct tt_error *err)
{
	int rc = TT_OK;

	for (size_t i = 0; rc == TT_OK && i < rec->items.count; i++)
		if (rec->items.at[i].merged)
			rc = one_merge(rec, rec->items.at[i].name, err);
	return rc;
}

/* ---- Numbers of first rows ---- */

struct numbered {
	struct tti_entry *entry;
	uint64_t base, rows;
};

/* The files in order with what their entries say; those that say nothing are left out. */
static size_t collect(struct tti_ring_recovery *rec, struct numbered *out)
{
	size_t count = 0;

	for (size_t i = 0; i < rec->items.count; i++) {
		const struct tti_ring_item *item = &rec->items.at[i];
		uint64_t idx = tti_ring_find_entry(rec->ring, item->name);

		if (item->shadowed || item->merged || !item->published ||
		    idx == TTI_NO_ENTRY)
			continue;
		out[count].entry = tti_ring_entry(rec->ring, idx);
		out[count].base = tti_field_load(&out[count].entry->base);
		out[count].rows = tti_field_load(&out[count].entry->rows);
		count++;
	}
	return count;
}

static bool has_between(const struct tti_ring_recovery *rec, uint64_t low, uint64_t high)
{
	for (uint64_t i = 0; i < tti_ring_entry_count(rec->ring); i++) {
		uint64_t name = tti_entry_name(tti_ring_entry(rec->ring, i));

		if (name > low && name < high)
			return true;
	}
	return false;
}

static bool is_known(const struct numbered *at)
{
	return at->base != TTI_ROWS_UNKNOWN && at->rows != TTI_ROWS_UNKNOWN &&
	       at->base <= INT64_MAX && at->rows <= INT64_MAX;
}

/* Of two that do not follow each other the one is wrong that does not fit its other neighbour
 * either. */
static int set_right(struct tti_ring_recovery *rec, struct numbered *all, size_t count,
		     size_t i, struct tt_error *err)
{
	struct numbered *a = &all[i], *b = &all[i + 1];
	uint64_t end = a->base + a->rows;
	bool later_fits = i + 2 < count && is_known(&all[i + 2]) && is_known(b) &&
			  all[i + 2].base >= b->base + b->rows && all[i + 2].base < end;
	struct numbered *wrong = later_fits || i + 2 >= count ? a : b;

	if (i + 2 >= count && i > 0 && is_known(&all[i - 1]) &&
	    all[i - 1].base + all[i - 1].rows == a->base)
		wrong = b;
	if (wrong == b)
		b->base = end;
	else
		a->base = b->base >= a->rows ? b->base - a->rows : TTI_ROWS_UNKNOWN;
	tti_field_store(&wrong->entry->base, wrong->base);
	return mended(rec, "its first row had a number that cannot be",
		      tti_entry_name(wrong->entry), err);
}

int tti_ring_recover_bases(struct tti_ring_recovery *rec, struct tt_error *err)
{
	tti_auto_free struct numbered *all =
		calloc(rec->items.count + 1, sizeof(struct numbered));
	size_t count;
	int rc = TT_OK;

	if (!all)
		return tti_fail_sys(err, -ENOMEM, rec->dir, NULL);
	count = collect(rec, all);
	for (size_t i = 0; rc == TT_OK && i + 1 < count; i++) {
		struct numbered *a = &all[i], *b = &all[i + 1];

		if (!is_known(a))
			continue;
		if (b->base == TTI_ROWS_UNKNOWN &&
		    !has_between(rec, tti_entry_name(a->entry),
				 tti_entry_name(b->entry))) {
			b->base = a->base + a->rows;
			tti_field_store(&b->entry->base, b->base);
		} else if (b->base != TTI_ROWS_UNKNOWN && b->base < a->base + a->rows) {
			rc = set_right(rec, all, count, i, err);
		}
	}
	/* a number that was set lower may now lie below its own predecessor's: then it goes */
	for (size_t i = 1; rc == TT_OK && i < count; i++)
		if (is_known(&all[i - 1]) && all[i].base != TTI_ROWS_UNKNOWN &&
		    all[i].base < all[i - 1].base + all[i - 1].rows) {
			all[i - 1].base = TTI_ROWS_UNKNOWN;
			tti_field_store(&all[i - 1].entry->base, TTI_ROWS_UNKNOWN);
		}
	return rc;
}

/* ---- Leftovers ---- */

static bool is_copy(const char *name)
{
	static const char prefix[] = ".ticktail-", suffix[] = ".new";
	size_t len = strlen(name), digits;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return false;
	digits = strspn(name + sizeof(prefix) - 1, "0123456789abcdef");
	return digits > 0 && len == sizeof(prefix) - 1 + digits + sizeof(suffix) - 1 &&
	       strcmp(name + len - (sizeof(suffix) - 1), suffix) == 0;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

int tti_ring_drop_copies(struct tti_ring_recovery *rec, struct tt_error *err)
{
	int fd = openat(rec->ring->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir TTI_CLEANUP(close_dir) = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *found;
	int rc = TT_OK;

	if (!dir) {
		rc = -errno;
		tti_close_fd(&fd);
		return tti_fail_sys(err, rc, rec->dir, "list the directory");
	}
	while (rc == TT_OK && (found = readdir(dir)) != NULL)
		if (is_copy(found->d_name) &&
		    unlinkat(rec->ring->dirfd, found->d_name, 0) == 0)
			rc = tti_ring_recover_say(rec, found->d_name, TT_RECOVER_REMOVED,
						  "left by a process that died", err);
	return rc;
}

/* ---- Dry run ---- */

static void on_damage(void *ctx, const struct tt_damage *damage)
{
	struct tti_ring_recovery *rec = ctx;
	const char *slash = damage->path ? strrchr(damage->path, '/') : NULL;
	uint64_t name;

	/* files are told with what can be saved of them */
	if (slash && tti_ring_parse_name(slash + 1, &name) != TTI_RING_OTHER)
		return;
	tti_recover_say(rec->report, damage->path, TT_RECOVER_MENDED, damage->what, NULL);
}

/* What a writer that opens would cut after a reboot. */
static int say_unproven(struct tti_ring_recovery *rec, struct tt_error *err)
{
	struct tti_mark mark;
	char what[200];
	int rc = rec->opts.cut_unproven ? tti_ring_unproven(rec->ring, &mark, err) : 0;

	if (rc <= 0)
		return rc;
	snprintf(what, sizeof(what),
		 "unproven after a reboot: rows of %" PRIu64 ".npy from row %" PRIu64
		 " on, and all newer files, would be cut",
		 mark.file, mark.end);
	return tti_ring_recover_say(rec, NULL, TT_RECOVER_MENDED, what, err);
}

int tti_ring_recover_look(struct tti_ring_recovery *rec, tti_recover_files_fn *files,
			  struct tt_error *err)
{
	struct tti_ring ring;
	int rc = tt_ring_verify(rec->dir, on_damage, rec, NULL, err);

	if (rc == TT_OK)
		rc = tti_ring_open(&ring, rec->dir, false, err);
	if (rc < 0)
		return rc;
	rec->ring = &ring;
	rc = tti_ring_list(&ring, &rec->items, err);
	if (rc == TT_E_DAMAGED) { /* the manifest: by the directory alone */
		tti_map_close(&ring.lock);
		rc = tti_ring_list(&ring, &rec->items, err);
	}
	if (rc == TT_OK)
		rc = say_unproven(rec, err);
	if (rc == TT_OK)
		rc = files(rec, err);
	rec->ring = NULL;
	tti_ring_close(&ring);
	return rc;
}
