/* SPDX-License-Identifier: Apache-2.0 */
/* A ring that loses power and has a file damaged as well: recover must keep each synced row
 * whose bytes are still there.  The work is that of the ring. */
#include "live/power/power.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "live/power/model.h"
#include "ticktail/recover.h"

#define FILES_MAX 256
#define WORDS 160

static void work(void)
{
	power_ring.work();
}

/* ---- Files ---- */

struct names {
	char at[FILES_MAX][64];
	int count;
};

static bool has_rows(const char *name)
{
	size_t len = strlen(name);

	return name[0] != '.' && ((len > 4 && strcmp(name + len - 4, ".npy") == 0) ||
				  (len > 5 && strcmp(name + len - 5, ".npy_") == 0));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Those with rows; all: also manifest and settings. */
static void list(struct names *out, bool all)
{
	DIR *dir = opendir("r");
	struct dirent *entry;

	NEED(dir);
	out->count = 0;
	while ((entry = readdir(dir)) && out->count < FILES_MAX)
		if (has_rows(entry->d_name) ||
		    (all && (strcmp(entry->d_name, ".lock") == 0 ||
			     strcmp(entry->d_name, ".ticktail") == 0)))
			snprintf(out->at[out->count++], sizeof(out->at[0]), "%.60s",
				 entry->d_name);
	closedir(dir);
	qsort(out->at, (size_t)out->count, sizeof(out->at[0]), by_name);
}

/* Rows whose bytes stand anywhere in a file: they prove themselves. */
static void find_rows(uint8_t found[POWER_ROWS])
{
	static unsigned char bytes[1 << 20];
	struct names names;

	memset(found, 0, POWER_ROWS);
	list(&names, false);
	for (int i = 0; i < names.count; i++) {
		char path[80];
		struct power_row row;
		ssize_t got;
		int fd;

		snprintf(path, sizeof(path), "r/%s", names.at[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		NEED(fd >= 0);
		got = read(fd, bytes, sizeof(bytes));
		close(fd);
		for (ssize_t at = 0; at + (ssize_t)sizeof(row) <= got; at++) {
			memcpy(&row, bytes + at, sizeof(row));
			if (row.number >= 0 && row.number < POWER_ROWS &&
			    power_is_row(&row))
				found[row.number] = 1;
		}
	}
}

/* ---- Damage ---- */

/* Not through the model: the power is not lost in the middle of it. */
static void put(int fd, const void *bytes, size_t n, uint64_t at)
{
	NEED(syscall(SYS_pwrite64, fd, bytes, n, at) == (long)n);
}

/* Zeroes, or one flipped bit, or an end that is too early. */
static void spoil(int fd, const char *path, uint64_t size)
{
	static const unsigned char zero[4096];
	uint64_t kind = power_random(4), at = power_random(size);
	unsigned char byte;

	if (power_random(3) == 0) /* where the tail is */
		at = size > 40 ? size - 1 - power_random(40) : at;
	else if (power_random(3) == 0) /* where the header is */
		at = power_random(size < 128 ? size : 128);
	if (kind == 0) {
		NEED(syscall(SYS_ftruncate, fd, at) == 0);
	} else if (kind == 1) {
		uint64_t n = 1 + power_random(power_random(2) ? 64 : 4096);

		put(fd, zero, n < size - at ? n : size - at, at);
	} else {
		NEED(pread(fd, &byte, 1, (off_t)at) == 1);
		byte ^= (unsigned char)(1u << power_random(8));
		put(fd, &byte, 1, at);
	}
	snprintf(rec->damage, sizeof(rec->damage), "%.79s: %s at %llu of %llu", path,
		 kind == 0   ? "cut"
		 : kind == 1 ? "zeroed"
			     : "a flipped bit",
		 (unsigned long long)at, (unsigned long long)size);
}

/* Once for an image, whatever is lost afterwards. */
static void damage(void)
{
	struct names names;
	char path[80];
	struct stat st;
	int fd, i;

	if (rec->damaged)
		return;
	power_step = "damage";
	for (uint64_t n = 0; n < rec->image; n++)
		power_random(2); /* images of one run are damaged in other ways */
	list(&names, power_random(4) == 0);
	if (names.count == 0)
		return;
	/* the file that the mark is of, or the one before it, more often than others */
	i = names.count - 1 - (int)power_random(2);
	if (power_random(2) == 0 || i < 0)
		i = (int)power_random((uint64_t)names.count);
	snprintf(path, sizeof(path), "r/%s", names.at[i]);
	fd = open(path, O_RDWR | O_CLOEXEC);
	NEED(fd >= 0 && fstat(fd, &st) == 0);
	if (st.st_size > 0)
		spoil(fd, path, (uint64_t)st.st_size);
	find_rows(rec->intact);
	rec->damaged = true; /* an image that comes before the sync may be whole */
	NEED(fsync(fd) == 0);
	close(fd);
}

/* ---- What must be there ---- */

static void need_row(int64_t number, bool cond, const char *what)
{
	char words[WORDS + 64];

	if (cond)
		return;
	snprintf(words, sizeof(words), "row %lld (%s): %s", (long long)number,
		 rec->damage, what);
	power_fail(__FILE__, __LINE__, words);
}

/* Rows in order, each once; those of the work: the number after the last. */
static int64_t read_all(uint8_t seen[POWER_ROWS])
{
	struct tt_ring_reader *reader = NULL;
	struct tt_view view;
	int64_t last = -1;
	int rc;

	memset(seen, 0, POWER_ROWS);
	GOOD(tt_ring_reader_open(&reader, "r", NULL, &power_err));
	while ((rc = tt_ring_read(reader, 1000, 0, &view, NULL, &power_err)) == 1)
		for (uint64_t i = 0; i < view.count; i++) {
			const struct power_row *row =
				(const struct power_row *)view.rows + i;

			if (!power_is_row(row))
				continue; /* a damaged one */
			need_row(row->number, row->number > last, "not in order");
			need_row(row->number, row->number < POWER_ROWS, "out of range");
			last = row->number;
			seen[last] = 1;
		}
	GOOD(rc);
	tt_ring_reader_close(reader);
	return last + 1;
}

/* Marks that were lost leave a doubt, until somebody chooses to cut or a writer goes on. */
static bool is_doubt(const char *what)
{
	static const char words[] = "unproven after a reboot";

	return strstr(rec->damage, "r/.ticktail:") &&
	       strncmp(what, words, sizeof(words) - 1) == 0;
}

/* What was found; doubt: without a doubt that stays. */
static uint64_t recover(bool doubt)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;
	struct tt_recover_report report = { 0 };
	struct tt_dtype *dtype = NULL;
	uint64_t items;
	int rc;

	GOOD(tt_dtype_parse(&dtype, POWER_DTYPE, strlen(POWER_DTYPE), false, &power_err));
	opts.dtype = dtype; /* the header of the only file may be gone */
	rc = tt_ring_recover("r", &opts, &report, &power_err);
	items = report.item_count;
	for (size_t i = 0;
	     i < report.item_count && (getenv("TT_POWER_VERBOSE") || report.left); i++)
		fprintf(stderr, "# %s: %d %s\n", report.items[i].path,
			(int)report.items[i].did, report.items[i].what);
	need_row(-1, rc == 0, "recover fails");
	need_row(-1, report.left == 0, "something is left");
	for (size_t i = 0; doubt && i < report.item_count; i++)
		items -= is_doubt(report.items[i].what);
	tt_recover_report_free(&report);
	tt_dtype_unref(dtype);
	return items;
}

static void say_damage(void *ctx, const struct tt_damage *found)
{
	(void)ctx;
	fprintf(stderr, "# %s: %s\n", found->path, found->what);
}

static void goes_on(void)
{
	static uint8_t seen[POWER_ROWS];
	struct tt_ring_writer *writer = NULL;
	int64_t number = POWER_ROWS - 3;
	struct power_row row;

	power_step = "go on";
	GOOD(tt_ring_writer_open(&writer, "r", NULL, &power_err));
	need_row(-1,
		 tt_ring_writer_repaired(writer)[0] == '\0' ||
			 is_doubt(tt_ring_writer_repaired(writer)),
		 tt_ring_writer_repaired(writer));
	for (; number < POWER_ROWS; number++) {
		power_fill(&row, number, rec->gen);
		GOOD(tt_ring_append(writer, &row, 1, NULL, &power_err));
	}
	tt_ring_writer_close(writer);
	NEED(read_all(seen) == POWER_ROWS);
	for (number = rec->removable; number < rec->synced; number++)
		need_row(number, seen[number] || !rec->intact[number],
			 "gone when rows go on");
}

static void say_counts(const uint8_t seen[POWER_ROWS])
{
	int64_t intact = 0, shown = 0;

	for (int64_t i = rec->removable; i < rec->synced; i++) {
		intact += rec->intact[i];
		shown += seen[i];
	}
	fprintf(stderr, "# %s: of rows %lld to %lld %lld can be read, %lld are shown\n",
		rec->damage, (long long)rec->removable, (long long)rec->synced,
		(long long)intact, (long long)shown);
}

static void check(void)
{
	static uint8_t seen[POWER_ROWS];
	uint64_t found = 0;

	/* without marks nothing tells what was synced */
	if (access("r", F_OK) != 0 || !rec->proves)
		return;
	damage();
	if (!rec->damaged)
		return;
	power_step = "recover";
	recover(false);
	model_lock();
	model_on_place(NULL, NULL); /* what follows is not what is tested */
	model_unlock();
	power_step = "after recover";
	read_all(seen);
	if (getenv("TT_POWER_VERBOSE"))
		say_counts(seen);
	for (int64_t i = rec->removable; i < rec->synced; i++)
		need_row(i, seen[i] || !rec->intact[i], "was synced and can be read");
	power_step = "verify";
	GOOD(tt_ring_verify("r", say_damage, NULL, &found, &power_err));
	need_row(-1, found == 0, "damage is left");
	power_step = "recover again";
	need_row(-1, recover(true) == 0, "a second run finds something");
	goes_on();
}

const struct power_kind power_damaged = { "damaged", NULL, work, check };
