/* SPDX-License-Identifier: Apache-2.0 */
/* A ring as the ring*.c files see it: the directory, its mapped manifest and settings file,
 * what lies in it.  Protocols: docs/CONCURRENCY.md.
 *
 * Invariant: .lock and .ticktail are only ever grown, so a mapping of them never faults; what
 * they say is believed only after it was checked. */
#ifndef TTI_RING_H
#define TTI_RING_H

#include "base/compiler.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/map.h"
#include "format/manifest.h"
#include "format/settings.h"
#include "live/fork_guard.h"
#include "live/live_file.h"
#include "live/ring_words.h"
#include "ticktail/ring.h"

#define TTI_RING_WRITER_NAME ".writer"
#define TTI_RING_NEXT_NAME ".next"   /* the file being made by a roll */
#define TTI_RING_MERGE_NAME ".merge" /* the file being made by a merge */
#define TTI_RING_SETTINGS_TMP ".ticktail.new"
#define TTI_ROWS_UNKNOWN UINT64_MAX
#define TTI_NO_ENTRY UINT64_MAX
#define TTI_GONE_ENTRIES_KEPT 64

struct tti_ring {
	int dirfd, lock_fd, set_fd; /* owned; -1: not there */
	char *path;		    /* owned, for messages */
	bool writable;
	struct tti_map lock; /* empty: no manifest that can be used */
	uint64_t slots;
	struct tti_map set;	      /* empty: no settings file that can be used */
	struct tti_settings settings; /* when set is mapped */
	int set_rc;  /* TT_OK, -ENOENT, or why the settings file is not used */
	int lock_rc; /* the same of the manifest */
	struct tti_entry_index *index; /* owned; NULL: entries are searched one by one */
};
#define TTI_RING_EMPTY \
	{ \
		.dirfd = -1, .lock_fd = -1, .set_fd = -1 \
	}

/* Open dir with what is there of manifest and settings file.  TT_E_FORMAT when there is
 * neither. */
int tti_ring_open(struct tti_ring *ring, const char *dir, bool writable,
		  struct tt_error *err);
void tti_ring_close(struct tti_ring *ring);
/* Why the manifest is not used, in words: ring->lock_rc. */
int tti_ring_fail_manifest(const struct tti_ring *ring, struct tt_error *err);
/* Map what has grown or appeared since. */
void tti_ring_refresh(struct tti_ring *ring);
void tti_ring_refresh_manifest(struct tti_ring *ring);
/* "dir/name" for messages. */
const char *tti_ring_path(const struct tti_ring *ring, const char *name, char *buf,
			  size_t size);
#define TTI_RING_PATH_BYTES 4352 /* PATH_MAX and a name: reports are cut nowhere */

static inline tti_word *tti_ring_slots(const struct tti_ring *ring)
{
	return ring->lock.addr;
}

static inline struct tti_words *tti_ring_words(const struct tti_ring *ring)
{
	return ring->set.addr ? (void *)((char *)ring->set.addr + TTI_WORDS_OFF) : NULL;
}

/* ---- names ---- */

struct tti_names {
	uint64_t *at; /* malloc'ed */
	size_t count, room;
};
static inline void tti_names_free(struct tti_names *names)
{
	free(names->at);
	*names = (struct tti_names){ 0 };
}
#define tti_auto_names TTI_CLEANUP(tti_names_free) struct tti_names

/* The queue at one instant, ascending.  Without a manifest, or with one that names nothing:
 * every file there is. */
int tti_ring_queue(struct tti_ring *ring, struct tti_names *out, struct tt_error *err);
/* The newest name by the manifest (acquire), 0 for none. */
uint64_t tti_ring_newest(const struct tti_ring *ring);

/* One file of the ring as found in the directory. */
struct tti_ring_item {
	uint64_t name;
	bool merged;
	bool shadowed;	/* its rows are in a merged file: not to be shown */
	bool published; /* not newer than the manifest's newest */
	bool queued, sealed;
};
struct tti_items {
	struct tti_ring_item *at; /* malloc'ed, ascending by name */
	size_t count, room;
	uint64_t newest; /* by the manifest */
};
static inline void tti_items_free(struct tti_items *items)
{
	free(items->at);
	*items = (struct tti_items){ 0 };
}
#define tti_auto_items TTI_CLEANUP(tti_items_free) struct tti_items

