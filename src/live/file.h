/* SPDX-License-Identifier: Apache-2.0 */
/* The handle of a single live file.  Locks, waking, cursor and name are here; the bytes are
 * live_file.h's.
 * Invariant: a handle opened for writing holds the writer lock of the file that its path
 * names, until it is closed or the process dies. */
#ifndef TTI_FILE_H
#define TTI_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "live/file_mark.h"
#include "live/fork_guard.h"
#include "live/helper.h"
#include "live/live_file.h"
#include "live/place.h"
#include "ticktail/file.h"

/* Opened for writing, by recovery. */
struct tti_file_hints {
	bool cut_unproven; /* rows that nothing proves after a reboot are cut as those behind
			    * a mark are */
};

struct tt_file {
	struct tti_live live; /* first: appends touch its first lines and duty */
	struct tti_duty duty; /* initialised in handles that may write */
	struct tti_place place;
	struct tti_fork_guard guard, ring_guard;
	int ring_fd;	 /* holds the ring's writer lock, -1 for none; owned */
	bool appendable; /* false: reader, or only update is allowed */
	bool clean_rows, no_helper;
	bool begun; /* appended to: the threads know it */
	int64_t wake_us, sync_ms;
	struct tti_crew_opts crew_opts;
	unsigned char not_woken; /* sleeps in a row that ended by their timeout with rows
				  * there; at NOT_WOKEN: poll from now on */
	bool writer_lives;	 /* as of checked_ns: a writer of ours wakes sleepers */
	int64_t checked_ns;
	uint32_t publishes;
	uint64_t cursor;	  /* row from 0 of the file */
	struct tti_map *old_maps; /* of files this handle grew out of; owned */
	size_t old_count;

	/* work mutex; the atomics are read by the pulse too */
	_Atomic(int64_t) synced_ns; /* monotonic: the last try to sync, or the open */
	_Atomic(uint64_t) synced_end, seen_populated;
	uint64_t populated;
	struct tti_file_hints hints;
	bool lost; /* an fdatasync failed: rows may be gone */
	struct tti_file_marker marker;
	/* pulse */
	uint64_t seen_end;
};

/* ---- the two threads (file_duty.c) ---- */

int tti_file_init_duty(struct tt_file *file);
void tti_file_join(struct tt_file *file);
/* Nobody helps, and nothing but the stamp is to be done: appends need not look at each row. */
static inline bool tti_file_is_alone(const struct tt_file *file)
{
	return file->no_helper && file->wake_us == TT_WAKE_NEVER &&
	       file->sync_ms == TT_SYNC_NONE && file->live.tail;
}
/* Before the handle goes on with another file, or is closed; the next append joins again. */
void tti_file_leave(struct tt_file *file);
/* fdatasync with the work mutex held. */
int tti_file_sync_held(struct tt_file *file, struct tt_error *err);

/* The temporary name under which this file is copied: fixed for an inode, so that what a dead
 * process left is found and reused or removed. */
#define TTI_COPY_NAME_BYTES 48
int tti_file_copy_name(char out[TTI_COPY_NAME_BYTES], int fd);

/* Open place->name read-write and take its writer lock; the fd, or an error naming the pid. */
int tti_file_lock(const struct tti_place *place, struct tt_error *err);

/* tt_file_open() with hints (NULL: none). */
int tti_file_open_hinted(struct tt_file **out, const char *path,
			 const struct tt_file_open_opts *opts,
			 const struct tti_file_hints *hints, struct tt_error *err);

/* Open for the operations on a path: write, not in a ring. */
int tti_file_open_for(struct tt_file **out, const char *path, const char *what,
		      struct tt_error *err);

/* Replace the file by a copy of capacity rows (rounded up unless exact), or by an empty file;
 * the handle goes on with it. */
struct tti_file_copy {
	uint64_t capacity;
	bool exact, empty;
};
int tti_file_replace(struct tt_file *file, const struct tti_file_copy *how,
		     struct tt_error *err);

/* An empty file named by tti_file_copy_name(old), locked, with old's mode and owner. */
int tti_file_open_copy(const struct tti_place *place, int old, struct tt_error *err);
/* Copy rows [0, count) of from behind data_off of fd. */
int tti_file_copy_rows(const struct tti_live *from, uint64_t count, int fd,
		       uint64_t data_off, struct tt_error *err);

/* start and end as they may be shown. */
static inline int tti_file_bounds(const struct tt_file *file, uint64_t *start_out,
				  uint64_t *end_out, struct tt_error *err)
{
	if (TTI_UNLIKELY(file->live.shown != UINT64_MAX))
		tti_file_mark_look(file);
	return tti_live_bounds(&file->live, start_out, end_out, err);
}

/* The rows of one element do not lie side by side: no views. */
static inline bool tti_file_no_views(const struct tt_file *file)
{
	return !file->live.rows ||
	       (file->live.npy.fortran_order && file->live.npy.rank > 1);
}

#endif
