/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that append_peers compares with.  Each is set up as its makers advise for speed without
 * durability; a row is visible to another process when append returns, which read_back() run in
 * a process of its own proves. */
#ifndef TICKTAIL_BENCH_PEERS_H
#define TICKTAIL_BENCH_PEERS_H

#include "bench.h"

struct peer {
	const char *name;
	/* NULL: built without it */
	void *(*open)(const char *path);
	/* count rows as one unit of visibility; 0, or dies */
	void (*append)(void *store, const struct bench_tick *rows, uint64_t count);
	void (*close)(void *store);
	/* What a process that opens path now sees: rows, and ts of the last. */
	uint64_t (*read_back)(const char *path, int64_t *last_out);
};

extern const struct peer peer_lmdb, peer_sqlite, peer_hdf5, peer_hdf5_swmr;

#endif
