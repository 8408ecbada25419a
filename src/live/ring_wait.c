/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a row of a ring.  Sleepers sleep on the ring's wake word, which changes with
 * every event.  Invariant: the word is loaded before the last look for rows, so an event after
 * that look ends the sleep at once; and no sleep is longer than 100 ms, whoever died. */
#include "live/ring_register.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>
#include "base/clock.h"
#include "base/lock.h"
#include "live/futex.h"

#define SLEEP_NS INT64_C(100000000)
#define POLL_NS INT64_C(1000000) /* while nobody would wake us */
#define LOOK_NS INT64_C(1000000000)
#define SPINS_A_LOOK 8 /* at more than the end of the newest file */

static void nap(int64_t ns)
{
	struct timespec time = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&time, NULL); /* a signal ends it early: the caller looks again */
}

static bool somebody_wakes(const struct tt_ring_reader *reader)
{
	const struct tti_words *words = tti_ring_words(&reader->ring);

	return words && tti_wake_policy(words) != TTI_WAKE_NEVER &&
	       tti_wake_policy(words) != TTI_WAKE_UNKNOWN &&
	       !tti_ring_is_foreign(&reader->ring) &&
	       tti_lock_is_held(reader->ring.set_fd, TTI_LOCK_WRITER) == 1;
}

/* The path may name another ring by now. */
static int check_place(const struct tt_ring_reader *reader, struct tt_error *err)
{
	struct stat mine, named;

	if (fstat(reader->ring.dirfd, &mine) < 0 || stat(reader->ring.path, &named) < 0 ||
	    (mine.st_dev == named.st_dev && mine.st_ino == named.st_ino))
		return TT_OK;
	return tti_fail(err, TT_E_SUPERSEDED,
			"%s: another directory took its place: open it again",
			reader->ring.path);
}

/* What was not there before may be by now: a settings file, a longer manifest. */
static void look_again(struct tt_ring_reader *reader, int64_t now)
{
	if (now - reader->looked_ns < LOOK_NS)
		return;
	reader->looked_ns = now;
	reader->not_woken = false; /* who did not wake may have been stopped only */
	tti_ring_refresh(&reader->ring);
}

/* One sleep; 1 when there are rows, 0 to go on. */
static int sleep_once(struct tt_ring_reader *reader, int64_t left, struct tt_error *err)
{
	const struct tti_words *words = tti_ring_words(&reader->ring);
	uint32_t seen = words ? tti_wake_load(words) : 0;
	int rc = tti_reader_advance(reader, err);

	if (rc != 0)
		return rc;
	if (words != tti_ring_words(&reader->ring))
		return 0; /* mapped anew: the old word may be unmapped */
	if (!reader->not_woken && somebody_wakes(reader)) {
		rc = tti_futex_wait(tti_wake_futex(words), seen,
				    left < SLEEP_NS ? left : SLEEP_NS);
		reader->not_woken = rc == -ETIMEDOUT && left >= SLEEP_NS &&
				    tti_wake_load(words) == seen &&
				    tti_reader_advance(reader, NULL) > 0;
	} else {
		nap(left < POLL_NS ? left : POLL_NS);
	}
	look_again(reader, tti_clock_monotonic_ns());
	return rc == -ETIMEDOUT ? check_place(reader, err) : 0;
}

static int wait_asleep(struct tt_ring_reader *reader, int64_t deadline,
		       struct tt_error *err)
{
	int64_t checked = tti_clock_monotonic_ns();

	for (;;) {
		int64_t now = tti_clock_monotonic_ns();
		int rc = sleep_once(reader, deadline > now ? deadline - now : 0, err);

		if (rc != 0)
			return rc;
		if (now >= deadline)
			return 0;
		if (now - checked > SLEEP_NS) {
			checked = now;
			rc = check_place(reader, err);
			if (rc < 0)
				return rc;
		}
	}
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static int wait_awake(struct tt_ring_reader *reader, bool yield, int64_t deadline,
		      struct tt_error *err)
{
	int64_t checked = tti_clock_monotonic_ns();

	for (uint32_t spins = 1;; spins++) {
		int64_t now;
		int rc = yield || spins % SPINS_A_LOOK == 0
				 ? tti_reader_advance(reader, err)
				 : tti_reader_has_rows(reader);

		if (rc > 0)
			tti_reader_fetch_row(reader);
		if (rc != 0)
			return rc;
		if (yield)
			sched_yield();
		else
			pause_cpu();
		if (spins % 256 != 0)
			continue;
		now = tti_clock_monotonic_ns();
		if (now >= deadline)
			return 0;
		look_again(reader, now);
		if (now - checked > SLEEP_NS) {
			checked = now;
			rc = check_place(reader, err);
			if (rc < 0)
				return rc;
		}
	}
}

int tt_ring_wait(struct tt_ring_reader *reader, enum tt_wait how, int64_t timeout_ns,
		 struct tt_error *err)
{
	int rc = tti_reader_advance(reader, err);
	int64_t deadline;

	if (rc != 0) /* rows: no clock was read, no call made */
		return rc;
	deadline = tti_deadline_ns(timeout_ns);
	tti_reader_note_all_read(reader);
	if (how == TT_WAIT_SLEEP)
		return wait_asleep(reader, deadline, err);
	return wait_awake(reader, how == TT_WAIT_YIELD, deadline, err);
}
