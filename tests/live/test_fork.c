/* SPDX-License-Identifier: Apache-2.0 */
/* A child of a fork that closes what its parent opened, as destructors do.  The fork leaves the
 * mappings out, and the child may have something of its own where they were by then. */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "helper_help.h"
#include "lib/mp.h"
#include "ticktail/status.h"

enum { MAX_RANGES = 64, ROWS = 100, FILLED = 0xa5 };

struct range {
	unsigned char *from;
	size_t bytes;
};

/* What this process has mapped of the files in this directory. */
static size_t mapped_files(struct range ranges[MAX_RANGES])
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *here = getcwd(NULL, 0), line[5000];
	size_t count = 0;

	ck_assert_ptr_nonnull(maps);
	ck_assert_ptr_nonnull(here);
	while (fgets(line, sizeof(line), maps)) {
		uintptr_t from, to;

		if (!strstr(line, here) ||
		    sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2)
			continue;
		ck_assert_uint_lt(count, MAX_RANGES);
		ranges[count++] = (struct range){ (unsigned char *)from, to - from };
	}
	free(here);
	ck_assert_int_eq(fclose(maps), 0);
	return count;
}

static int fill(const struct range *range)
{
	void *at = mmap(range->from, range->bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at != range->from)
		return 1;
	memset(at, FILLED, range->bytes);
	return 0;
}

static int is_filled(const struct range *range)
{
	for (size_t i = 0; i < range->bytes; i++)
		if (range->from[i] != FILLED)
			return 0;
	return 1;
}

struct handles {
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	struct tt_file *file, *file_reader;
};

static void close_all(struct handles *handles)
{
	tt_ring_writer_close(handles->writer);
	tt_ring_reader_close(handles->reader);
	tt_file_close(handles->file);
	tt_file_close(handles->file_reader);
}

/* 0 all is as it was; 1 the mappings are here as well; 2 something was overwritten.  What was
 * unmapped kills. */
static int close_in_child(struct handles *handles, const struct range *ranges,
			  size_t count)
{
	signal(SIGALRM, SIG_DFL); /* check's own kills the test without a word */
	alarm(20);
	for (size_t i = 0; i < count; i++)
		if (fill(&ranges[i]))
			return 1;
	close_all(handles);
	for (size_t i = 0; i < count; i++)
		if (!is_filled(&ranges[i]))
			return 2;
	return 0;
}

static struct tt_file *open_file(enum tt_access access)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *file = NULL;

	opts.access = access;
	OK(tt_file_open(&file, "f.npy", &opts, &err));
	return file;
}

static void open_all(struct handles *handles)
{
	struct tt_file_create_opts create = TT_FILE_CREATE_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();
	const struct row row = { 1, 2 };
	int64_t next = 0;

	create_ring("r", ROWS, 3);
	handles->writer = open_with("r", TT_SYNC_NONE, 250);
	put_rows(handles->writer, 0, 2 * ROWS + 1);
	UNTIL(has_next(handles->writer));
	handles->reader = open_reader("r");
	OK(tt_ring_reader_register(handles->reader, "desk", &err));
	take_rows(handles->reader, &next);
	create.capacity = ROWS;
	OK(tt_file_create("f.npy", dtype, &create, &err));
	tt_dtype_unref(dtype);
	handles->file = open_file(TT_WRITE);
	ck_assert_int_eq(tt_file_append(handles->file, &row, 1), TT_OK);
	/* grown by a copy: it keeps the old mapping */
	OK(tt_file_grow(handles->file, 100000, &err));
	ck_assert_int_eq(tt_file_append(handles->file, &row, 1), TT_OK);
	handles->file_reader = open_file(TT_READ);
}

START_TEST(a_child_keeps_what_it_has_where_mappings_were)
{
	struct range ranges[MAX_RANGES];
	struct handles handles;
	int64_t next = 2 * ROWS + 1;
	size_t count;
	int status;
	pid_t child;

	if (!mp_dontfork_works()) {
		printf("# SKIP mappings are inherited here whatever they ask for\n");
		return;
	}
	open_all(&handles);
	tti_pulse_pause(
		true); /* a sanitizer forks with its allocator's locks as they are */
	tti_helper_pause(true);
	tti_crew_pass();
	count = mapped_files(ranges);
	ck_assert_uint_ge(count, 8);
	child = fork();
	if (child == 0)
		_exit(close_in_child(&handles, ranges, count));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	tti_pulse_pause(false);
	tti_helper_pause(false);
	/* and the parent goes on */
	put_rows(handles.writer, next, ROWS);
	take_rows(handles.reader, &next);
	ck_assert_int_eq(next, 3 * ROWS + 1);
	ck_assert_uint_eq(tt_file_size(handles.file_reader), 2);
	close_all(&handles);
	ck_assert_uint_eq(mapped_files(ranges), 0);
	check_rows("r", 3 * ROWS + 1);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_child_keeps_what_it_has_where_mappings_were,
	};

	return ring_suite("fork", tests, sizeof(tests) / sizeof(tests[0]));
}
