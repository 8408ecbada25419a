/* SPDX-License-Identifier: Apache-2.0 */
/* Checking every invariant of a ring: its manifest, its settings file, each of its files, and
 * that they fit each other.  Reads with pread only and changes nothing; what a living writer
 * may be in the middle of is not damage. */
#include "live/ring.h"
#include "live/ring_cut.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "live/ring_mark.h"
#include "live/ring_odd.h"

struct check {
	struct tti_ring ring;
	tt_damage_fn *fn;
	void *ctx;
	uint64_t found;
	struct tti_npy rows; /* of the first file that could be read */
	uint64_t next_base;  /* what the next file's first row is, or unknown */
};

static void say(struct check *check, const char *name, const char *fmt, ...)
	TTI_PRINTF(3, 4);
static void say(struct check *check, const char *name, const char *fmt, ...)
{
	char path[TTI_RING_PATH_BYTES], what[512];
	struct tt_damage damage = { .path = path, .chunk = -1, .row = -1, .what = what };
	va_list ap;

	tti_ring_path(&check->ring, name, path, sizeof(path));
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	check->found++;
	if (check->fn)
		check->fn(check->ctx, &damage);
}

/* The text without the path that say() gives already. */
static const char *words_of(const struct check *check, const struct tt_error *err,
			    const char *name)
{
	char path[TTI_RING_PATH_BYTES];
	size_t len = strlen(tti_ring_path(&check->ring, name, path, sizeof(path)));

	if (strncmp(err->text, path, len) == 0 && err->text[len] == ':')
		return err->text + len + 2;
	return err->text;
}

/* Something else in the place of one of a ring's own files. */
static bool check_odd(struct check *check, const char *name)
{
	const char *kind = tti_ring_odd_kind(&check->ring, name);

	if (kind)
		say(check, name,
		    "is %s, not a regular file: 'ticktail recover' puts it aside and "
		    "makes the file anew",
		    kind);
	return kind != NULL;
}

static void check_manifest(struct check *check, struct tti_names *queue)
{
	struct tt_error err = { TT_OK, "" };
	struct stat st;
	uint64_t slots;

	if (fstatat(check->ring.dirfd, TTI_MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		say(check, TTI_MANIFEST_NAME, "missing: the next writer makes it again");
		return;
	}
	if (check_odd(check, TTI_MANIFEST_NAME))
		return;
	if (tti_manifest_slots((uint64_t)st.st_size, &slots, "", &err) < 0) {
		say(check, TTI_MANIFEST_NAME, "%s", err.text + 2);
		return;
	}
	if (tti_ring_queue(&check->ring, queue, &err) < 0)
		say(check, TTI_MANIFEST_NAME, "%s",
		    words_of(check, &err, TTI_MANIFEST_NAME));
	else if (queue->count > 0 && tti_ring_newest(&check->ring) == 0)
		say(check, TTI_MANIFEST_NAME, "names no file, though there are some");
	if (check->ring.set.addr && slots < check->ring.settings.keep)
		say(check, TTI_MANIFEST_NAME,
		    "%" PRIu64 " slots, the settings say %" PRIu64, slots,
		    check->ring.settings.keep);
}

/* It may have left the queue, and been merged or removed, since the queue was read. */
static bool is_still_queued(struct check *check, uint64_t name)
{
	tti_auto_names queue = { 0 };

	if (tti_ring_queue(&check->ring, &queue, NULL) < 0)
		return true;
	for (size_t i = 0; i < queue.count; i++)
		if (queue.at[i] == name)
			return true;
	return false;
}

/* The newest name may be without its file while npyt makes it: then no writer of ours knows
 * it, and it is newer than all that is there.  Or the power went between manifest and
 * directory. */
static void check_newest(struct check *check, const struct tti_names *queue,
			 const struct tti_items *items)
{
	uint64_t newest = queue->count > 0 ? queue->at[queue->count - 1] : 0, last = 0;

	for (size_t i = 0; i < items->count; i++) {
		if (items->at[i].name == newest)
			return;
		last = items->at[i].name;
	}
	if (newest != 0 && is_still_queued(check, newest) &&
	    (last > newest ||
	     tti_ring_find_entry(&check->ring, newest) != TTI_NO_ENTRY) &&
	    !tti_ring_is_past_mark(&check->ring, newest))
		say(check, TTI_MANIFEST_NAME,
		    "names file %" PRIu64 " as the newest, which is not there", newest);
}

static void check_names(struct check *check, const struct tti_names *queue,
			const struct tti_items *items)
{
	size_t k = 0;

	for (size_t i = 0; i + 1 < queue->count; i++) {
		while (k < items->count && items->at[k].name < queue->at[i])
			k++;
		if ((k == items->count || items->at[k].name != queue->at[i]) &&
		    is_still_queued(check, queue->at[i]))
			say(check, TTI_MANIFEST_NAME,
			    "names file %" PRIu64 ", which is not there", queue->at[i]);
	}
}

/* Named ahead by a writer that died; then npyt went on, which removes nothing. */
static bool was_never_used(const struct check *check, const struct tti_ring_item *item)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	bool is = tti_ring_find_entry(&check->ring, item->name) == TTI_NO_ENTRY &&
		  tti_ring_open_raw(&check->ring, item->name, &live, NULL) == TT_OK &&
		  live.end == 0;

	tti_live_close(&live);
	return is;
}

