/* SPDX-License-Identifier: Apache-2.0 */
/* A mark never says more than is on disk.  As each mark of a ring is stored, an image is made of
 * the least that a disk may hold then: what was synced, the mark, no page and no name besides.
 * After the next boot it must have the marked file under its name, in the manifest, with its
 * entry; and every row up to the mark, of this file and of all before it.
 *
 * usage: marks             TT_SEED=N: the first seed; TT_LONG=1: 60 feeds instead of 3 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "lib/tmpdir.h"
#include "lib/until.h"
#include "live/power/model.h"
#include "live/ring_writer.h"
#include "ticktail/ring.h"

#define ROWS 8 /* a file */

static struct tt_error err;
static uint64_t seed;

#define GOOD(call) \
	do { \
		int good_rc = (call); \
		ck_assert_msg(good_rc >= 0, "%s: %s", #call, err.text); \
	} while (0)

/* ---- What a mark says ---- */

static unsigned marks_seen, files_seen;
static uint64_t file_seen;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static bool is_queued(const struct tti_ring *ring, uint64_t name)
{
	for (uint64_t i = 0; i < ring->slots; i++)
		if (tti_slot_load(tti_ring_slots(ring), i) == name)
			return true;
	return false;
}

/* The number of the file's first row in the ring, by its entry. */
static uint64_t base_of(const struct tti_ring *ring, uint64_t name)
{
	uint64_t idx = tti_ring_find_entry(ring, name);

	return idx == TTI_NO_ENTRY ? TTI_ROWS_UNKNOWN
				   : tti_field_load(&tti_ring_entry(ring, idx)->base);
}

static void check_rows(uint64_t count, uint64_t file)
{
	struct tt_ring_reader *reader = NULL;
	uint64_t rows = 0;
	struct tt_error why;
	struct tt_view view;
	int rc;

	ck_assert_msg(tt_ring_reader_open(&reader, "disk/r", NULL, &why) == 0, "%s",
		      why.text);
	while ((rc = tt_ring_read(reader, 1000, 0, &view, NULL, &why)) == 1)
		for (uint64_t i = 0; i < view.count && rows < count; i++, rows++)
			ck_assert_msg(((const int64_t *)view.rows)[i] == (int64_t)rows,
				      "seed %" PRIu64 ": row %" PRIu64 " is %" PRId64
				      ", and %" PRIu64 ".npy is marked behind it",
				      seed, rows, ((const int64_t *)view.rows)[i], file);
	ck_assert_msg(rc == 0, "%s", why.text);
	ck_assert_msg(rows >= count,
		      "seed %" PRIu64 ": %" PRIu64 ".npy is marked behind row %" PRIu64
		      ", and the disk has %" PRIu64,
		      seed, file, count, rows);
	tt_ring_reader_close(reader);
}

#define MARKS_BYTES (TTI_SETTINGS_STRIDE + sizeof(struct tti_mark))

/* The disk may have the mark itself as soon as it is stored. */
static void put_marks(const uint8_t marks[MARKS_BYTES])
{
	int fd = open("disk/r/.ticktail", O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, marks, MARKS_BYTES, TTI_MARKS_OFF), MARKS_BYTES);
	close(fd);
}

