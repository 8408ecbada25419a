/* SPDX-License-Identifier: Apache-2.0 */
/* Kills a process at every failpoint of the ring code and looks at what it left: all rows
 * whose append had returned are there, in order, and the next writer just works.
 *
 * usage: crash_ring NAME...   the failpoints that the code has (crash_ring.t finds them) */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "live/crash_help.h"
#include "live/ring.h"
#include "ticktail/ring.h"

struct row {
	int64_t number;
	double value;
};

/* What the worker had done when it was killed. */
struct record {
	int64_t acked;	   /* rows whose append returned */
	int64_t attempted; /* rows that an append was given */
	int64_t removed;   /* rows that may have been removed on purpose */
	bool damaged;	   /* the manifest was spoilt on purpose and not mended yet */
};

static struct record *record;
static struct tt_error err;
static const char *step = "";

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "# %s: %s: %s\n", step, what, err.text);
	_exit(2);
}

#define OK(call) need((call) >= 0, #call)

static void put(struct tt_ring_writer *writer, uint64_t count)
{
	static struct row rows[400];

	for (uint64_t i = 0; i < count; i++)
		rows[i] = (struct row){ record->acked + (int64_t)i, 0 };
	record->attempted = record->acked + (int64_t)count;
	OK(tt_ring_append(writer, rows, count, NULL, &err));
	record->acked = record->attempted;
}

static void create(const char *dir, uint64_t max_bytes)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = NULL;

	opts.capacity = 4;
	opts.keep = 3;
	opts.exact = true;
	opts.max_bytes = max_bytes;
	opts.sync_ms = TT_SYNC_NONE;
	OK(tt_dtype_parse(&dtype, "number:i8,value:f8", 18, false, &err));
	OK(tt_ring_create(dir, dtype, &opts, &err));
	tt_dtype_unref(dtype);
}

/* Without the helper thread, so that each run passes the same places. */
static struct tt_ring_writer *open_writer(void)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer = NULL;

	opts.no_helper = true;
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	return writer;
}

static void spoil(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	need(fd >= 0 && pwrite(fd, bytes, n, 0) == (ssize_t)n, path);
	close(fd);
}

/* ---- What the worker does ---- */

static void feed(void)
{
	struct tt_ring_writer *writer;
	uint64_t got;
	struct row *rows;

	step = "feed";
	create("r", 0);
	writer = open_writer();
	for (int i = 0; i < 8; i++)
		put(writer, 3);
	OK(tt_ring_sync(writer, &err));
	rows = tt_ring_reserve(writer, 1, &got, &err);
	need(rows != NULL, "reserve");
	rows->number = record->acked;
	record->attempted = record->acked + 1;
	OK(tt_ring_publish(writer, 1));
	record->acked++;
	OK(tt_ring_roll(writer, &err));
	put(writer, 2);
	need(tt_ring_seal("r", 1000000, NULL, &err) == TT_E_TIMEOUT, "ask");
	put(writer, 2); /* serves it */
	tt_ring_writer_close(writer);
	OK(tt_ring_seal("r", 10000000000, NULL, &err));
	writer = open_writer();
	put(writer, 300); /* more files than there were entries */
	tt_ring_writer_close(writer);
}

static void settle_orphans(void)
{
	struct tt_ring_info info;
	struct tt_ring_writer *writer = open_writer();
	char command[256];

	step = "orphan";
	OK(tt_ring_roll(writer, &err)); /* an empty file to make an orphan of */
	tt_ring_writer_close(writer);
	OK(tt_ring_info("r", &info, &err));
	snprintf(command, sizeof(command), "cp r/%s r/%llu.npy",
		 info.files[info.file_count - 1].file_name,
		 (unsigned long long)info.files[info.file_count - 1].name + 5);
	need(system(command) == 0, command);
	tt_ring_info_free(&info);
	writer = open_writer();
	put(writer, 2);
	tt_ring_writer_close(writer);
}

