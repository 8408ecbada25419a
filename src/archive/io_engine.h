/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine is to io.c: it moves the bytes of requests, in any order, and gives each back
 * once, with what the kernel said of one attempt.  Everything else (limits, resuming, errors,
 * callbacks) is io.c's. */
#ifndef TTI_IO_ENGINE_H
#define TTI_IO_ENGINE_H

#include "archive/io.h"

struct tti_io_request {
	struct tti_io_block block;
	bool is_write, is_direct;
	int fd;
	size_t moved;	/* of block.n, by earlier attempts */
	ssize_t result; /* of this attempt: bytes, or a negated errno */
	struct tti_io_request *next;
};
/* No attempt moves more: the kernel's own limit is a little below 2 GiB. */
#define TTI_IO_MOST_BYTES ((size_t)1 << 30)

struct tti_io_engine {
	enum tt_archive_io kind;
	int (*open)(void **state_out, unsigned depth);
	/* TT_OK: the request is the engine's; at most depth are at a time. */
	int (*start)(void *state, struct tti_io_request *request);
	/* A list of finished requests in *done_out, NULL for none; waits for one when wait. */
	int (*take)(void *state, bool wait, struct tti_io_request **done_out);
	void (*close)(void *state); /* nothing is in flight */
};
extern const struct tti_io_engine tti_io_uring, tti_io_threads;

static inline size_t tti_io_attempt(const struct tti_io_request *request)
{
	size_t left = request->block.n - request->moved;

	return left < TTI_IO_MOST_BYTES ? left : TTI_IO_MOST_BYTES;
}

static inline char *tti_io_at(const struct tti_io_request *request)
{
	return (char *)request->block.bytes + request->moved;
}

#endif
