/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for rows of a single file.  Sleepers sleep on the low half of end, which changes
 * with every publish; a timeout bounds what a dead or foreign writer can cost.
 * Invariant: a reader leaves a superseded file only after it has seen its last end. */
#include "live/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>
#include "base/clock.h"
#include "base/lock.h"
#include "live/futex.h"

#define MS INT64_C(1000000)
#define CHECK_NS (100 * MS) /* between looks at writer and path */
#define POLL_NS (1 * MS)    /* while nobody would wake us */
#define SPINS_PER_CLOCK 64
#define NOT_WOKEN 2 /* once may be rows that came as the sleep ended */

struct waiting {
	struct tt_file *file;
	uint64_t seen;
	enum tt_wait how;
	int64_t deadline;
	uint64_t spins;
};

/* 1 rows, 0 none, TT_E_DAMAGED when end went back. */
static int look(const struct waiting *w, uint64_t *end_out)
{
	uint64_t start, end;
	int rc = tti_file_bounds(w->file, &start, &end, NULL);

	if (rc < 0)
		return rc;
	*end_out = end;
	if (end - start < w->seen)
		return TT_E_DAMAGED;
	return end - start > w->seen;
}

/* Does the path name another file by now? */
static bool path_moved_on(const struct tt_file *file)
{
	struct stat mine, named;

	return fstat(file->live.fd, &mine) == 0 &&
	       fstatat(file->place.dirfd, file->place.name, &named, 0) == 0 &&
	       (mine.st_dev != named.st_dev || mine.st_ino != named.st_ino);
}

/* The magic was stored after the last end: one more look at end is final.  When the path still
 * names this file, who superseded it has not finished, or died: go on here. */
static int look_superseded(const struct waiting *w)
{
	uint64_t end;
	int rc = look(w, &end);

	if (rc != 0)
		return rc;
	return path_moved_on(w->file) ? TT_E_SUPERSEDED : 0;
}

/* Now and then: is there a writer that would wake us, and is this still the file? */
static int check_world(struct tt_file *file, int64_t now)
{
	if (now - file->checked_ns < CHECK_NS)
		return TT_OK;
	file->checked_ns = now;
	file->writer_lives = tti_lock_is_held(file->live.fd, TTI_LOCK_WRITER) > 0;
	if (!path_moved_on(file))
		return TT_OK;
	return tti_live_is_superseded(&file->live) ? TT_E_SUPERSEDED : TT_E_CHANGED;
}

static void nap(int64_t ns)
{
	const struct timespec ts = { .tv_sec = ns / (1000 * MS),
				     .tv_nsec = ns % (1000 * MS) };

	nanosleep(&ts, NULL);
}

static void sleep_on_end(struct waiting *w, uint64_t end, int64_t now)
{
	struct tt_file *file = w->file;
	/* while not all rows may be shown, end is not the word that is slept on */
	bool no_word = !file->live.tail || file->live.shown != UINT64_MAX;
	bool polling = !file->writer_lives || file->not_woken >= NOT_WOKEN || no_word;
	int64_t ns = polling ? POLL_NS : CHECK_NS;
	int rc;

	if (ns > w->deadline - now)
		ns = w->deadline - now;
	if (no_word) {
		nap(ns);
		return;
	}
	rc = tti_futex_wait(tti_end_futex(file->live.tail), (uint32_t)end, ns);
	if (polling || tti_live_end(&file->live) == end)
		return;
	file->not_woken = rc == -ETIMEDOUT ? file->not_woken + 1 : 0;
}

/* Let time pass: 1 go on, 0 it is over, or an error. */
static int pass_time(struct waiting *w, uint64_t end)
{
	int64_t now;
	int rc;

	if (w->how == TT_WAIT_SPIN && ++w->spins % SPINS_PER_CLOCK != 0) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
		return 1;
	}
	now = tti_clock_monotonic_ns();
	if (now >= w->deadline)
		return 0;
	rc = check_world(w->file, now);
	if (rc < 0) {
		uint64_t last;
		int more = look(w, &last);

		return more == 0 ? rc : more < 0 ? more : 1;
	}
	if (w->how == TT_WAIT_SLEEP)
		sleep_on_end(w, end, now);
	else if (w->how == TT_WAIT_YIELD)
		sched_yield();
	return 1;
}

int tt_file_wait(struct tt_file *file, uint64_t seen, enum tt_wait how,
		 int64_t timeout_ns)
{
	struct waiting w = { file, seen, how, tti_deadline_ns(timeout_ns), 0 };
	uint64_t end = 0;
	int rc;

	for (;;) {
		rc = look(&w, &end);
		if (rc != 0)
			return rc;
		if (!file->live.aligned || file->live.tail_words == 0)
			return TT_E_UNSUPPORTED;
		if (tti_live_is_superseded(&file->live)) {
			rc = look_superseded(&w);
			if (rc != 0)
				return rc;
		}
		rc = pass_time(&w, end);
		if (rc <= 0)
			return rc;
	}
}
