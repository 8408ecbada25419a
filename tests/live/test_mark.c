/* SPDX-License-Identifier: Apache-2.0 */
/* Marks: what is known to be on disk, in its two slots. */
#include "age_mark.h"
#include "ring_help.h"

#include "base/boot.h"
#include "base/crc32c.h"
#include "live/ring_mark.h"

START_TEST(boot_id_is_told)
{
	uint8_t id[TTI_BOOT_ID_BYTES], again[TTI_BOOT_ID_BYTES];

	if (access("/proc/sys/kernel/random/boot_id", R_OK) < 0)
		return;
	ck_assert_int_eq(tti_boot_id(id), TT_OK);
	ck_assert_int_eq(tti_boot_id(again), TT_OK);
	ck_assert_mem_eq(id, again, sizeof(id));
	ck_assert(!tti_boot_is_zero(id));
}
END_TEST

START_TEST(checksums_agree)
{
	uint8_t bytes[300];

	ck_assert_uint_eq(tti_crc32c(0, "123456789", 9), 0xE3069283);
	ck_assert_uint_eq(tti_crc32c_table(0, "123456789", 9), 0xE3069283);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37 + 11);
	for (size_t from = 0; from < 16; from++)
		for (size_t n = 0; n + from <= sizeof(bytes); n++) {
			uint32_t whole = tti_crc32c(0, bytes + from, n);

			ck_assert_uint_eq(whole, tti_crc32c_table(0, bytes + from, n));
			ck_assert_uint_eq(whole,
					  tti_crc32c(tti_crc32c(0, bytes + from, n / 3),
						     bytes + from + n / 3, n - n / 3));
		}
}
END_TEST

static struct tti_ring ring;
static struct tti_live live;
static uint64_t name;

static void open_newest(void)
{
	OK(tti_ring_open(&ring, "r", true, &err));
	name = tti_ring_newest(&ring);
	OK(tti_ring_open_writable(&ring, name, &live, &err));
}

static void close_newest(void)
{
	tti_live_close(&live);
	tti_ring_close(&ring);
}

static void fill(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct row *row = (struct row *)(void *)live.rows + live.end;

		*row = (struct row){ (int64_t)live.end, 0.5 };
		OK(tti_live_publish(&live, live.end + 1));
	}
}

static struct tti_mark loaded(void)
{
	struct tti_mark mark = { 0 };

	ck_assert_int_eq(tti_ring_mark_load(&ring, &mark), 1);
	return mark;
}

static uint32_t crc_of(uint64_t from, uint64_t end)
{
	uint32_t crc = 0;

	OK(tti_rows_crc_of(&live, from, end, &crc, &err));
	return crc;
}

START_TEST(marks_alternate)
{
	struct tti_ring_marker marker;
	struct tti_mark mark;
	uint8_t junk[64];

	create_ring("r", 100, 3);
	open_newest();
	ck_assert_int_eq(tti_ring_mark_load(&ring, &mark), 0);
	OK(tti_ring_marker_init(&marker, &ring, &err));
	for (uint64_t i = 1; i <= 5; i++) {
		fill(7);
		OK(tti_ring_mark(&ring, &marker, &live, (struct tt_pos){ name, live.end },
				 &err));
		mark = loaded();
		ck_assert_uint_eq(mark.sequence, i + 1);
		ck_assert_uint_eq(mark.file, name);
		ck_assert_uint_eq(mark.from, 0);
		ck_assert_uint_eq(mark.end, 7 * i);
		ck_assert_uint_eq(mark.rows_crc, crc_of(0, 7 * i));
		ck_assert_int_eq(tti_mark_age(&mark), TTI_MARK_NOW);
	}
	/* the newest one torn: the one before counts */
	memset(junk, 0xee, sizeof(junk));
	OK(tti_pwrite_all(ring.set_fd, junk, 32, TTI_MARKS_OFF + 6 % 2 * 0x200 + 8));
	ck_assert_uint_eq(loaded().sequence, 5);
	ck_assert_uint_eq(loaded().end, 28);
	/* and is not what the next one goes over */
	OK(tti_ring_marker_init(&marker, &ring, &err));
	OK(tti_ring_mark(&ring, &marker, &live, (struct tt_pos){ name, live.end }, &err));
	ck_assert_uint_eq(loaded().sequence, 6);
	ck_assert_uint_eq(loaded().rows_crc, crc_of(0, 35));
	close_newest();
}
END_TEST

