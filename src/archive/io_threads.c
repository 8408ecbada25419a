/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of threads with pread and pwrite.  One lock guards both lists; a worker holds it only
 * to take a request and to give it back. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "archive/io_engine.h"

#define MOST_WORKERS 8u

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t has_work, has_done;
	struct tti_io_request *first, *last; /* waiting, in order */
	struct tti_io_request *done;
	bool stop;
	unsigned worker_count;
	pthread_t workers[MOST_WORKERS];
};

static ssize_t attempt(const struct tti_io_request *request)
{
	size_t n = tti_io_attempt(request);
	off_t offset = (off_t)(request->block.offset + request->moved);
	ssize_t moved = request->is_write
				? pwrite(request->fd, tti_io_at(request), n, offset)
				: pread(request->fd, tti_io_at(request), n, offset);

	return moved < 0 ? -errno : moved;
}

static void *work(void *arg)
{
	struct pool *pool = arg;
	struct tti_io_request *request;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->first && !pool->stop)
			pthread_cond_wait(&pool->has_work, &pool->lock);
		if (!pool->first)
			break;
		request = pool->first;
		pool->first = request->next;
		pthread_mutex_unlock(&pool->lock);
		request->result = attempt(request);
		pthread_mutex_lock(&pool->lock);
		request->next = pool->done;
		pool->done = request;
		pthread_cond_signal(&pool->has_done);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void pool_close(void *state)
{
	struct pool *pool = state;

	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->has_work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->worker_count; i++)
		pthread_join(pool->workers[i], NULL);
	pthread_cond_destroy(&pool->has_work);
	pthread_cond_destroy(&pool->has_done);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

/* Signals are for the program's own threads. */
static int start_workers(struct pool *pool, unsigned wanted)
{
	sigset_t all, before;
	int rc = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (pool->worker_count < wanted && rc == 0) {
		rc = pthread_create(&pool->workers[pool->worker_count], NULL, work, pool);
		pool->worker_count += rc == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pool->worker_count > 0 ? TT_OK : -rc; /* fewer than wanted will do */
}

static int pool_open(void **state_out, unsigned depth)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	int rc;

	if (!pool)
		return -ENOMEM;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->has_work, NULL);
	pthread_cond_init(&pool->has_done, NULL);
	rc = start_workers(pool, depth < MOST_WORKERS ? depth : MOST_WORKERS);
	if (rc < 0) {
		pool_close(pool);
		return rc;
	}
	*state_out = pool;
	return TT_OK;
}

static int pool_start(void *state, struct tti_io_request *request)
{
	struct pool *pool = state;

	request->next = NULL;
	pthread_mutex_lock(&pool->lock);
	if (pool->first)
		pool->last->next = request;
	else
		pool->first = request;
	pool->last = request;
	pthread_cond_signal(&pool->has_work);
	pthread_mutex_unlock(&pool->lock);
	return TT_OK;
}

static int pool_take(void *state, bool wait, struct tti_io_request **done_out)
{
	struct pool *pool = state;

	pthread_mutex_lock(&pool->lock);
	while (wait && !pool->done)
		pthread_cond_wait(&pool->has_done, &pool->lock);
	*done_out = pool->done;
	pool->done = NULL;
	pthread_mutex_unlock(&pool->lock);
	return TT_OK;
}

const struct tti_io_engine tti_io_threads = {
	.kind = TT_IO_THREADS,
	.open = pool_open,
	.start = pool_start,
	.take = pool_take,
	.close = pool_close,
};
