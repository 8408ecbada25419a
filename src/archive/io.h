/* SPDX-License-Identifier: Apache-2.0 */
/* The io engine: reads and writes of large blocks of one file, many at a time.
 *
 * Two engines behind one face: io_uring, and a pool of threads with pread and pwrite where
 * io_uring is refused; chosen once, at open.  A handle belongs to one thread: that thread
 * submits, and done callbacks run on it, inside submit, reap, drain or close, never on a
 * worker.  A buffer belongs to the engine from submit until its callback.
 *
 * Blocks whose address, length and buffer are multiples of 4096 go past the page cache where
 * the file system allows; all others through it.  No page is written both ways, because a
 * block that is written directly has its pages to itself. */
#ifndef TTI_IO_H
#define TTI_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ticktail/archive.h"
#include "base/compiler.h"
#include "base/error.h"

#define TTI_IO_ALIGN 4096u

struct tti_io;

/* rc: TT_OK (all n bytes) or a negated errno; -ENODATA: a read past the end of the file. */
typedef void tti_io_done_fn(void *ctx, int rc);

struct tti_io_block {
	void *bytes; /* only read from when writing */
	size_t n;
	uint64_t offset;
	tti_io_done_fn *done; /* may be NULL */
	void *ctx;
};

struct tti_io_opts {
	enum tt_archive_io kind; /* TT_IO_URING: refused -> an error that says why */
	unsigned depth;		 /* requests in flight, 0: 16 */
	bool direct;		 /* go past the page cache where possible; without it, or
				  * where it is not, TT_IO_AUTO takes threads */
};

/* fd stays the caller's and must outlive the handle; path is for messages. */
int tti_io_open(struct tti_io **out, int fd, const char *path,
		const struct tti_io_opts *opts, struct tt_error *err);
/* Waits for what is in flight (callbacks run), then frees.  Accepts NULL inside. */
void tti_io_close(struct tti_io **io);
#define tti_auto_io TTI_CLEANUP(tti_io_close) struct tti_io

enum tt_archive_io tti_io_kind(const struct tti_io *io);

/* Start a block; waits for others while depth are in flight.  The first failed write makes
 * every later one fail: TT_OK means taken, otherwise the callback is not called. */
int tti_io_write(struct tti_io *io, const struct tti_io_block *block);
/* Commits only write; that the engines read back what they wrote is for tests, which share the
 * way of a block through them. */
int tti_io_read(struct tti_io *io, const struct tti_io_block *block);

/* Run the callbacks of what has finished; wait for at least one when wait and any are in
 * flight.  The number run, or a negated errno of the engine itself. */
int tti_io_reap(struct tti_io *io, bool wait);
unsigned tti_io_in_flight(const struct tti_io *io);

/* Wait for all.  The first error of any write so far, which stays, or TT_OK. */
int tti_io_drain(struct tti_io *io);

#endif
