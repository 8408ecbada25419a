/* SPDX-License-Identifier: Apache-2.0 */
/* Invariant: every request is either free, or with the engine and counted in in_flight. */
#include "archive/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "archive/io_engine.h"
#include "archive/step.h"

#define DEFAULT_DEPTH 16u
#define MOST_DEPTH 1024u

struct tti_io {
	const struct tti_io_engine *engine;
	void *state;
	int fd, direct_fd; /* direct_fd -1: everything goes through the page cache */
	bool direct_refused;
	unsigned depth, in_flight;
	struct tti_io_request *requests, *free;
	int first_error; /* of a write; stays */
};

/* A second description of the same file, past the page cache; -1 where that is not offered. */
static int open_direct(int fd)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return open(name, O_RDWR | O_DIRECT | O_CLOEXEC);
}

static int open_engine(struct tti_io *io, const char *path, enum tt_archive_io kind,
		       struct tt_error *err)
{
	bool may_ring = kind == TT_IO_URING || (kind == TT_IO_AUTO && io->direct_fd >= 0);
	int rc;

	if (may_ring) {
		io->engine = &tti_io_uring;
		rc = io->engine->open(&io->state, io->depth);
		if (rc == TT_OK)
			return rc;
		if (kind == TT_IO_URING)
			return tti_fail(
				err, TT_E_UNSUPPORTED,
				"%s: io_uring is refused here (%s); choose threads", path,
				tt_strerror(rc));
	}
	io->engine = &tti_io_threads;
	rc = io->engine->open(&io->state, io->depth);
	return rc < 0 ? tti_fail_sys(err, rc, path, "starting io threads") : TT_OK;
}

int tti_io_open(struct tti_io **out, int fd, const char *path,
		const struct tti_io_opts *opts, struct tt_error *err)
{
	tti_auto_io *io = calloc(1, sizeof(*io));
	int rc;

	if (!io)
		return tti_fail_sys(err, -ENOMEM, path, NULL);
	io->fd = fd;
	io->direct_fd = opts->direct ? open_direct(fd) : -1;
	io->depth = opts->depth == 0	       ? DEFAULT_DEPTH
		    : opts->depth > MOST_DEPTH ? MOST_DEPTH
					       : opts->depth;
	io->requests = calloc(io->depth, sizeof(*io->requests));
	if (!io->requests)
		return tti_fail_sys(err, -ENOMEM, path, NULL);
	for (unsigned i = 0; i < io->depth; i++) {
		io->requests[i].next = io->free;
		io->free = &io->requests[i];
	}
	rc = open_engine(io, path, opts->kind, err);
	if (rc == TT_OK)
		*out = tti_steal_ptr(&io);
	return rc;
}

void tti_io_close(struct tti_io **handle)
{
	struct tti_io *io = *handle;

	if (!io)
		return;
	while (io->state && io->in_flight > 0)
		if (tti_io_reap(io, true) < 0)
			break;
	if (io->state)
		io->engine->close(io->state);
	tti_close_fd(&io->direct_fd);
	free(io->requests);
	free(io);
	*handle = NULL;
}

enum tt_archive_io tti_io_kind(const struct tti_io *io)
{
	return io->engine->kind;
}

unsigned tti_io_in_flight(const struct tti_io *io)
{
	return io->in_flight;
}

static bool is_aligned(const struct tti_io_block *block)
{
	return ((uintptr_t)block->bytes | block->n | block->offset) % TTI_IO_ALIGN == 0;
}

static void finish(struct tti_io *io, struct tti_io_request *request, int rc)
{
	struct tti_io_block block = request->block;

	if (request->is_write && rc < 0 && io->first_error == TT_OK)
		io->first_error = rc;
	request->next = io->free;
	io->free = request;
	io->in_flight--;
	if (block.done)
		block.done(block.ctx, rc); /* last: it may submit again */
}

/* The rest of a transfer that was cut short, or one that the direct way refuses. */
static int restart(struct tti_io *io, struct tti_io_request *request)
{
	if (request->is_direct && request->moved % TTI_IO_ALIGN != 0) {
		request->moved -= request->moved % TTI_IO_ALIGN;
		if (request->moved == 0) {
			request->is_direct = false;
			request->fd = io->fd;
		}
	}
	return io->engine->start(io->state, request);
}

/* true: done, with *rc_out; false: the request is with the engine again. */
static bool is_finished(struct tti_io *io, struct tti_io_request *request, int *rc_out)
{
	ssize_t result = request->result;

	if (result > 0)
		request->moved += (size_t)result;
	*rc_out = TT_OK;
	if (request->moved == request->block.n)
		return true;
	if (result == -EINVAL && request->is_direct) {
		/* a stricter alignment than ours: no direct way on this file */
		request->is_direct = false;
		request->fd = io->fd;
		request->moved = 0;
		io->direct_refused = true; /* not closed: others are in flight on it */
	} else if (result == 0) {
		*rc_out = request->is_write ? -ENOSPC : -ENODATA;
		return true;
	} else if (result < 0 && result != -EINTR && result != -EAGAIN) {
		*rc_out = (int)result;
		return true;
	}
	*rc_out = restart(io, request);
	return *rc_out < 0;
}

int tti_io_reap(struct tti_io *io, bool wait)
{
	struct tti_io_request *done, *next;
	int rc, count = 0;

	/* resumed transfers finish nothing: then wait again */
	do {
		if (io->in_flight == 0)
			return count;
		rc = io->engine->take(io->state, wait && count == 0, &done);
		if (rc < 0)
			return rc;
		for (; done; done = next) {
			next = done->next;
			if (is_finished(io, done, &rc)) {
				finish(io, done, rc);
				count++;
			}
		}
	} while (wait && count == 0);
	return count;
}

static int submit(struct tti_io *io, const struct tti_io_block *block, bool is_write)
{
	struct tti_io_request *request;
	int rc;

	if (is_write && io->first_error < 0)
		return io->first_error;
	if (block->offset > INT64_MAX || block->n > INT64_MAX - block->offset)
		return -EOVERFLOW;
	rc = is_write ? tti_step_submit(io->fd, block->bytes, block->n, block->offset)
		      : TT_OK;
	while (rc >= 0 && !io->free)
		rc = tti_io_reap(io, true);
	if (rc < 0)
		return rc;
	if (is_write && io->first_error < 0)
		return io->first_error; /* of one that was waited for */
	request = io->free;
	io->free = request->next;
	*request = (struct tti_io_request){ .block = *block,
					    .is_write = is_write,
					    .fd = io->fd };
	if (io->direct_fd >= 0 && !io->direct_refused && block->n > 0 &&
	    is_aligned(block)) {
		request->is_direct = true;
		request->fd = io->direct_fd;
	}
	rc = io->engine->start(io->state, request);
	if (rc < 0) {
		request->next = io->free;
		io->free = request;
		return rc;
	}
	io->in_flight++;
	return TT_OK;
}

int tti_io_write(struct tti_io *io, const struct tti_io_block *block)
{
	return submit(io, block, true);
}

int tti_io_read(struct tti_io *io, const struct tti_io_block *block)
{
	return submit(io, block, false);
}

int tti_io_drain(struct tti_io *io)
{
	while (io->in_flight > 0) {
		int rc = tti_io_reap(io, true);

		if (rc < 0)
			return rc;
	}
	return io->first_error;
}
