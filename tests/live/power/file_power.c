/* SPDX-License-Identifier: Apache-2.0 */
/* Single files that lose power: one that is appended to, grown and trimmed, and one for each
 * operation that is done once. */
#include "live/power/power.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "format/npy.h"
#include "live/file_mark.h"
#include "live/power/model.h"

#define FEW 200 /* rows of the files that are there before; several pages */

static struct tt_file *file;

static struct tt_dtype *dtype_new(void)
{
	struct tt_dtype *dtype = NULL;

	GOOD(tt_dtype_parse(&dtype, POWER_DTYPE, strlen(POWER_DTYPE), false, &power_err));
	return dtype;
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* ---- Before ---- */

static struct power_row *numbered(int64_t count, uint64_t gen)
{
	static struct power_row rows[POWER_ROWS];

	for (int64_t i = 0; i < count; i++)
		power_fill(&rows[i], i, gen);
	return rows;
}

static void make_live(const char *path, int64_t count)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = dtype_new();

	opts.capacity = (uint64_t)count;
	opts.rows = numbered(count, 0);
	opts.row_count = (uint64_t)count;
	GOOD(tt_file_create(path, dtype, &opts, &power_err));
	tt_dtype_unref(dtype);
}

/* What np.save makes; tight: without the room in the header that adopting in place needs. */
static void make_plain(const char *path, bool tight)
{
	const uint64_t shape = FEW;
	struct tt_dtype *dtype = dtype_new();
	void *header = NULL;
	char *text;
	size_t len;
	FILE *out = fopen(path, "wb");

	GOOD(tti_npy_format(&header, &len,
			    &(struct tti_npy_form){ dtype, 1, &shape, false },
			    &power_err));
	text = header;
	if (tight) { /* the dict moved behind all the spaces */
		size_t dict = (size_t)((char *)memrchr(text, '}', len) - text) - 9;

		memmove(text + len - 1 - dict, text + 10, dict);
		memset(text + 10, ' ', len - 1 - dict - 10);
	}
	NEED(out && fwrite(header, len, 1, out) == 1 &&
	     fwrite(numbered(FEW, 0), sizeof(struct power_row), FEW, out) == FEW &&
	     fclose(out) == 0);
	free(header);
	tt_dtype_unref(dtype);
}

static void prepare(void)
{
	make_plain("roomy.npy", false);
	make_plain("tight.npy", true);
	make_live("cleared.npy", FEW);
	make_live("merged.npy", FEW);
	make_live("other.npy", 100);
	make_live("moving.npy", FEW);
	make_live("removed.npy", FEW);
	make_live("updated.npy", FEW);
}

/* ---- Work ---- */

static struct tt_file *open_write(const char *path)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	bool is_main = strcmp(path, "a.npy") == 0;
	struct tt_file *opened;

	opts.access = TT_WRITE;
	opts.no_helper = power_random(2) == 0;
	opts.sync_ms = (int64_t[]){ TT_SYNC_NONE, TT_SYNC_EACH, 1 }[power_random(3)];
	power_step = path;
	if (is_main && opts.sync_ms == TT_SYNC_NONE)
		rec->proves = false;
	GOOD(tt_file_open(&opened, path, &opts, &power_err));
	if (is_main)
		rec->proves = opts.sync_ms != TT_SYNC_NONE;
	return opened;
}

static void append(int64_t count)
{
	static struct power_row rows[POWER_ROWS];

	if (rec->appended + count > POWER_ROWS - 64)
		return;
	power_step = "append";
	for (int64_t i = 0; i < count; i++)
		power_fill(&rows[i], rec->appended + i, rec->gen);
	if (tt_file_room(file) < (uint64_t)count) {
		int64_t held = rec->appended;

		GOOD(tt_file_grow(file, (uint64_t)count, &power_err));
		rec->synced = held; /* the copy is on disk before it has the name */
	}
	rec->attempted = rec->appended + count;
	GOOD(tt_file_append(file, rows, (uint64_t)count));
	rec->appended = rec->attempted;
}

static void sync_now(void)
{
	power_step = "sync";
	GOOD(tt_file_sync(file, &power_err));
	rec->synced = rec->appended;
}

static void reopen(void)
{
	tt_file_close(file);
	rec->proves = false; /* whoever opens it without a policy takes the mark away */
	switch (power_random(4)) {
	case 0:
		power_step = "trim";
		GOOD(tt_file_trim("a.npy", &power_err));
		break;
	case 1:
		power_step = "resize";
		GOOD(tt_file_resize("a.npy",
				    (uint64_t)rec->appended + power_random(300) + 1,
				    &power_err));
		break;
	}
	file = open_write("a.npy");
}