/* Readers in the queue would go from the name before to the name behind it. */
static void check_left_out(struct check *check, const struct tti_names *queue,
			   const struct tti_items *items)
{
	size_t k = 0;

	for (size_t i = 0; i < items->count; i++) {
		const struct tti_ring_item *item = &items->at[i];

		if (item->merged || item->shadowed)
			continue;
		while (k < queue->count && queue->at[k] < item->name)
			k++;
		if (k > 0 && k < queue->count && queue->at[k] != item->name &&
		    !was_never_used(check, item) && is_still_queued(check, queue->at[0]))
			say(check, TTI_MANIFEST_NAME,
			    "does not name file %" PRIu64
			    ", which lies between two that it names",
			    item->name);
	}
}

static void check_zeros(struct check *check, const uint8_t *page, uint64_t from,
			uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		if (page[i] != 0) {
			say(check, TTI_SETTINGS_NAME,
			    "byte 0x%" PRIx64 " is 0x%02x, not zero", i, page[i]);
			return;
		}
}

static void check_settings(struct check *check)
{
	uint8_t page[TTI_WORDS_OFF];
	struct tt_error err = { TT_OK, "" };
	struct tti_settings picked;
	struct stat st;

	check_odd(check, TTI_RING_WRITER_NAME);
	if (check_odd(check, TTI_SETTINGS_NAME))
		return;
	if (check->ring.set_fd < 0) {
		if (check->ring.set_rc != -ENOENT)
			say(check, TTI_SETTINGS_NAME, "cannot be used: %s",
			    tt_strerror(check->ring.set_rc));
		return;
	}
	if (fstat(check->ring.set_fd, &st) < 0 ||
	    tti_pread_all(check->ring.set_fd, page, sizeof(page), 0) < 0) {
		say(check, TTI_SETTINGS_NAME, "too short or unreadable");
		return;
	}
	if (tti_settings_check(page, (uint64_t)st.st_size, "x", &err) < 0 ||
	    tti_settings_pick(page, &picked, NULL, "x", &err) < 0) {
		say(check, TTI_SETTINGS_NAME, "%s", err.text + 3);
		return;
	}
	if (tti_settings_bad_copies(page))
		say(check, TTI_SETTINGS_NAME,
		    "a copy of the settings is damaged; the other one, which "
		    "may be older, counts");
	check_zeros(check, page, sizeof(struct tti_settings_header), TTI_SETTINGS_OFF);
	check_zeros(check, page, TTI_SETTINGS_OFF + sizeof(picked),
		    TTI_SETTINGS_OFF + TTI_SETTINGS_STRIDE);
	check_zeros(check, page, TTI_SETTINGS_OFF + TTI_SETTINGS_STRIDE + sizeof(picked),
		    TTI_WORDS_OFF);
}

struct named {
	uint64_t name, idx;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->idx > y->idx) - (x->idx < y->idx);
}

