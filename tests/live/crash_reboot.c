/* SPDX-License-Identifier: Apache-2.0 */
/* Kills the recovery after a power loss at every failpoint that it passes, in several states
 * of the disk, and recovers again: in the same boot, and after one more power loss.
 *
 * usage: crash_reboot NAME...   the failpoints of the recovery; each must be passed */
#include "crash_suite.h"
#include "reboot_help.h"

static const char *const *wanted;
static int wanted_count;
static struct row odd = { -1, -1 };
static bool readable; /* before it was recovered */

static uint64_t newest(void)
{
	struct tt_ring_info info = ring_info("r");
	uint64_t name = info.files[info.file_count - 1].name;

	tt_ring_info_free(&info);
	return name;
}

/* ---- what the power loss left; each says how many rows were synced ---- */

static int64_t unsynced_tail(void)
{
	create_synced(8, 3);
	lose_power(0, 3, 2);
	return 3;
}

static int64_t newer_file(void)
{
	create_synced(8, 3);
	lose_power(0, 3, 10);
	return 8; /* the roll synced */
}

static int64_t file_missing(void)
{
	char path[128];

	create_synced(8, 3);
	lose_power(0, 0, 10);
	in_ring(path, newest(), "");
	ck_assert_int_eq(unlink(path), 0);
	return 8;
}

static int64_t file_not_named(void)
{
	create_synced(8, 3);
	lose_power(0, 0, 10);
	forget_entry(newest());
	unname_newest();
	return 8;
}

static int64_t file_torn(void)
{
	static const uint8_t zero[128];
	char path[128];

	create_synced(8, 3);
	lose_power(0, 0, 10);
	in_ring(path, newest(), "");
	put_bytes(path, zero, sizeof(zero), 0);
	return 8;
}

static int64_t rows_damaged(void)
{
	char path[128];

	create_synced(8, 3);
	lose_power(0, 12, 1);
	in_ring(path, newest(), "");
	put_bytes(path, &odd.value, 8, tail_at(path, 0) - 8 * 16 + 8);
	return 12; /* one of them is damaged */
}

static int64_t tail_behind(void)
{
	create_synced(8, 3);
	lose_power(0, 5, 0);
	set_end(newest(), 2);
	return 5;
}

static int64_t settings_damaged(void)
{
	create_synced(8, 3);
	lose_power(0, 3, 2);
	put_bytes("r/.ticktail", "junk", 4, 0);
	return 3;
}

typedef int64_t loss_fn(void);
static loss_fn *const losses[] = { unsynced_tail,  newer_file,	    file_missing,
				   file_not_named, file_torn,	    rows_damaged,
				   tail_behind,	   settings_damaged };
#define LOSSES ((int)(sizeof(losses) / sizeof(losses[0])))

/* ---- */

static void shell(const char *command)
{
	ck_assert_msg(system(command) == 0, "%s", command);
}

/* The next writer, which dies without closing. */
static int open_once(void *unused)
{
	(void)unused;
	open_alone("r");
	return 0;
}

static void recovers(int64_t synced, const char *where)
{
	struct tt_ring_writer *writer;
	uint64_t damage;

	if (readable) /* else only the next writer knows more than the files say */
		shows(synced);
	writer = open_writer("r");
	put_rows(writer, synced, 3);
	tt_ring_writer_close(writer);
	shows(synced + 3);
	damage = count_damage();
	ck_assert_msg(damage == 0, "%s: damage after recovery", where);
	ck_assert_int_ne(access("r/.cut.tmp", F_OK), 0);
}

static void kill_at(int64_t synced, const char *name, unsigned nth)
{
	char failpoint[96];

	snprintf(failpoint, sizeof(failpoint), "%s:%u", name, nth);
	for (int again = 0; again < 2; again++) {
		shell("rm -rf r && cp -a t r");
		ck_assert_msg(crash_kill(open_once, NULL, name, nth), "%s", failpoint);
		if (again)
			age_ring("r");
		recovers(synced, failpoint);
	}
}

START_TEST(killed_recoveries_are_done_again)
{
	struct crash_passage passed[CRASH_NAMES_MAX];
	int64_t synced = losses[_i]();
	size_t count;

	readable = losses[_i] != tail_behind && losses[_i] != settings_damaged;
	shell("rm -rf t && cp -a r t");
	ck_assert_int_eq(crash_run_logged(open_once, NULL), 0);
	count = crash_passed(passed);
	for (size_t i = 0; i < count; i++) {
		unsigned last = passed[i].count;

		kill_at(synced, passed[i].name, 1);
		if (last > 1)
			kill_at(synced, passed[i].name, last);
		for (unsigned n = 2; getenv("TT_LONG") && n < last; n++)
			kill_at(synced, passed[i].name, n);
	}
}
END_TEST

START_TEST(every_failpoint_is_passed)
{
	for (int i = 0; i < LOSSES; i++) {
		shell("rm -rf r");
		losses[i]();
		ck_assert_int_eq(crash_run_logged(open_once, NULL), 0);
	}
	crash_need_passed(wanted, wanted_count);
}
END_TEST

int main(int argc, char **argv)
{
	wanted = (const char *const *)argv + 1;
	wanted_count = argc - 1;
	return crash_suite("killed recoveries", killed_recoveries_are_done_again, LOSSES,
			   every_failpoint_is_passed);
}
