/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of recovering rings share: a ring of known rows, recovering it, and looking that
 * verify finds nothing, a writer repairs nothing and a second recovery does nothing. */
#ifndef RECOVER_RING_HELP_H
#define RECOVER_RING_HELP_H

#include "recover_help.h"

#define FILES 6
#define RING_ROWS (FILES * CAPACITY - 10)

static struct tt_ring_info before;
/* The settings file was hit: with the marks lost and a last store that seems to be of another
 * boot, rows stay unproven until somebody chooses to cut or a writer goes on. */
static bool may_doubt;

static inline bool is_doubt(const char *what)
{
	return may_doubt && strncmp(what, "unproven after a reboot", 23) == 0;
}

/* Files 0 and 1 left the queue, 2 to 4 are sealed, 5 takes rows. */
static inline void make_ring(void)
{
	struct tt_ring_writer *writer;

	create_ring("r", CAPACITY, 4);
	writer = open_writer("r");
	put_rows(writer, 1, RING_ROWS);
	tt_ring_writer_close(writer);
	before = ring_info("r");
	ck_assert_uint_eq(before.file_count, FILES);
}

static inline const char *file_path(size_t i)
{
	static char path[96];

	snprintf(path, sizeof(path), "r/%s", before.files[i].file_name);
	return path;
}

static inline void tell(void *ctx, const struct tt_damage *damage)
{
	(void)ctx;
	printf("# %s: %s\n", damage->path, damage->what);
	fflush(stdout);
}

static inline void ring_is_clean(void)
{
	uint64_t found = 99;

	OK(tt_ring_verify("r", tell, NULL, &found, &err));
	ck_assert_uint_eq(found, 0);
}

static inline void print_report(const char *when)
{
	for (size_t i = 0; i < report.item_count; i++)
		printf("# %s: %s: %s (kept %" PRIu64 ", lost %" PRIu64 ")\n", when,
		       report.items[i].path, report.items[i].what,
		       report.items[i].rows_kept, report.items[i].rows_lost);
	fflush(stdout);
}

/* Places ascend, each comes at most once; seen[i] says whether row i came (random damage may
 * have changed a row's number to another one's).  The number lost. */
static inline uint64_t read_ring(bool seen[RING_ROWS])
{
	struct tt_pos pos, last = { 0, 0 };
	struct tt_ring_reader *reader = open_reader("r");
	struct tt_view view;
	uint64_t lost;
	int rc;

	memset(seen, 0, RING_ROWS);
	while ((rc = tt_ring_read(reader, 1000, 0, &view, &pos, &err)) == 1) {
		ck_assert(pos.file > last.file ||
			  (pos.file == last.file && pos.row >= last.row));
		last = (struct tt_pos){ pos.file, pos.row + view.count };
		for (uint64_t i = 0; i < view.count; i++) {
			int64_t number = ((const struct row *)view.rows)[i].number;

			if (number > 0 && number <= RING_ROWS)
				seen[number - 1] = true;
		}
	}
	ck_assert_msg(rc == 0, "%s", err.text);
	lost = tt_ring_reader_lost(reader);
	tt_ring_reader_close(reader);
	return lost;
}

static inline void ring_goes_on(void)
{
	struct tt_ring_writer *writer = open_writer("r");
	struct tt_ring_reader *reader;
	struct tt_view view;

	if (!is_doubt(tt_ring_writer_repaired(writer)))
		ck_assert_str_eq(tt_ring_writer_repaired(writer), "");
	reader = open_reader("r");
	OK(tt_ring_seek_last(reader, &err));
	put_rows(writer, RING_ROWS + 1, 100);
	for (int64_t next = RING_ROWS + 1; next <= RING_ROWS + 100;) {
		ck_assert_msg(tt_ring_read(reader, 1000, 0, &view, NULL, &err) == 1, "%s",
			      err.text);
		for (uint64_t i = 0; i < view.count; i++)
			ck_assert_int_eq(((const struct row *)view.rows)[i].number,
					 next++);
	}
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}

static inline void lose_settings(void)
{
	ck_assert_int_eq(unlink("r/.ticktail"), 0);
}
static inline void zero_settings(void)
{
	zero("r/.ticktail", 0, (size_t)size_of("r/.ticktail"));
}
static inline void settings_header(void)
{
	poke("r/.ticktail", 3, "?", 1);
}
static inline void settings_copy(void)
{
	poke("r/.ticktail", 0x230, "?", 1);
}
static inline void settings_dirt(void)
{
	poke("r/.ticktail", 0x900, "?", 1);
}
static inline void settings_words(void)
{
	poke("r/.ticktail", 0x1080, "????????", 8);
}
static inline void settings_marks(void)
{
	poke("r/.ticktail", 0x2000, "????????", 8);
}
static inline void cut_settings(void)
{
	cut_to("r/.ticktail", 0x5000 + 150);
}
static inline void entry_word(unsigned entry, unsigned word, uint64_t value)
{
	poke("r/.ticktail", 0x5000 + 128 * entry + 8 * word, &value, 8);
}
static inline void entry_rows(void)
{
	entry_word(2, 2, 9);
}
static inline void entry_rows_huge(void)
{
	entry_word(2, 2, UINT64_MAX - 1);
}
static inline void entry_base(void)
{
	entry_word(2, 8, UINT64_C(1) << 40);
}
static inline void entry_base_low(void)
{
	entry_word(3, 8, 1);
}
static inline void entry_claim(void)
{
	entry_word(1, 9, 0);
}
static inline void entry_merged(void)
{
	entry_word(1, 6, 12345);
}
static inline void entry_twice(void)
{
	char entry[128];
	int fd = open("r/.ticktail", O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(pread(fd, entry, 128, 0x5000 + 128), 128);
	ck_assert_int_eq(pwrite(fd, entry, 128, 0x5000 + 20 * 128), 128);
	close(fd);
}
static inline void leftovers(void)
{
	write_file("r/.next", "half", 4);
	write_file("r/.merge", "half", 4);
	write_file("r/.ticktail.new", "half", 4);
	write_file("r/.ticktail-1a2b.new", "half", 4);
}

static inline void recover_ring(const char *when)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;
	struct tt_dtype *dtype = row_dtype();

	opts.dtype = dtype;
	OK(tt_ring_recover("r", &opts, &report, &err));
	print_report(when);
	ck_assert_uint_eq(report.left, 0);
	tt_recover_report_free(&report);
	ring_is_clean();
	OK(tt_ring_recover("r", &opts, &report, &err));
	print_report("again");
	for (size_t i = 0; i < report.item_count; i++)
		ck_assert(is_doubt(report.items[i].what));
	tt_recover_report_free(&report);
	ring_is_clean();
	tt_dtype_unref(dtype);
}

#endif