/* The first item of that name (a merged file comes first), or NULL. */
struct tti_ring_item *tti_items_find(const struct tti_items *items, uint64_t name);

/* Is there any regular file with a ring's name? */
bool tti_ring_has_files(struct tti_ring *ring);
/* All regular files with a ring's names, judged by one snapshot of the manifest. */
int tti_ring_list(struct tti_ring *ring, struct tti_items *out, struct tt_error *err);
/* The same for a maintainer that has its lock and goes by entries.  The settings file may have
 * grown since it was mapped; here each file of the list that a writer of ours made has an entry
 * that can be found.  Pointers to entries from before are not valid any more. */
int tti_ring_list_entered(struct tti_ring *ring, struct tti_items *out,
			  struct tt_error *err);
/* The same without those shadowed or not published. */
int tti_ring_visible(struct tti_ring *ring, struct tti_items *out, struct tt_error *err);

/* ---- entries ---- */

static inline uint64_t tti_ring_entry_count(const struct tti_ring *ring)
{
	return ring->set.addr ? tti_settings_entries(ring->set.bytes) : 0;
}

static inline struct tti_entry *tti_ring_entry(const struct tti_ring *ring, uint64_t idx)
{
	return (struct tti_entry *)(void *)((char *)ring->set.addr + TTI_ENTRIES_OFF) +
	       idx;
}

/* The entry of a file, or TTI_NO_ENTRY. */
uint64_t tti_ring_find_entry(const struct tti_ring *ring, uint64_t name);
/* The same by looking at all of them. */
uint64_t tti_ring_search_entry(const struct tti_ring *ring, uint64_t name);
/* From now on tti_ring_find_entry() remembers where entries are; for handles of one thread.
 * Freed with the ring. */
int tti_ring_index_entries(struct tti_ring *ring);
void tti_ring_index_free(struct tti_ring *ring);
uint64_t tti_ring_index_find(const struct tti_ring *ring, uint64_t name);
/* An entry for name, found or made (growing the file when needed); a new one holds rows
 * unknown, no first row, base as given. */
int tti_ring_make_entry(struct tti_ring *ring, uint64_t name, uint64_t base,
			uint64_t *idx_out, struct tt_error *err);
/* Its two halves: an entry that is nobody else's, and then what it says. */
int tti_ring_claim_entry(struct tti_ring *ring, uint64_t *idx_out, struct tt_error *err);
void tti_entry_fill(struct tti_entry *entry, uint64_t name, uint64_t base);
/* The ring is not ours: no settings file, or the newest file has no entry in it. */
bool tti_ring_is_foreign(const struct tti_ring *ring);
/* The day of a file: its entry, or its name, or mtime when the name lies in the future. */
int64_t tti_ring_first_row_ns(const struct tti_ring *ring,
			      const struct tti_ring_item *item);

/* ---- files ---- */

/* Open one file of the ring: to be read by pread, to be read mapped, or to be written. */
int tti_ring_open_file(const struct tti_ring *ring, uint64_t name, bool merged,
		       struct tti_live *live, struct tt_error *err);
int tti_ring_map_file(const struct tti_ring *ring, uint64_t name, bool merged,
		      struct tti_live *live, struct tt_error *err);
int tti_ring_open_writable(const struct tti_ring *ring, uint64_t name,
			   struct tti_live *live, struct tt_error *err);
/* An error that npyt's newest file may give while it is being made: it has no rows yet. */
bool tti_ring_is_incomplete(int rc);
/* An error that damage of the file itself gives, be it newest or not. */
bool tti_ring_is_damage(int rc);
/* What a row of the ring is, by most of its newest files; also a file that does not open but
 * whose header can be read may tell.  1 found, 0 no file says it, or an error.  The caller
 * calls tti_ring_like_fini(). */
struct tti_ring_like {
	struct tti_npy npy; /* owned */
	uint64_t capacity;
	uint32_t tail_words;
	unsigned
		votes; /* files that say so, of which header, size and tail agree; 0: none does */
	bool split; /* and as many say another type */
};
int tti_ring_find_like(struct tti_ring *ring, struct tti_ring_like *out,
		       struct tt_error *err);
