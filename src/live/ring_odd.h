/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the place of one of a ring's own files (.lock, .ticktail, .writer) and is no
 * regular file: a link, a FIFO, a device, a directory, a socket (ring_odd.c).
 * Invariant: it is never opened and never followed; what is put aside is the name itself. */
#ifndef TTI_RING_ODD_H
#define TTI_RING_ODD_H

#include "live/ring.h"

/* In words, NULL when the name is a regular file's or nobody's. */
const char *tti_ring_odd_kind(const struct tti_ring *ring, const char *name);

/* TT_OK, or TT_E_FORMAT saying what stands there and what to do. */
int tti_ring_refuse_odd(const struct tti_ring *ring, const char *name,
			struct tt_error *err);

/* Recovering: put it aside as name.bad-N.  .writer before its lock is taken: refused while a
 * writer lives, or when nothing tells whether one does.  The others under that lock; the caller
 * refreshes the ring. */
int tti_ring_put_odd_writer_aside(struct tti_ring *ring, struct tti_repair *repair,
				  struct tt_error *err);
int tti_ring_put_odd_aside(struct tti_ring *ring, const char *name,
			   struct tti_repair *repair, struct tt_error *err);

#endif
