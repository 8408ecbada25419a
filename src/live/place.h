/* SPDX-License-Identifier: Apache-2.0 */
/* Where a path lies: its directory, its name there, and whether a ring owns the directory.
 * Needs search permission on the directory only. */
#ifndef TTI_PLACE_H
#define TTI_PLACE_H

#include <stdbool.h>
#include "ticktail/error.h"

struct tti_place {
	int dirfd;	  /* O_PATH; owned */
	char *path;	  /* owned */
	const char *name; /* in path */
	bool in_ring;	  /* the directory holds a manifest or a settings file */
};
#define TTI_PLACE_EMPTY \
	{ \
		.dirfd = -1 \
	}

/* With real, links are followed first, so that a rename hits the file and not a link to it;
 * the path must then exist. */
int tti_place_open(struct tti_place *place, const char *path, bool real,
		   struct tt_error *err);
void tti_place_close(struct tti_place *place); /* accepts an empty one */
#define tti_auto_place TTI_CLEANUP(tti_place_close) struct tti_place

/* fsync of the directory. */
int tti_place_sync(const struct tti_place *place, struct tt_error *err);

/* A file that is filled before it gets its name: without any name where the file system
 * allows it, so that a kill leaves nothing behind, else under a temporary one. */
struct tti_new_file {
	int fd;	      /* owned */
	char tmp[64]; /* "" for none */
};
#define TTI_NEW_FILE_EMPTY \
	{ \
		.fd = -1 \
	}
int tti_place_new(const struct tti_place *place, struct tti_new_file *out,
		  struct tt_error *err);
/* Give it the place's name, never over an existing one: -EEXIST.  Consumes file in any
 * case. */
int tti_place_link(const struct tti_place *place, struct tti_new_file *file,
		   struct tt_error *err);
void tti_place_drop(const struct tti_place *place, struct tti_new_file *file);

/* TT_E_UNSUPPORTED naming the ring when the place lies in one. */
int tti_place_refuse_ring(const struct tti_place *place, const char *what,
			  struct tt_error *err);

#endif
