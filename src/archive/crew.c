/* SPDX-License-Identifier: Apache-2.0 */
/* The crew.  A band goes round: FREE, filled by the caller; READY, waiting for a worker; BUSY;
 * DONE, waiting to be stored; WRITING until its last chunk is in the file.  States change
 * under the lock while a worker may look, that is from READY to DONE; before and after, the
 * band is the calling thread's alone.  Invariant: bands are stored in the order of their numbers,
 * and a buffer is given to nobody else while a worker or a write has it. */
#include "archive/crew.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"

#define MAX_THREADS 64
#define WINDOW_BYTES ((uint64_t)48 << 20)
#define WRITES_AHEAD 16

enum state { FREE, READY, BUSY, DONE, WRITING };

struct place {
	struct tti_band band;
	enum state state;
	unsigned pending; /* writes; the calling thread's alone */
};

struct worker {
	struct tti_crew *crew;
	pthread_t thread;
	struct tti_bench bench;
};

struct tti_crew {
	struct worker workers[MAX_THREADS];
	unsigned count;
	pthread_mutex_t lock;
	pthread_cond_t has_work, is_done;
	bool quit;
	/* the run; places are NULL between runs */
	struct place *places;
	uint64_t window;
	uint64_t next_work, next_fill; /* numbers of bands, counted from 0 of the run */
	const struct tti_press *press;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct tti_crew *crew = worker->crew;

	pthread_mutex_lock(&crew->lock);
	for (;;) {
		struct place *place;

		while (!crew->quit && crew->next_work == crew->next_fill)
			pthread_cond_wait(&crew->has_work, &crew->lock);
		if (crew->quit)
			break;
		place = &crew->places[crew->next_work++ % crew->window];
		place->state = BUSY;
		pthread_mutex_unlock(&crew->lock);
		tti_band_work(&place->band, crew->press, &worker->bench);
		pthread_mutex_lock(&crew->lock);
		place->state = DONE;
		pthread_cond_signal(&crew->is_done);
	}
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

static unsigned core_count(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set)
							    : 1;
}

static int start_worker(struct tti_crew *crew, struct tt_error *err)
{
	struct worker *worker = &crew->workers[crew->count];
	sigset_t all, before;
	int rc;

	worker->crew = crew;
	rc = tti_hasher_new(&worker->bench.hasher, err);
	if (rc == TT_OK)
		rc = tti_codec_new(&worker->bench.codec, err);
	if (rc == TT_OK) {
		/* signals are the program's: none is delivered to a thread of ours */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		rc = -pthread_create(&worker->thread, NULL, work, worker);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		if (rc < 0)
			tti_fail_sys(err, rc, "threads for hashing", "starting one");
	}
	if (rc < 0) {
		tti_hasher_free(&worker->bench.hasher);
		tti_codec_free(&worker->bench.codec);
		return rc;
	}
	crew->count++;
	return TT_OK;
}

int tti_crew_new(struct tti_crew **out, unsigned threads, struct tt_error *err)
{
	struct tti_crew *crew = calloc(1, sizeof(*crew));
	unsigned wanted = threads ? threads : core_count();
	int rc = TT_OK;

	*out = NULL;
	if (!crew)
		return tti_fail(err, -ENOMEM, "hash threads: out of memory");
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->has_work, NULL);
	pthread_cond_init(&crew->is_done, NULL);
	if (wanted > MAX_THREADS)
		wanted = MAX_THREADS;
	while (rc == TT_OK && crew->count < wanted)
		rc = start_worker(crew, err);
	if (crew->count > 0) {
		*out = crew; /* fewer threads than wanted do the same work */
		return TT_OK;
	}
	tti_crew_free(&crew);
	return rc;
}

void tti_crew_free(struct tti_crew **crew_p)
{
	struct tti_crew *crew = *crew_p;

	if (!crew)
		return;
	pthread_mutex_lock(&crew->lock);
	crew->quit = true;
	pthread_cond_broadcast(&crew->has_work);
	pthread_mutex_unlock(&crew->lock);
	for (unsigned i = 0; i < crew->count; i++) {
		pthread_join(crew->workers[i].thread, NULL);
		tti_hasher_free(&crew->workers[i].bench.hasher);
		tti_codec_free(&crew->workers[i].bench.codec);
	}
	pthread_mutex_destroy(&crew->lock);
	pthread_cond_destroy(&crew->has_work);
	pthread_cond_destroy(&crew->is_done);
	free(crew);
	*crew_p = NULL;
}

/* ---- A run ---- */

static void close_window(struct tti_crew *crew, const struct tti_cut *cut)
{
	for (uint64_t i = 0; crew->places && i < crew->window; i++)
		tti_band_fini(&crew->places[i].band, cut);
	free(crew->places);
	crew->places = NULL;
	crew->window = 0;
}