void tti_ring_like_fini(struct tti_ring_like *like); /* accepts an empty one */
/* The same dtype and row shape? */
bool tti_ring_same_rows(const struct tti_npy *a, const struct tti_npy *b);

/* ---- writer lock ---- */

struct tti_ring_lock {
	int fd; /* .writer; -1: not held */
	struct tti_fork_guard guard;
};
/* byte: TTI_LOCK_WRITER or TTI_LOCK_MAINTAINER.  TT_E_BUSY names the pid.  The struct stays
 * where it is until it is dropped. */
int tti_ring_lock(struct tti_ring_lock *lock, const struct tti_ring *ring, int64_t byte,
		  struct tt_error *err);
void tti_ring_unlock(struct tti_ring_lock *lock);
/* This process is a child that a fork made of the one that has it. */
bool tti_ring_lock_is_inherited(const struct tti_ring_lock *lock);
/* A writer of ours lives: its pid, -1 not known, 0 none. */
int64_t tti_ring_writer_pid(const struct tti_ring *ring);

/* ---- repairing; the caller holds the writer lock ---- */

/* Words on what was done, appended to text. */
struct tti_repair {
	char text[512];
};
void tti_repair_add(struct tti_repair *repair, const char *fmt, ...) TTI_PRINTF(2, 3);

/* Make the manifest right when it is missing or damaged, and at least keep slots long. */
int tti_ring_mend_manifest(struct tti_ring *ring, uint64_t keep, bool force,
			   struct tti_repair *repair, struct tt_error *err);
/* Make a settings file when there is none; a damaged one is copied aside first.  newest: the
 * open newest file. */
int tti_ring_mend_settings(struct tti_ring *ring, const struct tti_live *newest,
			   struct tti_repair *repair, struct tt_error *err);
/* Header, copies and what lies between them made again from the settings that are used; the old
 * file is copied aside first. */
int tti_ring_remake_settings(struct tti_ring *ring, char aside[64], struct tt_error *err);
/* Keep what is damaged as name.bad-N: a copy of what is then mended in place, or, of a file
 * that will be made anew or not at all, the file itself. */
int tti_ring_set_aside(struct tti_ring *ring, const char *name, char aside[64],
		       struct tt_error *err);
int tti_ring_move_aside(struct tti_ring *ring, const char *name, char aside[64],
			struct tt_error *err);

/* ---- publishing; the caller holds the writer lock ---- */

/* Enter name, larger than all that are there, into the manifest. */
int tti_ring_publish_name(struct tti_ring *ring, uint64_t name, struct tt_error *err);

/* ---- deleting (ring_prune.c) ---- */

/* Bytes that files of rows, files being made and files put aside take on disk. */
int tti_ring_disk_bytes(const struct tti_ring *ring, uint64_t *out, struct tt_error *err);
/* Delete the oldest files outside the queue until max_bytes holds with a next file of
 * next_bytes.  The caller holds the writer lock on writer_fd.  1: another maintainer is at
 * work, look again later.  TT_E_FULL when it cannot be met, with words. */
int tti_ring_keep_under_limit(struct tti_ring *ring, int writer_fd, uint64_t next_bytes,
			      struct tt_error *err);
/* What a merge that died left: temporary file, joined files.  items loses those.  The caller
 * holds the maintainers' lock. */
int tti_ring_finish_merge(struct tti_ring *ring, struct tti_items *items,
			  struct tt_error *err);
/* The manifest cannot be used, so nobody knows what left the queue: why. */
int tti_ring_fail_no_manifest(const struct tti_ring *ring, struct tt_error *err);

/* ---- settings ---- */

int tti_ring_settings_from(struct tti_settings *out, const struct tt_ring_opts *opts,
			   struct tt_error *err);
void tti_ring_settings_to(struct tt_ring_opts *out, const struct tti_settings *settings);
/* Store as the other copy, with the next sequence, synced. */
int tti_ring_store_settings(struct tti_ring *ring, struct tti_settings *settings,
			    struct tt_error *err);
/* The whole file, entries and marks too. */
int tti_ring_sync_settings(const struct tti_ring *ring, struct tt_error *err);

/* ---- for tests ---- */

/* The wall clock that names files. */
void tti_ring_writer_set_clock(struct tt_ring_writer *writer, int64_t (*clock_ns)(void));

#endif
