/* SPDX-License-Identifier: Apache-2.0 */
/* io_uring: one ring, one thread that submits and reaps.  Only what liburing 2.3 and Linux 5.6
 * have is needed; newer setup flags are tried. */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>

#include "archive/io_engine.h"

struct ring {
	struct io_uring uring;
	unsigned depth;
};

/* Most is offered first; a kernel that does not know a flag says EINVAL. */
static int init_queue(struct io_uring *uring, unsigned depth)
{
	static const unsigned flags[] = {
#if defined(IORING_SETUP_SINGLE_ISSUER) && defined(IORING_SETUP_DEFER_TASKRUN)
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			IORING_SETUP_TASKRUN_FLAG,
#endif
#ifdef IORING_SETUP_COOP_TASKRUN
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
#endif
		0,
	};
	int rc = -EINVAL;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && rc == -EINVAL; i++)
		rc = io_uring_queue_init(depth, uring, flags[i]);
	/* liburing 2.3 lets -1 through where the system call itself is filtered */
	return rc == -1 ? -EPERM : rc;
}

static bool can_read_and_write(struct io_uring *uring)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(uring);
	bool can = probe && io_uring_opcode_supported(probe, IORING_OP_READ) &&
		   io_uring_opcode_supported(probe, IORING_OP_WRITE);

	io_uring_free_probe(probe);
	return can;
}

static int ring_open(void **state_out, unsigned depth)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	int rc;

	if (!ring)
		return -ENOMEM;
	ring->depth = depth;
	rc = init_queue(&ring->uring, depth);
	if (rc < 0) {
		free(ring);
		return rc;
	}
	io_uring_ring_dontfork(&ring->uring);
	if (!can_read_and_write(&ring->uring)) {
		io_uring_queue_exit(&ring->uring);
		free(ring);
		return -ENOSYS;
	}
	*state_out = ring;
	return TT_OK;
}

static void ring_close(void *state)
{
	struct ring *ring = state;

	io_uring_queue_exit(&ring->uring);
	free(ring);
}

static int ring_start(void *state, struct tti_io_request *request)
{
	struct ring *ring = state;
	/* depth requests at most are in flight, so that an entry is always free */
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);
	unsigned n = (unsigned)tti_io_attempt(request);
	uint64_t offset = request->block.offset + request->moved;

	if (!sqe)
		return -EBUSY;
	if (request->is_write)
		io_uring_prep_write(sqe, request->fd, tti_io_at(request), n, offset);
	else
		io_uring_prep_read(sqe, request->fd, tti_io_at(request), n, offset);
	io_uring_sqe_set_data(sqe, request);
	/* refused for the moment: the entry stays queued and goes with the next call, which
	 * also tells an error that lasts */
	io_uring_submit(&ring->uring);
	return TT_OK;
}

static int ring_take(void *state, bool wait, struct tti_io_request **done_out)
{
	struct ring *ring = state;
	struct io_uring_cqe *cqe;
	int rc;

	*done_out = NULL;
	do
		rc = wait ? io_uring_submit_and_wait(&ring->uring, 1)
			  : io_uring_submit(&ring->uring);
	while (rc == -EINTR || (wait && rc == -EAGAIN));
	if (rc < 0 && rc != -EAGAIN && rc != -EBUSY)
		return rc;
	/* completions deferred to this thread are made by looking for them */
	while (io_uring_peek_cqe(&ring->uring, &cqe) == 0) {
		struct tti_io_request *request = io_uring_cqe_get_data(cqe);

		request->result = cqe->res;
		request->next = *done_out;
		*done_out = request;
		io_uring_cqe_seen(&ring->uring, cqe);
	}
	return TT_OK;
}

const struct tti_io_engine tti_io_uring = {
	.kind = TT_IO_URING,
	.open = ring_open,
	.start = ring_start,
	.take = ring_take,
	.close = ring_close,
};