/* Enough bands to keep all workers busy while others are being written, as far as memory
 * allows; two at least, so that one can be hashed while one is written. */
static int open_window(struct tti_crew *crew, const struct tti_crew_job *job,
		       struct tt_error *err)
{
	const struct tti_cut *cut = job->press->cut;
	uint64_t bytes = cut->row_bytes * cut->grid.chunk[0],
		 window = WRITES_AHEAD + 2 * crew->count;
	int rc = TT_OK;

	if (!cut->whole_rows || job->press->filters->count > 0)
		bytes += cut->chunk_bytes * cut->grid.band;
	window =
		tti_max_u64(2, tti_min_u64(window, WINDOW_BYTES / tti_max_u64(bytes, 1)));
	window = tti_max_u64(1,
			     tti_min_u64(window, cut->grid.across[0] - job->first_band));
	crew->places = calloc(window, sizeof(*crew->places));
	if (!crew->places)
		return tti_fail(err, -ENOMEM, "window of chunks: out of memory");
	crew->window = window;
	for (uint64_t i = 0; rc == TT_OK && i < window; i++)
		rc = tti_band_init(&crew->places[i].band, cut);
	if (rc < 0) {
		tti_fail(err, rc, "chunks of %zu bytes: out of memory", cut->chunk_bytes);
		close_window(crew, cut);
	}
	return rc;
}

struct run {
	struct tti_crew *crew;
	const struct tti_crew_job *job;
	uint64_t count, filled, stored;
};

static bool is_free(struct place *place)
{
	if (place->state == WRITING && place->pending == 0)
		place->state = FREE;
	return place->state == FREE;
}

/* Fill bands as long as there is room. */
static int fill_ahead(struct run *run, struct tt_error *err)
{
	struct tti_crew *crew = run->crew;

	while (run->filled < run->count && run->filled - run->stored < crew->window &&
	       is_free(&crew->places[run->filled % crew->window])) {
		struct place *place = &crew->places[run->filled % crew->window];
		int rc;

		tti_band_clear_cells(&place->band, run->job->press->cut);
		place->band.index = run->job->first_band + run->filled;
		place->band.piece_count = 0;
		rc = run->job->fill(run->job->ctx, &place->band, err);
		if (rc < 0)
			return rc;
		pthread_mutex_lock(&crew->lock);
		place->state = READY;
		crew->next_fill = ++run->filled;
		pthread_cond_signal(&crew->has_work);
		pthread_mutex_unlock(&crew->lock);
	}
	return TT_OK;
}

static void wait_done(struct tti_crew *crew, const struct place *place)
{
	pthread_mutex_lock(&crew->lock);
	while (place->state != DONE)
		pthread_cond_wait(&crew->is_done, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
}

static int store_next(struct run *run, struct tt_error *err)
{
	struct place *place = &run->crew->places[run->stored % run->crew->window];

	wait_done(run->crew, place);
	if (place->band.rc < 0) {
		if (err)
			*err = place->band.err;
		return place->band.rc;
	}
	run->stored++;
	place->state = WRITING;
	return run->job->store(run->job->ctx, &place->band, &place->pending, err);
}

static int step(struct run *run, struct tt_error *err)
{
	int rc = run->job->reap(run->job->ctx, false);

	if (rc >= 0)
		rc = fill_ahead(run, err);
	else
		return tti_fail_sys(err, rc, "writing chunks", NULL);
	if (rc < 0 || run->stored < run->filled)
		return rc < 0 ? rc : store_next(run, err);
	/* the whole window is being written */
	rc = run->job->reap(run->job->ctx, true);
	if (rc == 0)
		rc = -EIO;
	return rc < 0 ? tti_fail_sys(err, rc, "writing chunks", NULL) : TT_OK;
}

/* Whatever happened: no worker and no write has a buffer afterwards. */
static void end_run(struct run *run)
{
	struct tti_crew *crew = run->crew;

	for (; run->stored < run->filled; run->stored++)
		wait_done(crew, &crew->places[run->stored % crew->window]);
	run->job->settle(run->job->ctx);
	close_window(crew, run->job->press->cut);
}

int tti_crew_run(struct tti_crew *crew, const struct tti_crew_job *job,
		 struct tt_error *err)
{
	struct run run = { .crew = crew, .job = job };
	int rc;

	run.count = job->press->cut->grid.across[0] - job->first_band;
	if (run.count == 0)
		return TT_OK;
	rc = open_window(crew, job, err);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&crew->lock);
	crew->press = job->press;
	crew->next_work = crew->next_fill = 0;
	pthread_mutex_unlock(&crew->lock);
	while (rc == TT_OK && run.stored < run.count)
		rc = step(&run, err);
	end_run(&run);
	return rc;
}
