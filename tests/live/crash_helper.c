/* SPDX-License-Identifier: Apache-2.0 */
/* Kills a process whose writer has its two threads at every failpoint that only such a writer
 * passes; all rows whose append had returned are there, and the next writer just works.
 *
 * usage: crash_helper NAME... */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "live/crash_help.h"
#include "live/ring_writer.h"

#define DEADLINE_NS INT64_C(60000000000)

struct row {
	int64_t number;
	double value;
};

static struct record {
	int64_t acked, attempted;
} * record;
static struct tt_error err;

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "# %s: %s\n", what, err.text);
	_exit(2);
}

#define OK(call) need((call) >= 0, #call)

static void put(struct tt_ring_writer *writer, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		const struct row row = { record->acked, 0 };

		record->attempted = record->acked + 1;
		OK(tt_ring_append(writer, &row, 1, NULL, &err));
		record->acked++;
	}
}

static void put_in_place(struct tt_ring_writer *writer)
{
	uint64_t got;
	struct row *row = tt_ring_reserve(writer, 1, &got, &err);

	need(row != NULL, "reserve");
	row->number = record->acked;
	record->attempted = record->acked + 1;
	OK(tt_ring_publish(writer, 1));
	record->acked++;
}

/* Longer than a name stays that no roll uses. */
#define QUIET_US 1200000

/* One life of a writer: rows, a roll with the file made ahead, a seal asked for while nothing
 * comes; quiet: nothing comes for a while. */
static void live_once(bool quiet)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer;

	opts.wake_us = 100;
	OK(tt_ring_writer_open(&writer, "r", &opts, &err));
	for (int i = 0; i < 5; i++) {
		put(writer, 7);
		put_in_place(writer);
		usleep(500);
	}
	tti_request_add(tti_ring_words(&writer->ring));
	usleep(3000);
	put(writer, 3);
	usleep(quiet ? QUIET_US : 1000);
	OK(tt_ring_writer_close(writer));
}

/* Again and again: what a thread passes when is not the same twice. */
static int work(void *unused)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = NULL;
	int64_t until = tti_clock_monotonic_ns() + DEADLINE_NS;

	(void)unused;
	opts.capacity = 16;
	opts.keep = 3;
	opts.exact = true;
	opts.sync_ms = 1;
	OK(tt_dtype_parse(&dtype, "number:i8,value:f8", 18, false, &err));
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	for (unsigned lives = 1; tti_clock_monotonic_ns() < until; lives++)
		live_once(lives % 3 == 0);
	return 1;
}

static int64_t read_all(void)
{
	struct tt_ring_reader *reader = NULL;
	struct tt_view view;
	int64_t next = 0;
	int rc;

	OK(tt_ring_reader_open(&reader, "r", NULL, &err));
	while ((rc = tt_ring_read(reader, 100, 0, &view, NULL, &err)) == 1)
		for (uint64_t i = 0; i < view.count; i++)
			need(((const struct row *)view.rows)[i].number == next++,
			     "rows are in order");
	need(rc == 0, "read");
	tt_ring_reader_close(reader);
	return next;
}

static int check(void *unused)
{
	struct tt_ring_writer *writer;
	uint64_t found = 1;

	(void)unused;
	need(read_all() >= record->acked, "every row whose append returned is there");
	need(read_all() <= record->attempted, "no row is there that was not given");
	OK(tt_ring_writer_open(&writer, "r", NULL, &err));
	record->acked = read_all();
	put(writer, 40);
	OK(tt_ring_writer_close(writer));
	need(read_all() == record->acked, "new rows follow");
	need(access("r/.next", F_OK) != 0, "nothing is left behind");
	OK(tt_ring_verify("r", NULL, NULL, &found, &err));
	need(found == 0, "verify");
	return 0;
}

static bool survives(const char *name)
{
	int status;

	need(system("rm -rf r") == 0, "rm");
	*record = (struct record){ 0 };
	if (!crash_kill(work, NULL, name, 1))
		return false;
	status = crash_run(check, NULL);
	if (status != 0)
		printf("# %s: check ended with status %d\n", name, status);
	return status == 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	record = crash_record(sizeof(*record));
	if (argc < 2 || !record || !crash_dir_enter())
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++) {
		bool good = survives(argv[i]);

		printf("%s %d - killed at %s\n", good ? "ok" : "not ok", i, argv[i]);
		failed += !good;
	}
	if (!crash_dir_leave())
		return 2;
	return failed ? 1 : 0;
}