static void back_up(void)
{
	if (rec->copied >= 0)
		return;
	power_step = "backup";
	rec->copying = rec->appended;
	GOOD(tt_file_backup("a.npy", "copy.npy", &power_err));
	rec->copied = rec->copying;
}

static void update(void)
{
	struct tt_file *updated = open_write("updated.npy");

	/* the same rows: a half change is as good as none, what is looked at is the stamp */
	rec->updated.begun = true;
	GOOD(tt_file_update(updated, 3, numbered(50, 0) + 3, 40, &power_err));
	GOOD(tt_file_sync(updated, &power_err));
	rec->updated.done = true;
	tt_file_close(updated);
}

/* An operation that is done once, when its turn comes. */
#define ONCE(what, call) \
	do { \
		if (rec->what.begun) \
			break; \
		rec->what.begun = true; \
		power_step = #what; \
		GOOD(call); \
		rec->what.done = true; \
	} while (0)

static void do_one_thing(void)
{
	switch (power_random(24)) {
	case 0:
		ONCE(roomy, tt_file_adopt("roomy.npy", FEW + power_random(400), NULL,
					  &power_err));
		break;
	case 1:
		ONCE(tight, tt_file_adopt("tight.npy", FEW + power_random(400), NULL,
					  &power_err));
		break;
	case 2: ONCE(cleared, tt_file_clear("cleared.npy", &power_err)); break;
	case 3: ONCE(merged, tt_file_merge("merged.npy", "other.npy", &power_err)); break;
	case 4: ONCE(moved, tt_file_rename("moving.npy", "moved.npy", &power_err)); break;
	case 5: ONCE(removed, tt_file_remove("removed.npy", &power_err)); break;
	case 6: update(); break;
	case 7: back_up(); break;
	case 8:
	case 9: reopen(); break;
	case 10:
	case 11: sync_now(); break;
	default: append(1 + (int64_t)power_random(power_random(4) == 0 ? 120 : 12));
	}
}

static void create(void)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = dtype_new();

	power_step = "create";
	opts.capacity = 10 + power_random(300);
	opts.exact = power_random(8) == 0;
	GOOD(tt_file_create("a.npy", dtype, &opts, &power_err));
	rec->made = true;
	tt_dtype_unref(dtype);
}

static void work(void)
{
	rec->copied = rec->copying = -1;
	create();
	file = open_write("a.npy");
	for (uint64_t left = 20 + power_random(40); left > 0; left--)
		do_one_thing();
	power_step = "close";
	tt_file_close(file);
}

/* ---- Check ---- */

static struct tt_file *open_read(const char *path)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *opened;

	opts.plain = true;
	power_step = path;
	GOOD(tt_file_open(&opened, path, &opts, &power_err));
	return opened;
}

static const struct power_row *row_at(struct tt_file *from, int64_t i)
{
	const struct power_row *row = tt_file_at(from, i);

	NEED(row);
	return row;
}

/* Rows [from, until) are numbered from first on. */
static void check_counting(struct tt_file *at, int64_t from, int64_t until, int64_t first)
{
	for (int64_t i = from; i < until; i++) {
		NEED(power_is_row(row_at(at, i)));
		NEED(row_at(at, i)->number == first + i - from);
	}
}

static void say_damage(void *ctx, const struct tt_damage *damage)
{
	(void)ctx;
	fprintf(stderr, "# %s: %s\n", damage->path, damage->what);
}

static void check_verified(const char *path)
{
	uint64_t found = 1;

	GOOD(tt_file_verify(path, say_damage, NULL, &found, &power_err));
	NEED(found == 0);
}

/* Opens for reading and for writing, with the same rows; how many. */
static int64_t settle(const char *path)
{
	struct tt_file *at = open_read(path);
	int64_t rows = (int64_t)tt_file_size(at);

	tt_file_close(at);
	at = open_write(path);
	NEED((int64_t)tt_file_size(at) == rows);
	tt_file_close(at);
	check_verified(path);
	return rows;
}

static void check_holds(const char *path, int64_t rows)
{
	struct tt_file *at = open_read(path);

	NEED((int64_t)tt_file_size(at) >= rows);
	check_counting(at, 0, rows, 0);
	tt_file_close(at);
}

/* Plain still, or live: its rows are there, and adopting it again ends well. */
static void check_adopted(const char *path, const struct power_once *once)
{
	struct tt_file_info info;
	struct tt_file *at = open_read(path);
	int rc;

	GOOD(tt_file_info(at, &info, &power_err));
	NEED(!once->done || info.tail_words == 5);
	NEED(tt_file_size(at) == FEW);
	tt_file_close(at);
	check_holds(path, FEW);
	rc = tt_file_adopt(path, 0, NULL, &power_err);
	NEED(rc == TT_OK || rc == TT_E_MISMATCH);
	NEED(settle(path) == FEW);
	check_holds(path, FEW);
}

