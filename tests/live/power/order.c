/* SPDX-License-Identifier: Apache-2.0 */
/* What is synced before what: the calls that each operation makes, in their order.  A sync that
 * comes late is a loss that waits for a power cut; the power-loss test finds it by chance, this
 * one by name. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/mp.h"
#include "lib/tmpdir.h"
#include "live/power/model.h"
#include "base/clock.h"
#include "ticktail/ring.h"
#include "ticktail/status.h"

#include <check.h>

#define END ((const char *)NULL)

static struct tt_error err;

#define GOOD(call) \
	do { \
		int good_rc = (call); \
		ck_assert_msg(good_rc >= 0, "%s: %s", #call, err.text); \
	} while (0)

/* Fails unless the trace has these lines in this order; others may come between. */
static void in_order(const char *first, ...)
{
	const char *at = model_trace();
	va_list ap;

	va_start(ap, first);
	for (const char *line = first; line; line = va_arg(ap, const char *)) {
		char wanted[256];
		const char *found;

		snprintf(wanted, sizeof(wanted), "%s\n", line);
		for (found = strstr(at, wanted);
		     found && found != model_trace() && found[-1] != '\n';
		     found = strstr(found + 1, wanted))
			;
		ck_assert_msg(found, "no \"%s\" at its place in:\n%s", line,
			      model_trace());
		at = found + strlen(wanted);
	}
	va_end(ap);
}

static void put(struct tt_ring_writer *writer, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		GOOD(tt_ring_append(writer, &i, 1, NULL, &err));
}

static struct tt_dtype *dtype_new(void)
{
	struct tt_dtype *dtype = NULL;

	GOOD(tt_dtype_parse(&dtype, "i8", 2, false, &err));
	return dtype;
}

static void create(int64_t sync_ms)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = dtype_new();

	opts.capacity = 8;
	opts.keep = 2;
	opts.exact = true;
	opts.sync_ms = sync_ms;
	GOOD(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
}

static struct tt_ring_writer *open_with(bool helped)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer = NULL;

	opts.no_helper = !helped;
	GOOD(tt_ring_writer_open(&writer, "r", &opts, &err));
	return writer;
}

static struct tt_ring_writer *open_writer(void)
{
	return open_with(false);
}

static void boot(unsigned number)
{
	FILE *file = fopen("boot_id", "w");

	ck_assert_ptr_nonnull(file);
	fprintf(file, "%08x-7469-4063-8b6b-74616964b007\n", number);
	fclose(file);
	model_boot("boot_id");
}

static void setup(void)
{
	tmpdir_enter();
	boot(1);
	model_start(".", 1);
	model_trace_begin();
}

START_TEST(a_ring_is_on_disk_before_it_has_its_name)
{
	create(TT_SYNC_DEFAULT);
	in_order("fsync 1.npy", "fsync .lock", "fsync .ticktail.new", "link .ticktail",
		 END);
	in_order("link .ticktail", "fsync .r.new", "ring.site.before_rename",
		 "rename .r.new r", "ring.site.renamed", "fsync .", END);
}
END_TEST

