/* SPDX-License-Identifier: Apache-2.0 */
/* A shared mapping of a file's bytes, from offset 0. */
#ifndef TTI_MAP_H
#define TTI_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/compiler.h"

struct tti_map {
	void *addr;   /* NULL when empty */
	size_t bytes; /* length asked for */
	pid_t pid;    /* who has it */
};

/* Map [0, bytes) of fd; bytes 0 gives an empty map.  Marked MADV_DONTFORK, so that a forked
 * child can neither write rows nor keep the pages: it does not have the mapping. */
int tti_map_open(struct tti_map *map, int fd, uint64_t bytes, bool writable);
/* The same of [offset, offset + bytes), writable; offset is that of a page. */
int tti_map_part(struct tti_map *map, int fd, uint64_t offset, size_t bytes);
/* Accepts an empty map; idempotent.  In a child of a fork only forgets it: where it was the
 * child may have something of its own by now. */
void tti_map_close(struct tti_map *map);
#define tti_auto_map TTI_CLEANUP(tti_map_close) struct tti_map

#endif