static void check_others(void)
{
	int64_t rows;

	check_adopted("roomy.npy", &rec->roomy);
	check_adopted("tight.npy", &rec->tight);
	rows = settle("cleared.npy");
	NEED(rows == 0 || rows == FEW);
	NEED(rows == 0 || !rec->cleared.done);
	NEED(rows == FEW || rec->cleared.begun);
	check_holds("cleared.npy", rows);
	rows = settle("merged.npy");
	NEED(rows == FEW || rows == FEW + 100);
	NEED(rows == FEW || rec->merged.begun);
	NEED(rows > FEW || !rec->merged.done);
	check_holds("merged.npy", FEW);
	if (rec->merged.done) {
		struct tt_file *at = open_read("merged.npy");

		check_counting(at, FEW, FEW + 100, 0);
		tt_file_close(at);
	}
	NEED(is_there("moved.npy") != is_there("moving.npy"));
	NEED(is_there(rec->moved.done ? "moved.npy" : "moving.npy") || rec->moved.begun);
	NEED(settle(is_there("moved.npy") ? "moved.npy" : "moving.npy") == FEW);
	check_holds(is_there("moved.npy") ? "moved.npy" : "moving.npy", FEW);
	NEED(is_there("removed.npy") || rec->removed.begun);
	NEED(!is_there("removed.npy") || !rec->removed.done);
	NEED(settle("updated.npy") == FEW);
	check_holds("updated.npy", FEW);
	NEED(settle("other.npy") == 100);
}

static void check(void)
{
	int64_t rows;

	check_others();
	power_step = "the copy";
	NEED(is_there("copy.npy") || rec->copied < 0);
	if (is_there("copy.npy")) {
		rows = settle("copy.npy");
		NEED(rows >= rec->copied && rows <= rec->copying);
		check_holds("copy.npy", rows);
	}
	power_step = "is it there";
	NEED(is_there("a.npy") || !rec->made);
	if (!is_there("a.npy")) {
		create();
		rec->synced = rec->appended = rec->attempted = 0;
	}
	rec->made = true;
	check_holds("a.npy", rec->synced);
	if (rec->proves) { /* nothing is shown that was not written */
		struct tt_file *at = open_read("a.npy");

		check_counting(at, 0, (int64_t)tt_file_size(at), 0);
		tt_file_close(at);
	}
	rows = settle("a.npy");
	NEED(rows >= rec->synced && rows <= rec->attempted);
	check_holds("a.npy", rec->synced);
	rec->gen++;
	rec->appended = rec->attempted = rows;
	file = open_write("a.npy");
	append(10);
	sync_now();
	check_counting(file, rows, rows + 10, rows);
	tt_file_close(file);
	check_verified("a.npy");
	file = open_write("a.npy");
	NEED(tt_file_repaired(file)[0] == '\0');
	tt_file_close(file);
}

static bool is_whole(struct tti_file_mark slot)
{
	uint32_t crc = slot.crc;

	slot.crc = 0;
	return crc == tti_crc32c(0, &slot, sizeof(slot));
}

static void keep_slot(int fd, uint64_t at)
{
	struct tti_file_mark slot;
	struct statx stx;
	const char *path;

	if (pread(fd, &slot, sizeof(slot), (off_t)at) != (ssize_t)sizeof(slot) ||
	    slot.magic != TTI_FILE_MARK_MAGIC)
		return;
	path = model_made_as(slot.inode);
	if (!path || !*path ||
	    statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME, &stx) < 0)
		return;
	if (is_whole(slot)) { /* a torn one stays so */
		slot.inode = stx.stx_ino;
		slot.born_ns = (int64_t)stx.stx_btime.tv_sec * 1000000000 +
			       stx.stx_btime.tv_nsec;
		slot.crc = 0;
		slot.crc = tti_crc32c(0, &slot, sizeof(slot));
		NEED(pwrite(fd, &slot, sizeof(slot), (off_t)at) == (ssize_t)sizeof(slot));
	}
}

void power_keep_marks(const char *dir)
{
	static const char *const names[] = { "a.npy.mark", "updated.npy.mark" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		keep_slot(fd, 0);
		keep_slot(fd, TTI_SETTINGS_STRIDE);
		close(fd);
	}
}

const struct power_kind power_file = { "file", prepare, work, check };