/* npyt names a file and dies while it writes it. */
static void settle_named(void)
{
	struct tt_ring_writer *writer;
	struct tti_ring ring;
	char path[64];

	step = "named";
	OK(tti_ring_open(&ring, "r", true, &err));
	snprintf(path, sizeof(path), "r/%llu.npy",
		 (unsigned long long)tti_ring_newest(&ring) + 5);
	spoil(path, "\223NUMPY", 6);
	record->damaged =
		true; /* it stays in the worker: a kill here spoils nothing else */
	OK(tti_ring_publish_name(&ring, tti_ring_newest(&ring) + 5, &err));
	record->damaged = false;
	tti_ring_close(&ring);
	writer = open_writer();
	put(writer, 3);
	tt_ring_writer_close(writer);
}

static void settle_spoilt(void)
{
	step = "spoilt";
	record->damaged = true;
	spoil("r/.lock", "garbage!garbage!garbage!", 24);
	tt_ring_writer_close(open_writer());
	record->damaged = false;
	OK(tt_ring_rebuild("r", 4, &err));
	spoil("r/.ticktail", "garbage!", 8);
	tt_ring_writer_close(open_writer());
	need(unlink("r/.ticktail") == 0, "unlink");
	tt_ring_writer_close(open_writer());
}

static struct tt_ring_writer *open_other(const char *dir)
{
	struct tt_ring_writer *writer = NULL;

	OK(tt_ring_writer_open(&writer, dir, NULL, &err));
	return writer;
}

/* The newest file of another ring is damaged: rows go on in one more. */
static void leave_damaged(void)
{
	struct tt_ring_writer *writer;
	struct tt_ring_info info;
	const struct row row = { 0, 0 };
	char path[64];

	step = "damaged";
	create("d", 0);
	writer = open_other("d");
	OK(tt_ring_append(writer, &row, 1, NULL, &err));
	OK(tt_ring_roll(writer, &err));
	tt_ring_writer_close(writer);
	OK(tt_ring_info("d", &info, &err));
	snprintf(path, sizeof(path), "d/%s", info.files[info.file_count - 1].file_name);
	tt_ring_info_free(&info);
	spoil(path, "garbage!garbage!garbage!", 24);
	tt_ring_writer_close(open_other("d"));
}

static void keep_up(void)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_info info;

	step = "keep up";
	OK(tt_ring_merge("r", 3, NULL, NULL, NULL, &err));
	opts.keep = 6;
	OK(tt_ring_set("r", &opts, &err));
	OK(tt_ring_backup("r", "copy", &err));
	writer = open_writer();
	put(writer, 9);
	tt_ring_writer_close(writer);
	OK(tt_ring_info("r", &info, &err));
	record->removed = (int64_t)info.files[0].end;
	OK(tt_ring_remove_file("r", info.files[0].name, &err));
	tt_ring_info_free(&info);
	record->removed = INT64_MAX;
	OK(tt_ring_prune("r", NULL, NULL, &err));
	/* sealed files stay below a limit */
	opts.keep = 0;
	opts.max_bytes = 100000;
	record->removed = INT64_MAX;
	OK(tt_ring_set("r", &opts, &err));
	writer = open_writer();
	put(writer, 200);
	tt_ring_writer_close(writer);
}

static void work(void)
{
	feed();
	settle_orphans();
	settle_named();
	settle_spoilt();
	leave_damaged();
	keep_up();
}

/* ---- What must be true afterwards ---- */

/* Rows from the oldest on are numbered without a gap; the number after the last. */
static int64_t read_all(void)
{
	struct tt_ring_reader *reader = NULL;
	struct tt_view view;
	int64_t next = -1;
	int rc;

	OK(tt_ring_reader_open(&reader, "r", NULL, &err));
	while ((rc = tt_ring_read(reader, 100, 0, &view, NULL, &err)) == 1)
		for (uint64_t i = 0; i < view.count; i++) {
			const struct row *row = (const struct row *)view.rows + i;

			if (next < 0)
				need(row->number <= record->removed,
				     "the first rows are there");
			else
				need(row->number == next, "rows are in order");
			next = row->number + 1;
		}
	need(rc == 0, "read");
	tt_ring_reader_close(reader);
	return next < 0 ? 0 : next;
}

