/* SPDX-License-Identifier: Apache-2.0 */
/* Rows filled in place: whatever gaps a row has and however many are published at once, gaps
 * are zeroed, or left when the caller promised so, and nothing else is touched. */
#include "ring_help.h"

#include "ticktail/file.h"

struct padded {
	const char *descr; /* a row of 16 bytes, the first 8 a number */
	unsigned zeroed;   /* a bit for each of its bytes that is padding */
};
static const struct padded padded[] = {
	{ "[('a', '<i8'), ('b', '<i8')]", 0 },
	{ "[('a', '<i8'), ('b', 'u1'), ('', '|V7')]", 0xfe00 },
	{ "[('a', '<i8'), ('b', '<i4'), ('', '|V4')]", 0xf000 },
	{ "[('a', '<i8'), ('b', '|S5'), ('', '|V3')]", 0xe000 },
	{ "[('a', '<i8'), ('b', 'u1'), ('', '|V3'), ('c', '<i2'), ('', '|V2')]", 0xce00 },
};
enum { PADDED_STEPS = 40, PADDED_ROW = 16 };

/* So many rows are reserved at step i, and so many of them published. */
static uint64_t padded_count(int i)
{
	static const uint64_t counts[] = { 1, 1, 3, 1, 2, 1 };

	return counts[i % 6];
}

static void fill_padded(unsigned char *to, uint64_t count, int64_t *next)
{
	memset(to, 0xAB, count * PADDED_ROW);
	for (uint64_t i = 0; i < count; i++, ++*next)
		memcpy(to + i * PADDED_ROW, next, 8);
}

static void check_padded(const unsigned char *row, int64_t number, unsigned zeroed)
{
	ck_assert_mem_eq(row, &number, 8);
	for (int i = 8; i < PADDED_ROW; i++)
		ck_assert_int_eq(row[i], zeroed >> i & 1 ? 0 : 0xAB);
}

static struct tt_dtype *padded_dtype(const struct padded *what)
{
	struct tt_dtype *dtype = NULL;

	OK(tt_dtype_parse(&dtype, what->descr, strlen(what->descr), false, &err));
	return dtype;
}

static void fill_a_ring(const struct padded *what, bool clean)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_ring_writer_opts how = TT_RING_WRITER_OPTS_INIT;
	struct tt_dtype *dtype = padded_dtype(what);
	struct tt_ring_writer *writer;
	struct tt_ring_reader *reader;
	int64_t next = 0, seen = 0;
	struct tt_view view;

	opts.capacity = 16;
	opts.keep = 9;
	OK(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	how.clean_rows = clean;
	OK(tt_ring_writer_open(&writer, "r", &how, &err));
	for (int i = 0; i < PADDED_STEPS; i++) {
		uint64_t count = padded_count(i), got;
		unsigned char *to = tt_ring_reserve(writer, count + i % 2, &got, &err);

		ck_assert_ptr_nonnull(to);
		count = got < count ? got : count;
		fill_padded(to, count, &next);
		ck_assert_int_eq(tt_ring_publish(writer, got + 1), TT_E_MISUSE);
		ck_assert_int_eq(tt_ring_publish(writer, count), TT_OK);
	}
	reader = open_reader("r");
	while (tt_ring_read(reader, 99, 0, &view, NULL, &err) == 1)
		for (uint64_t i = 0; i < view.count; i++)
			check_padded((const unsigned char *)view.rows + i * PADDED_ROW,
				     seen++, clean ? 0 : what->zeroed);
	ck_assert_int_eq(seen, next);
	tt_ring_reader_close(reader);
	tt_ring_writer_close(writer);
}

static void fill_a_file(const struct padded *what, bool clean)
{
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct tt_file_open_opts how = TT_FILE_OPEN_OPTS_INIT;
	struct tt_dtype *dtype = padded_dtype(what);
	struct tt_file *file;
	int64_t next = 0;

	opts.capacity = 3 * PADDED_STEPS;
	OK(tt_file_create("a.npy", dtype, &opts, &err));
	tt_dtype_unref(dtype);
	how.access = TT_WRITE;
	how.clean_rows = clean;
	OK(tt_file_open(&file, "a.npy", &how, &err));
	for (int i = 0; i < PADDED_STEPS; i++) {
		uint64_t count = padded_count(i);
		unsigned char *to = tt_file_reserve(file, count);

		ck_assert_ptr_nonnull(to);
		fill_padded(to, count, &next);
		ck_assert_int_eq(tt_file_publish(file, count), TT_OK);
	}
	ck_assert_uint_eq(tt_file_size(file), (uint64_t)next);
	for (int64_t i = 0; i < next; i++)
		check_padded(tt_file_at(file, (uint64_t)i), i, clean ? 0 : what->zeroed);
	tt_file_close(file);
}

START_TEST(padding_of_reserved_rows_is_zeroed_in_a_ring)
{
	fill_a_ring(&padded[_i / 2], _i % 2);
}
END_TEST

START_TEST(padding_of_reserved_rows_is_zeroed_in_a_file)
{
	fill_a_file(&padded[_i / 2], _i % 2);
}
END_TEST

static void add_tests(TCase *tcase)
{
	int kinds = (int)(sizeof(padded) / sizeof(padded[0]));

	tcase_add_loop_test(tcase, padding_of_reserved_rows_is_zeroed_in_a_ring, 0,
			    2 * kinds);
	tcase_add_loop_test(tcase, padding_of_reserved_rows_is_zeroed_in_a_file, 0,
			    2 * kinds);
}

int main(void)
{
	return run_suite(&(struct suite){ .name = "padding",
					  .enter = make_work_dir,
					  .leave = drop_work_dir,
					  .add = add_tests });
}
