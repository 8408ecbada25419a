/* SPDX-License-Identifier: Apache-2.0 */
/* Sealing: all rows so far into sealed files.  Only the holder of the writer lock makes files,
 * so a live writer is asked by the request word, and without one the lock is taken.
 * Invariant: an answer of at least the request's value means that the roll was done, or was
 * not needed, after the request was made. */
#include "live/ring_writer.h"

#include <errno.h>
#include <inttypes.h>
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/opts.h"
#include "live/futex.h"

#define LOOK_NS INT64_C(100000000)

/* TT_E_BUSY: somebody writes. */
static int seal_alone(const char *dir, bool force, bool *sealed_out, struct tt_error *err)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer;
	int rc;

	opts.no_helper = true; /* one roll, here and now */
	opts.force_network_fs = force;
	rc = tti_ring_writer_open_with(&writer, dir, &opts, NULL, err);
	if (rc < 0)
		return rc;
	*sealed_out = tt_ring_writer_pos(writer).row > 0;
	TTI_FAILPOINT("ring.seal.alone");
	rc = tt_ring_roll(writer, err);
	tt_ring_writer_close(writer);
	return rc;
}

static int refuse_asking(const struct tti_ring *ring, struct tt_error *err)
{
	if (!ring->set.addr || tti_ring_is_foreign(ring))
		return tti_fail(
			err, TT_E_UNSUPPORTED,
			"%s: written by another program that cannot be asked to start a "
			"new file",
			ring->path);
	return TT_OK;
}

/* Without rows in the newest file there is nothing to seal. */
static bool newest_has_rows(const struct tti_ring *ring, uint64_t name)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	bool has = tti_ring_open_file(ring, name, false, &live, NULL) == TT_OK &&
		   tti_live_end(&live) > 0;

	tti_live_close(&live);
	return has;
}

static int late(const struct tti_ring *ring, struct tt_error *err)
{
	int64_t pid = tti_ring_writer_pid(ring);

	if (pid > 0)
		return tti_fail(err, TT_E_TIMEOUT,
				"%s: process %" PRId64
				", which writes it, has not started a new file in time",
				ring->path, pid);
	return tti_fail(err, TT_E_TIMEOUT,
			"%s: its writer has not started a new file in time", ring->path);
}

/* 1 answered, 0 its writer is gone. */
static int wait_for_answer(const struct tti_ring *ring, uint64_t request,
			   int64_t deadline, struct tt_error *err)
{
	const struct tti_words *words = tti_ring_words(ring);

	for (;;) {
		uint32_t seen = tti_wake_load(words);
		int64_t left = deadline - tti_clock_monotonic_ns();

		if (tti_answer_load(words) >= request)
			return 1;
		if (left <= 0)
			return late(ring, err);
		tti_futex_wait(tti_wake_futex(words), seen,
			       left < LOOK_NS ? left : LOOK_NS);
		if (tti_answer_load(words) < request &&
		    tti_lock_is_held(ring->set_fd, TTI_LOCK_WRITER) == 0)
			return 0;
	}
}

static int ask(const char *dir, int64_t deadline, bool *sealed_out, struct tt_error *err)
{
	struct tti_ring ring;
	uint64_t newest;
	int rc = tti_ring_open(&ring, dir, true, err);

	if (rc < 0)
		return rc;
	rc = refuse_asking(&ring, err);
	if (rc == TT_OK) {
		newest = tti_ring_newest(&ring);
		*sealed_out = newest_has_rows(&ring, newest);
		TTI_FAILPOINT("ring.seal.before_request");
		rc = wait_for_answer(&ring, tti_request_add(tti_ring_words(&ring)),
				     deadline, err);
	}
	tti_ring_close(&ring);
	return rc;
}

int tt_ring_seal_with(const char *dir, const struct tt_ring_seal_opts *opts,
		      bool *sealed_out, struct tt_error *err)
{
	struct tt_ring_seal_opts mine = TT_RING_SEAL_OPTS_INIT;
	bool sealed = false;
	int64_t deadline;
	int rc;

	if (opts && !tti_take_opts(&mine, sizeof(mine), opts))
		return tti_fail(err, TT_E_MISUSE, "%s: options of an unknown size", dir);
	deadline = tti_deadline_ns(mine.timeout_ns);
	do {
		rc = seal_alone(dir, mine.force_network_fs, &sealed, err);
		if (rc == TT_E_BUSY) {
			rc = ask(dir, deadline, &sealed, err);
			if (rc == 0)
				continue; /* the writer died or left: the lock is free */
			rc = rc == 1 ? TT_OK : rc;
		}
		if (rc == TT_OK && sealed_out)
			*sealed_out = sealed;
		return rc;
	} while (tti_clock_monotonic_ns() < deadline);
	return tti_fail(err, TT_E_TIMEOUT,
			"%s: writers came and went, none sealed it in time", dir);
}

int tt_ring_seal(const char *dir, int64_t timeout_ns, bool *sealed_out,
		 struct tt_error *err)
{
	struct tt_ring_seal_opts opts = TT_RING_SEAL_OPTS_INIT;

	opts.timeout_ns = timeout_ns;
	return tt_ring_seal_with(dir, &opts, sealed_out, err);
}