static void check_rows(void)
{
	int64_t rows = read_all();

	need(rows >= record->acked, "every row whose append returned is there");
	need(rows <= record->attempted, "no row is there that was not given");
	record->acked = rows;
}

static void say_damage(void *ctx, const struct tt_damage *damage)
{
	(void)ctx;
	fprintf(stderr, "# %s: %s\n", damage->path, damage->what);
}

static int check(void)
{
	struct tt_ring_writer *writer;
	uint64_t found = 1;

	step = "after the kill";
	if (access("r", F_OK) != 0)
		create("r", 0); /* the one that died left nothing in the way */
	if (!record->damaged)
		check_rows(); /* readers need no writer to mend anything first */
	writer = open_writer();
	check_rows();
	put(writer, 7);
	tt_ring_writer_close(writer);
	need(read_all() == record->acked, "new rows follow");
	if (record->removed == 0) {
		OK(tt_ring_merge("r", 0, NULL, NULL, NULL, &err));
		check_rows();
	}
	OK(tt_ring_verify("r", say_damage, NULL, &found, &err));
	need(found == 0, "verify");
	writer = open_writer();
	need(tt_ring_writer_repaired(writer)[0] == '\0', tt_ring_writer_repaired(writer));
	tt_ring_writer_close(writer);
	if (access("d/.lock", F_OK) == 0) {
		const struct row row = { 1, 0 };

		writer = open_other("d");
		OK(tt_ring_append(writer, &row, 1, NULL, &err));
		tt_ring_writer_close(writer);
	}
	return 0;
}

/* ---- Killing ---- */

static void clean(void)
{
	need(system("rm -rf r d copy .r.new-* .d.new-* .copy.new-*") == 0, "rm");
	*record = (struct record){ 0 };
}

static int run_work(void *unused)
{
	(void)unused;
	alarm(120);
	work();
	return 0;
}

static int run_check(void *unused)
{
	(void)unused;
	alarm(120);
	return check();
}

/* Killed at the nth passage, the worker leaves a ring that is whole. */
static bool survives(const char *name, unsigned nth)
{
	int status;

	clean();
	if (!crash_kill(run_work, NULL, name, nth))
		return false;
	status = crash_run(run_check, NULL);
	if (status != 0)
		printf("# %s:%u: check ended with status %d\n", name, nth, status);
	return status == 0;
}

static bool try_name(const char *name, bool all)
{
	/* the first, the last, and some between */
	unsigned count = crash_passages(name),
		 stride = all || count <= 3 ? 1 : (count + 1) / 2;
	bool good = count > 0;

	if (!good)
		printf("# %s is never passed\n", name);
	for (unsigned nth = 1; good && nth <= count; nth += stride)
		good = survives(name, nth);
	return good && (count < 2 || survives(name, count));
}

int main(int argc, char **argv)
{
	int failed = 0, status;

	record = crash_record(sizeof(*record));
	if (argc < 2 || !record || !crash_dir_enter())
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%d\n", argc);
	status = crash_run_logged(run_work, NULL);
	if (status == 0)
		status = crash_run(run_check, NULL);
	printf("%s 1 - without a kill\n", status == 0 ? "ok" : "not ok");
	failed += status != 0;
	for (int i = 1; i < argc; i++) {
		bool good = try_name(argv[i], getenv("TT_LONG") != NULL);

		printf("%s %d - killed at %s\n", good ? "ok" : "not ok", i + 1, argv[i]);
		failed += !good;
	}
	if (!crash_dir_leave())
		return 2;
	return failed ? 1 : 0;
}