static int check_entries(struct check *check, struct tt_error *err)
{
	uint64_t count = tti_ring_entry_count(&check->ring);
	tti_auto_free struct named *named = calloc(count + 1, sizeof(*named));
	size_t used = 0;

	if (!named)
		return tti_fail_sys(err, -ENOMEM, check->ring.path, NULL);
	for (uint64_t i = 0; i < count; i++) {
		const struct tti_entry *entry = tti_ring_entry(&check->ring, i);
		uint64_t name = tti_entry_name(entry);

		if (name == 0)
			continue;
		named[used++] = (struct named){ name, i };
		if (tti_entry_merged(entry) > name)
			say(check, TTI_SETTINGS_NAME,
			    "entry %" PRIu64 " says that file %" PRIu64
			    " was joined into a newer one",
			    i, name);
		if (tti_entry_claimed_by(entry) == 0)
			say(check, TTI_SETTINGS_NAME,
			    "entry %" PRIu64 " of file %" PRIu64 " counts as free", i,
			    name);
	}
	qsort(named, used, sizeof(*named), by_name);
	for (size_t i = 1; i < used; i++)
		if (named[i].name == named[i - 1].name)
			say(check, TTI_SETTINGS_NAME,
			    "entries %" PRIu64 " and %" PRIu64
			    " are both of file %" PRIu64,
			    named[i - 1].idx, named[i].idx, named[i].name);
	return TT_OK;
}

/* A file against its entry: both were final when the manifest named a newer one. */
static void check_entry(struct check *check, const struct tti_ring_item *item,
			const char *file_name, const struct tti_live *live)
{
	uint64_t idx = tti_ring_find_entry(&check->ring, item->name), rows, base;
	uint64_t end = live->end;
	const struct tti_entry *entry;

	if (idx == TTI_NO_ENTRY || item->merged) {
		check->next_base = TTI_ROWS_UNKNOWN;
		return;
	}
	entry = tti_ring_entry(&check->ring, idx);
	rows = tti_field_load(&entry->rows);
	base = tti_field_load(&entry->base);
	/* what was cut was said then, what the next writer will cut is no damage */
	if (item->sealed && rows != TTI_ROWS_UNKNOWN && rows != end &&
	    live->shown == UINT64_MAX)
		say(check, file_name,
		    "has %" PRIu64 " rows, its entry says %" PRIu64 " at seal", end,
		    rows);
	if (check->next_base != TTI_ROWS_UNKNOWN && base != TTI_ROWS_UNKNOWN &&
	    base < check->next_base)
		say(check, file_name,
		    "begins at row %" PRIu64
		    " of the ring, the file before ends at %" PRIu64,
		    base, check->next_base);
	/* the next file was numbered by what was noted at the seal */
	check->next_base = base == TTI_ROWS_UNKNOWN
				   ? base
				   : base + (rows == TTI_ROWS_UNKNOWN ? end : rows);
}

/* What is possible in a single file, but not in one of a ring that a writer of ours made. */
static void check_tail(struct check *check, const struct tti_ring_item *item,
		       const char *file_name, const struct tti_live *live, uint64_t start)
{
	if (tti_ring_find_entry(&check->ring, item->name) == TTI_NO_ENTRY)
		return;
	if (start != 0)
		say(check, file_name,
		    "begins at row %" PRIu64
		    ", and no file of a ring does: 'ticktail recover' shows the rows "
		    "before it",
		    start);
	if (live->npy.rank && live->npy.shape[0] != live->capacity)
		say(check, file_name,
		    "its header says %" PRIu64 " rows, its tail stands behind %" PRIu64,
		    live->npy.shape[0], live->capacity);
}