START_TEST(changes_take_the_checksum_back)
{
	struct tti_ring_marker marker;
	struct tti_mark mark;

	create_ring("r", 100, 3);
	open_newest();
	OK(tti_ring_marker_init(&marker, &ring, &err));
	fill(10);
	OK(tti_ring_mark(&ring, &marker, &live, (struct tt_pos){ name, 8 }, &err));
	OK(tti_ring_mark_changing(&ring, name, 8, &err)); /* not covered */
	ck_assert_uint_eq(loaded().sequence, 2);
	OK(tti_ring_mark_changing(&ring, name + 1, 2, &err)); /* another file */
	ck_assert_uint_eq(loaded().sequence, 2);
	OK(tti_ring_mark_changing(&ring, name, 7, &err));
	mark = loaded();
	ck_assert_uint_eq(mark.sequence, 3);
	ck_assert_uint_eq(mark.from, 8);
	ck_assert_uint_eq(mark.end, 8);
	OK(tti_ring_mark_changing(&ring, name, 7, &err)); /* nothing is left to take */
	ck_assert_uint_eq(loaded().sequence, 3);
	close_newest();
}
END_TEST

START_TEST(foreign_stamps_are_not_covered)
{
	struct tti_ring_marker marker;

	create_ring("r", 100, 3);
	open_newest();
	OK(tti_ring_marker_init(&marker, &ring, &err));
	fill(10);
	tti_word_store(live.tail, 2, 0x1234567890abcdefu); /* as npyt's update does */
	OK(tti_ring_mark(&ring, &marker, &live, (struct tt_pos){ name, 10 }, &err));
	ck_assert_uint_eq(loaded().from, 10);
	ck_assert_uint_eq(loaded().end, 10);
	tti_word_store(live.tail, 2, 0x1234567890ac0000u);
	fill(5);
	OK(tti_ring_mark(&ring, &marker, &live, (struct tt_pos){ name, 15 }, &err));
	ck_assert_uint_eq(loaded().from, 10);
	ck_assert_uint_eq(loaded().rows_crc, crc_of(10, 15));
	close_newest();
}
END_TEST

START_TEST(ages)
{
	struct tti_ring_marker marker;
	struct tti_mark mark;

	create_ring("r", 100, 3);
	open_newest();
	OK(tti_ring_marker_init(&marker, &ring, &err));
	fill(3);
	OK(tti_ring_mark(&ring, &marker, &live, (struct tt_pos){ name, 2 }, &err));
	OK(tti_ring_mark(&ring, &marker, &live, (struct tt_pos){ name, 3 }, &err));
	ck_assert_int_eq(age_ring("r"), 2);
	mark = loaded();
	ck_assert_int_eq(tti_mark_age(&mark), TTI_MARK_OLD);
	ck_assert_uint_eq(mark.end, 3);
	OK(tti_ring_mark_none(&ring, &marker, &err));
	mark = loaded();
	ck_assert_int_eq(tti_mark_age(&mark), TTI_MARK_NOW);
	ck_assert_uint_eq(mark.file, 0);
	OK(tti_ring_mark_closed(&ring, &marker, &live, (struct tt_pos){ name, 3 }, &err));
	mark = loaded();
	ck_assert_int_eq(tti_mark_age(&mark), TTI_MARK_CLOSED);
	ck_assert_uint_eq(mark.end, 3);
	close_newest();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		boot_id_is_told,
		checksums_agree,
		marks_alternate,
		changes_take_the_checksum_back,
		foreign_stamps_are_not_covered,
		ages,
	};

	return ring_suite("marks", tests, TTI_LEN(tests));
}