START_TEST(rows_are_on_disk_before_their_mark)
{
	struct tt_ring_writer *writer;

	create(TT_SYNC_EACH);
	writer = open_writer();
	model_trace_begin();
	put(writer, 1);
	in_order("ring.append.published", "fdatasync 1.npy", "ring.mark.before_store",
		 "pwrite .ticktail", "fdatasync .ticktail", "ring.mark.synced", END);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(a_new_file_is_on_disk_before_the_manifest_names_it)
{
	struct tt_ring_writer *writer;

	create(TT_SYNC_DEFAULT);
	writer = open_writer();
	put(writer, 3);
	model_trace_begin();
	GOOD(tt_ring_roll(writer, &err));
	tt_ring_writer_close(writer);
	in_order("pwrite .next", "fsync .next", "rename .next 1.npy",
		 "ring.manifest.named", END);
	in_order("ring.entry.filled", "ring.manifest.named", END);
	in_order("ring.manifest.named", "fdatasync .lock", END);
}
END_TEST

/* The helper makes the file, syncs it and only then hands it over; the roll renames it. */
START_TEST(a_prepared_file_is_on_disk_before_it_is_taken)
{
	struct tt_ring_writer *writer;
	int64_t deadline = tti_deadline_ns(INT64_C(20000000000));

	create(TT_SYNC_DEFAULT);
	writer = open_with(true);
	model_trace_begin();
	put(writer, 3);
	GOOD(tt_ring_sync(writer, &err)); /* files are numbered as they are met */
	for (;;) {
		struct tt_ring_status status;
		uint64_t prepared;

		GOOD(tt_ring_status("r", &status, &err));
		prepared = status.prepared;
		tt_ring_status_free(&status);
		if (prepared == 1)
			break;
		ck_assert_int_lt(tti_clock_monotonic_ns(), deadline);
		usleep(500);
	}
	put(writer, 6); /* rolls */
	GOOD(tt_ring_sync(writer, &err));
	in_order("pwrite .next", "fsync .next", "ring.prepare.done", "rename .next 2.npy",
		 "ring.manifest.named", END);
	in_order("ring.manifest.named", "fsync r", "fdatasync .lock",
		 "ring.mark.before_store", END);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(a_mark_of_a_new_file_comes_after_its_names)
{
	struct tt_ring_writer *writer;

	create(TT_SYNC_DEFAULT);
	writer = open_writer();
	put(writer, 8);
	model_trace_begin();
	put(writer, 2); /* rolls */
	GOOD(tt_ring_sync(writer, &err));
	in_order("ring.manifest.named", "fdatasync .lock", "ring.mark.before_store", END);
	in_order("ring.manifest.named", "fsync r", "ring.mark.before_store", END);
	tt_ring_writer_close(writer);
}
END_TEST

START_TEST(settings_are_stored_and_synced)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;

	create(TT_SYNC_DEFAULT);
	model_trace_begin();
	opts.keep = 4;
	GOOD(tt_ring_set("r", &opts, &err));
	in_order("ring.set.before_store", "pwrite .ticktail", "fdatasync .ticktail", END);
}
END_TEST

START_TEST(a_merge_syncs_each_step)
{
	struct tt_ring_writer *writer;

	create(TT_SYNC_DEFAULT);
	writer = open_writer();
	put(writer, 30);
	tt_ring_writer_close(writer);
	model_trace_begin();
	GOOD(tt_ring_merge("r", 0, NULL, NULL, NULL, &err));
	in_order("fsync .merge", "ring.merge.entry", "fdatasync .ticktail",
		 "rename .merge 1.npy_", "fsync r", "ring.merge.unlink", "unlink 1.npy",
		 END);
}
END_TEST

/* Goes down with the machine: no close. */
static int feed_and_die(void *arg)
{
	struct tt_ring_writer *writer;

	(void)arg;
	create(3600000);
	writer = open_writer();
	put(writer, 2);
	GOOD(tt_ring_sync(writer, &err));
	put(writer, 3);
	_exit(0);
}

START_TEST(what_is_cut_is_kept_and_entered_before_rows_go_on)
{
	ck_assert_int_eq(mp_wait(mp_spawn(feed_and_die, NULL), 30), 0);
	boot(2);
	model_start(".", 1);
	model_trace_begin();
	tt_ring_writer_close(open_writer());
	in_order("fsync .cut.tmp", "rename .cut.tmp 1.npy.cut", "fsync r",
		 "ring.reboot.newer_entered", "fdatasync .ticktail",
		 "ring.reboot.newer_synced", "ring.reboot.entered", "fdatasync .ticktail",
		 "ring.reboot.cut", "fsync .next", "rename .next 2.npy", "fsync r",
		 "ring.reboot.made", "fdatasync .ticktail", "ring.manifest.named",
		 "ring.reboot.named", "fdatasync .lock", END);
	in_order("ring.manifest.named", "fdatasync .lock", "ring.reboot.lowered",
		 "fdatasync 1.npy", END);
}
END_TEST

START_TEST(a_file_is_on_disk_before_it_has_its_name)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = dtype_new();

	opts.capacity = 8;
	GOOD(tt_file_create("a.npy", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	in_order("fsync nameless", "file.create.before_link", "link a.npy",
		 "file.create.linked", "fsync .", END);
	model_trace_begin();
	GOOD(tt_file_resize("a.npy", 100, &err));
	in_order("file.copy.filled", "fsync copy", "file.copy.before_superseded",
		 "rename copy a.npy", "file.copy.renamed", "fsync .", END);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("order");
	TCase *tc = tcase_create("order");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, tmpdir_leave);
	tcase_add_test(tc, a_ring_is_on_disk_before_it_has_its_name);
	tcase_add_test(tc, rows_are_on_disk_before_their_mark);
	tcase_add_test(tc, a_new_file_is_on_disk_before_the_manifest_names_it);
	tcase_add_test(tc, a_prepared_file_is_on_disk_before_it_is_taken);
	tcase_add_test(tc, a_mark_of_a_new_file_comes_after_its_names);
	tcase_add_test(tc, settings_are_stored_and_synced);
	tcase_add_test(tc, a_merge_syncs_each_step);
	tcase_add_test(tc, what_is_cut_is_kept_and_entered_before_rows_go_on);
	tcase_add_test(tc, a_file_is_on_disk_before_it_has_its_name);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