static void check_file(struct check *check, const struct tti_ring_item *item)
{
	char file_name[TTI_RING_NAME_BYTES];
	struct tti_live live = TTI_LIVE_EMPTY;
	struct tt_error err;
	uint64_t start, end;
	int rc = tti_ring_open_file(&check->ring, item->name, item->merged, &live, &err);

	tti_ring_format_name(file_name, item->name, item->merged);
	if (rc == TT_OK)
		rc = tti_live_bounds(&live, &start, &end, &err);
	if (rc == TT_OK)
		live.end = end;
	if (rc == TT_OK)
		check_tail(check, item, file_name, &live, start);
	if (rc == TT_OK && !check->rows.dtype) {
		check_entry(check, item, file_name, &live);
		check->rows = live.npy;
		live.npy = (struct tti_npy){ 0 }; /* taken over */
	} else if (rc == TT_OK) {
		check_entry(check, item, file_name, &live);
		if (!tti_ring_same_rows(&check->rows, &live.npy))
			say(check, file_name, "its rows are %s, those before %s",
			    tt_dtype_descr(live.npy.dtype),
			    tt_dtype_descr(check->rows.dtype));
	} else if (rc != -ENOENT && !tti_ring_is_unsure(&check->ring, item, rc)) {
		say(check, file_name, "%s", words_of(check, &err, file_name));
		check->next_base = TTI_ROWS_UNKNOWN;
	}
	tti_live_close(&live);
}

/* The mark that counts, against the file that it speaks of; joined ones have another number
 * of rows. */
static void check_mark(struct check *check)
{
	char file_name[TTI_RING_NAME_BYTES], what[TTI_MARK_WORDS];
	struct tti_live live = TTI_LIVE_EMPTY;
	struct tti_mark mark, again;

	for (unsigned i = 0; i < TTI_MARK_SLOTS; i++)
		if (tti_ring_mark_is_damaged(&check->ring, i))
			say(check, TTI_SETTINGS_NAME,
			    "slot %u of the marks, at byte 0x%x, is damaged: 'ticktail "
			    "recover' mends it",
			    i, TTI_MARKS_OFF + i * TTI_SETTINGS_STRIDE);
	if (tti_ring_mark_load(&check->ring, &mark) != 1 || mark.file == 0 ||
	    tti_ring_open_file(&check->ring, mark.file, false, &live, NULL) < 0)
		return; /* a file that is missing is told with the manifest */
	tti_ring_format_name(file_name, mark.file, false);
	if (tti_ring_cut_at(&check->ring, mark.file) == UINT64_MAX &&
	    !tti_mark_judge(&mark, &live, what) &&
	    tti_ring_mark_load(&check->ring, &again) == 1 &&
	    again.sequence == mark.sequence)
		say(check, TTI_SETTINGS_NAME, "%s: %s", file_name, what);
	tti_live_close(&live);
}

int tt_ring_verify(const char *dir, tt_damage_fn *fn, void *ctx, uint64_t *found_out,
		   struct tt_error *err)
{
	struct check check = { .ring = TTI_RING_EMPTY,
			       .fn = fn,
			       .ctx = ctx,
			       .next_base = TTI_ROWS_UNKNOWN };
	tti_auto_names queue = { 0 };
	tti_auto_items items = { 0 };
	uint64_t before;
	int rc = tti_ring_open(&check.ring, dir, false, err);

	if (rc < 0)
		return rc;
	(void)tti_ring_index_entries(&check.ring); /* without memory more slowly */
	check_manifest(&check, &queue);
	check_settings(&check);
	check_mark(&check);
	rc = check_entries(&check, err);
	if (rc == TT_OK)
		rc = tti_ring_list(&check.ring, &items, err);
	if (rc ==
	    TT_E_DAMAGED) { /* said already: look at the files by the directory alone */
		tti_map_close(&check.ring.lock);
		rc = tti_ring_list(&check.ring, &items, err);
	}
	if (rc == TT_OK) {
		before = check.found;
		check_names(&check, &queue, &items);
		check_newest(&check, &queue, &items);
		if (check.found ==
		    before) /* a wrong name stands in the place of one left out */
			check_left_out(&check, &queue, &items);
	}
	for (size_t i = 0; rc == TT_OK && i < items.count; i++)
		if (items.at[i].published && !items.at[i].shadowed)
			check_file(&check, &items.at[i]);
	tti_npy_fini(&check.rows);
	tti_ring_close(&check.ring);
	if (rc == TT_OK && found_out)
		*found_out = check.found;
	return rc;
}