static void check_mark(const struct tti_mark *mark, const uint8_t marks[MARKS_BYTES])
{
	struct tti_ring ring, disk;
	struct tt_error why;
	uint64_t base;

	model_image_least("disk");
	put_marks(marks);
	ck_assert_msg(tti_ring_open(&ring, "r", false, &why) == 0, "%s", why.text);
	ck_assert_msg(tti_ring_open(&disk, "disk/r", false, &why) == 0, "%s", why.text);
	base = base_of(&ring, mark->file);
	ck_assert_uint_ne(base, TTI_ROWS_UNKNOWN);
	ck_assert_msg(base_of(&disk, mark->file) == base,
		      "seed %" PRIu64 ": %" PRIu64 ".npy is marked without its entry",
		      seed, mark->file);
	ck_assert_msg(is_queued(&disk, mark->file),
		      "seed %" PRIu64 ": %" PRIu64 ".npy is marked and not named", seed,
		      mark->file);
	tti_ring_close(&ring);
	tti_ring_close(&disk);
	/* a roll may have named a file behind the sync of names, and before that of the
	 * manifest: as the newest it is missing, which is no damage after a boot */
	model_boot("next_boot");
	check_rows(base + mark->end, mark->file);
	model_boot("boot_id");
	ck_assert_int_eq(nftw("disk", remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* With all calls kept waiting. */
static void look(void *ctx, const char *place, unsigned times)
{
	uint8_t marks[MARKS_BYTES];
	struct tti_mark mark;
	int fd;

	(void)ctx;
	if (strcmp(place, "ring.mark.stored") != 0 || times % 2 == 0)
		return;
	fd = open("r/.ticktail", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, marks, sizeof(marks), TTI_MARKS_OFF), sizeof(marks));
	close(fd);
	if (tti_mark_pick(marks, &mark) != 1 || mark.file == 0)
		return;
	check_mark(&mark, marks);
	marks_seen++;
	files_seen += mark.file != file_seen;
	file_seen = mark.file;
}

/* ---- Feeds ---- */

static void create(uint64_t keep)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = NULL;

	GOOD(tt_dtype_parse(&dtype, "i8", 2, false, &err));
	opts.capacity = ROWS;
	opts.keep = keep;
	opts.exact = true;
	opts.sync_ms = 1;
	GOOD(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
}

static struct tt_ring_writer *open_with(int64_t sync_ms, bool helped)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer = NULL;

	opts.sync_ms = sync_ms;
	opts.no_helper = !helped;
	GOOD(tt_ring_writer_open(&writer, "r", &opts, &err));
	return writer;
}

static int64_t fed;

static void put(struct tt_ring_writer *writer, int64_t count)
{
	int64_t rows[3 * ROWS];

	for (int64_t i = 0; i < count; i++)
		rows[i] = fed++;
	GOOD(tt_ring_append(writer, rows, (uint64_t)count, NULL, &err));
}

static void put_boot(const char *path, int number)
{
	FILE *boot = fopen(path, "w");

	ck_assert_ptr_nonnull(boot);
	fprintf(boot, "%08d-7469-4063-8b6b-74616964b007\n", number);
	fclose(boot);
}

static void setup(void)
{
	tmpdir_enter();
	put_boot("boot_id", 1);
	put_boot("next_boot", 2);
	model_boot("boot_id");
	model_start(".", seed);
	model_keep_back();
	model_on_place(look, NULL);
}

static bool has_next(const struct tt_ring_writer *writer)
{
	uint32_t state = atomic_load(&writer->next_state);

	return state == TTI_NEXT_READY || state == TTI_NEXT_NAMED;
}

static bool all_synced(const struct tt_ring_writer *writer)
{
	return atomic_load(&writer->synced_name) == tti_writer_file(writer)->name &&
	       atomic_load(&writer->synced_end) == tti_writer_file(writer)->live.end;
}

static struct {
	_Atomic(bool) armed;
	sem_t reached, go;
} meeting;

static void meet(void *ctx, const char *failpoint)
{
	bool armed = true;

	(void)ctx;
	if (strcmp(failpoint, "ring.work.finished") != 0 ||
	    !atomic_compare_exchange_strong(&meeting.armed, &armed, false))
		return;
	sem_post(&meeting.reached);
	while (sem_wait(&meeting.go) < 0 && errno == EINTR)
		;
}

/* The helper has looked for finished files, found none, and goes on to the newest: meanwhile a
 * roll made that another one. */
START_TEST(a_roll_behind_the_helpers_look_is_not_marked_before_its_predecessor)
{
	struct tt_ring_writer *writer;

	sem_init(&meeting.reached, 0, 0);
	sem_init(&meeting.go, 0, 0);
	create(4);
	writer = open_with(1, true);
	model_on_passage(meet, NULL);
	for (int i = 0; i < 12; i++) {
		put(writer, (int64_t)(ROWS - 2 - tti_writer_live(writer)->end));
		UNTIL(has_next(writer) && all_synced(writer));
		usleep(2000); /* a sync is due as soon as rows come */
		atomic_store(&meeting.armed, true);
		put(writer, 1);
		while (sem_wait(&meeting.reached) < 0 && errno == EINTR)
			;
		ck_assert(has_next(writer));
		put(writer, 3);
		sem_post(&meeting.go);
		GOOD(tt_ring_sync(writer, &err));
	}
	model_on_passage(NULL, NULL);
	GOOD(tt_ring_writer_close(writer));
	ck_assert_uint_ge(files_seen, 13);
}
END_TEST

/* ---- Feeds at random ---- */

static uint64_t random_state;

static uint64_t draw(uint64_t n)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % n;
}

static void do_something(struct tt_ring_writer *writer)
{
	switch (draw(12)) {
	case 0: GOOD(tt_ring_roll(writer, &err)); break;
	case 1: GOOD(tt_ring_sync(writer, &err)); break;
	case 2: GOOD(tt_ring_writer_idle(writer, &err)); break;
	case 3: usleep((useconds_t)draw(3000)); break;
	case 4: /* until a roll comes to a file that is there, and named as a rule */
		if (tti_crew_has(&writer->duty) && writer->sync_ms != TT_SYNC_EACH &&
		    tti_writer_live(writer)->end > 0)
			UNTIL(has_next(writer) || tti_writer_live(writer)->end == 0);
		break;
	case 5: /* asked for, as by another process */
		tti_request_add(tti_ring_words(&writer->ring));
		break;
	default: put(writer, 1 + (int64_t)draw(draw(8) == 0 ? 3 * ROWS : 4));
	}
}

/* One ring, and writers of each kind one after the other: one that syncs nothing leaves to the
 * next what it did not sync. */
START_TEST(no_mark_of_a_feed_says_too_much)
{
	static const int64_t policies[] = { 1, 1, 5, 1000, TT_SYNC_EACH, TT_SYNC_NONE };

	random_state = seed + (uint64_t)_i * 1000;
	printf("# TT_SEED=%" PRIu64 "\n", seed + (uint64_t)_i * 1000);
	create(2 + draw(4));
	for (int i = 0; i < 6; i++) {
		struct tt_ring_writer *writer =
			open_with(policies[draw(6)], draw(4) != 0);

		for (uint64_t left = 5 + draw(40); left > 0; left--)
			do_something(writer);
		GOOD(tt_ring_writer_close(writer));
	}
	printf("# %" PRId64 " rows, %u marks of %u files\n", fed, marks_seen, files_seen);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("marks");
	TCase *tc = tcase_create("marks");
	const char *given = getenv("TT_SEED"), *is_long = getenv("TT_LONG");
	SRunner *runner;
	int failed;

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, tmpdir_leave);
	tcase_add_test(
		tc, a_roll_behind_the_helpers_look_is_not_marked_before_its_predecessor);
	tcase_add_loop_test(tc, no_mark_of_a_feed_says_too_much, 0,
			    is_long && *is_long == '1' ? 60 : 3);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
