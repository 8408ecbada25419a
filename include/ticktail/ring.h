/* SPDX-License-Identifier: Apache-2.0 */
/* A ring (NPY8): a directory of live files that never ends.
 *
 * Appends go to the newest file; when it is full (or on demand, or at a time of day) a new one
 * is made and its name enters the manifest.  The newest keep files are the queue; older ones
 * stay on disk until somebody merges or prunes them.  A file is sealed when the manifest names
 * a newer one; its rows then never change.
 *
 * A position is (file name, row from 0 of that file): it stays true across rolls, restarts and
 * merges, and can be stored.
 *
 * Threads:    a handle belongs to one thread at a time.
 * Processes:  one writer by a kernel lock; readers need read permission only.
 * Fork:       a child may only _exit() or exec; handles stay the parent's.  One that closes
 *             them all the same, as destructors do, changes nothing of the ring.
 * Units:      counts are rows, sizes bytes, times UTC nanoseconds since 1970.
 * Visibility: rows are visible to every reader when the call that published them returns.
 * Durability: visible is not durable; rolls sync the finished file, see tt_ring_opts.sync_ms.
 * Views:      point into the reader's mappings, valid as long as the call that gives them says.
 * Format and protocol: docs/FORMAT.md, docs/CONCURRENCY.md. */
#ifndef TICKTAIL_RING_H
#define TICKTAIL_RING_H

#include <ticktail/file.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tt_ring_opts {
	size_t struct_size;
	uint64_t capacity; /* rows a file */
	uint64_t keep;	   /* files in the queue, at least 2 */
	uint32_t row_rank;
	const uint64_t *row_shape;
	/* 0: no limit on what lies on disk; else each roll removes the oldest files outside the
	 * queue until the rest fits.  Files in the queue are never removed. */
	uint64_t max_bytes;
	int64_t sync_ms;       /* TT_SYNC_NONE, TT_SYNC_EACH or milliseconds */
	int32_t roll_at_s;     /* second of the UTC day, -1 none */
	bool batches_whole;    /* a batch that does not fit starts a new file */
	bool exact;	       /* as in struct tt_file_create_opts */
	uint32_t tail_words;   /* 0 or 5; 4: files that npyt 0.3.x can read */
	bool force_network_fs; /* as in struct tt_ring_writer_opts; is not stored */
};
#define TT_RING_OPTS_INIT \
	{ \
		.struct_size = sizeof(struct tt_ring_opts), .sync_ms = TT_SYNC_DEFAULT, \
		.roll_at_s = -1 \
	}

/* Make dir, its manifest, its settings file and its first, empty file; all or nothing.
 * Errors: -EEXIST, TT_E_RANGE, -ENOSPC, ... */
TT_API int tt_ring_create(const char *dir, const struct tt_dtype *dtype,
			  const struct tt_ring_opts *opts, struct tt_error *err);
/* Replace the settings of an existing ring (needs the writer lock; keep may only rise).
 * capacity, keep and tail_words 0 leave them as they are; the row shape is not looked at. */
TT_API int tt_ring_set(const char *dir, const struct tt_ring_opts *opts,
		       struct tt_error *err);

struct tt_pos {
	uint64_t file; /* name */
	uint64_t row;  /* from 0 of the file */
};

struct tt_ring_file {
	uint64_t name;
	char file_name[32]; /* in the directory */
	uint64_t start, end, capacity;
	bool sealed, queued, merged;
	int64_t first_row_ns; /* wall clock of the first row; else what the name says */
	bool damaged;	      /* it cannot be read: start, end and capacity are 0 */
	bool cut; /* rows from cut_at on went with the power, or will at the next writer's open;
		   * they may have been seen, and nothing else ever gets their positions */
	uint64_t cut_at;
};

/* One consistent look at a ring. */
struct tt_ring_info {
	struct tt_dtype *dtype;
	uint32_t row_rank;
	uint64_t row_shape[TT_MAX_RANK];
	uint64_t row_bytes, capacity, keep, rows;
	int64_t writer_pid;  /* 0 none, -1 not known */
	uint8_t ring_id[16]; /* all zero: a foreign ring (npyt's) */
	bool foreign;
	struct tt_ring_opts opts; /* as stored; defaults in a foreign ring */
	struct tt_ring_file
		*files; /* ascending by name; files not yet published left out */
	size_t file_count;
};
TT_API int tt_ring_info(const char *dir, struct tt_ring_info *out, struct tt_error *err);
TT_API void tt_ring_info_free(struct tt_ring_info *info); /* accepts an empty one */

/* ---- Writing ---- */

struct tt_ring_writer;

/* Two threads a process serve all its writers: one wakes sleeping readers and watches, the
 * other does what may take long: pages faulted in ahead, the next file made and named before
 * it is needed, timed syncs, rolls that are asked for or due while no row comes.  They start with
 * the first writer that wants them and end with the last.  Late or without them everything is
 * right, appends take longer, and what was to happen in time happens at the next append or
 * tt_ring_writer_idle(). */
struct tt_ring_writer_opts {
	size_t struct_size;
	int64_t sync_ms; /* INT64_MIN: as stored in the ring */
	/* sleeping readers are woken TT_WAKE_EACH append, TT_WAKE_NEVER, or so many us after
	 * rows came, at most; without helper a period means each */
	int64_t wake_us;
	bool clean_rows; /* struct padding is zero already */
	bool force_network_fs;
	bool no_helper; /* no thread for this writer */
	/* of the first writer that starts the threads: their processor, -1 for any of the
	 * process's but the one that the caller is pinned to, and their nice value, 0 for
	 * that of the caller */
	int helper_cpu;
	int helper_nice;
};
#define TT_RING_WRITER_OPTS_INIT \
	{ \
		.struct_size = sizeof(struct tt_ring_writer_opts), .sync_ms = INT64_MIN, \
		.wake_us = TT_WAKE_DEFAULT, .helper_cpu = -1 \
	}

/* Take the writer lock and finish what a dead writer left half done; what was repaired can be
 * asked by tt_ring_writer_repaired().  Another writer is waited for as long as who seals a ring
 * holds the lock: a quarter of a second.  Errors: TT_E_BUSY with the pid, TT_E_DAMAGED, ... */
TT_API int tt_ring_writer_open(struct tt_ring_writer **out, const char *dir,
			       const struct tt_ring_writer_opts *opts,
			       struct tt_error *err);
/* Accepts NULL.  An error that is not TT_OK: rows may not be on disk (a sync of the helper's, or
 * the last one, failed).  Closed in any case. */
TT_API int tt_ring_writer_close(struct tt_ring_writer *writer);
/* Words on what the open repaired, "" for nothing. */
TT_API const char *tt_ring_writer_repaired(const struct tt_ring_writer *writer);
TT_API const struct tt_dtype *tt_ring_writer_dtype(const struct tt_ring_writer *writer);
TT_API uint64_t tt_ring_writer_row_bytes(const struct tt_ring_writer *writer);

/* Append count rows across files.  Hot path: a look at one word, a copy, a store: no lock, no
 * allocation, no clock, no system call, but with wake or sync each, without helper, and at a
 * roll whose file the helper did not make and name in time; any other roll is stores, too, and
 * one look at a clock.  Where each append wakes, or nobody helps, a clock is read each 64 rows;
 * each row, when it is synced or nobody else looks for the time of a sync or roll.  On an error
 * (a roll that failed: -ENOSPC, ...) the rows published before it stay; *done_out (may be NULL)
 * counts those of this call.  The writer can go on after the cause is gone. */
TT_API int tt_ring_append(struct tt_ring_writer *writer, const void *rows, uint64_t count,
			  uint64_t *done_out, struct tt_error *err);
/* Room for up to count rows in the newest file, rolling first when it is full; *got_out is
 * what lies at the returned place. */
TT_API void *tt_ring_reserve(struct tt_ring_writer *writer, uint64_t count,
			     uint64_t *got_out, struct tt_error *err);
TT_API int tt_ring_publish(struct tt_ring_writer *writer, uint64_t count);
/* Seal: start a new file now; nothing to do when the newest is empty. */
TT_API int tt_ring_roll(struct tt_ring_writer *writer, struct tt_error *err);
/* All rows so far to disk.  Also an error that the helper met since the last call, and again
 * for as long as rows of a file are concerned whose fdatasync failed, or until the writer is
 * opened anew when the directory, settings or manifest could not be synced. */
TT_API int tt_ring_sync(struct tt_ring_writer *writer, struct tt_error *err);
/* Position after the last row. */
TT_API struct tt_pos tt_ring_writer_pos(const struct tt_ring_writer *writer);
/* What must happen in time when no row comes: answer seal requests, timed sync and roll.  The
 * helper does it; a writer without one calls this about every 100 ms from its thread. */
TT_API int tt_ring_writer_idle(struct tt_ring_writer *writer, struct tt_error *err);

/* ---- Reading ---- */

struct tt_ring_reader;

struct tt_ring_reader_opts {
	size_t struct_size;
	bool queued_only; /* else every file still on disk */
	bool seal_only;	  /* sealed files only */
};
#define TT_RING_READER_OPTS_INIT \
	{ \
		.struct_size = sizeof(struct tt_ring_reader_opts) \
	}

/* Stands at the oldest row.  Views that tt_ring_read() gives stay valid until the reader stands
 * two files further on, wherever it went, or is closed; so at any time a reader holds a few
 * files, however many it went through. */
TT_API int tt_ring_reader_open(struct tt_ring_reader **out, const char *dir,
			       const struct tt_ring_reader_opts *opts,
			       struct tt_error *err);
TT_API void tt_ring_reader_close(struct tt_ring_reader *reader);
TT_API const struct tt_dtype *tt_ring_reader_dtype(const struct tt_ring_reader *reader);
TT_API uint64_t tt_ring_reader_row_bytes(const struct tt_ring_reader *reader);
TT_API uint32_t tt_ring_reader_row_rank(const struct tt_ring_reader *reader);
TT_API const uint64_t *tt_ring_reader_row_shape(const struct tt_ring_reader *reader);

/* Up to count new rows of one file, preceded by up to prefetch rows of that file read before:
 * 1 rows, 0 nothing new, < 0 error.  *pos_out (may be NULL) is the position of view row 0. */
TT_API int tt_ring_read(struct tt_ring_reader *reader, uint64_t count, uint64_t prefetch,
			struct tt_view *out, struct tt_pos *pos_out,
			struct tt_error *err);
/* Rows that were lost since the last call because their files are gone; the reader goes on at
 * the oldest row there is. */
TT_API uint64_t tt_ring_reader_lost(struct tt_ring_reader *reader);
/* Rows before the place a seek was asked for that were cut after a power loss, since the last
 * call: they had been visible and were not on disk.  The reader goes on behind the last row
 * that was kept; nothing else ever gets their positions. */
TT_API uint64_t tt_ring_reader_cut(struct tt_ring_reader *reader);
/* To be asked before the count is taken: rows of npyt's files, which it does not number, are
 * missing too, and the count is the least that it can be. */
TT_API bool tt_ring_reader_lost_more(const struct tt_ring_reader *reader);
/* Words on files that were passed over since the last call because they are damaged, "" for
 * none; valid until the next call.  Their rows count as lost where their number is known;
 * tt_ring_recover() brings back what can be read. */
TT_API const char *tt_ring_reader_passed(struct tt_ring_reader *reader);
TT_API struct tt_pos tt_ring_tell(const struct tt_ring_reader *reader);
/* How many rows the ring ever had before the reader's place.  Stored with the position it keeps
 * the count of lost rows exact, whatever became of the files between.  Not known in files that
 * npyt wrote. */
#define TT_NUMBER_UNKNOWN UINT64_MAX
TT_API uint64_t tt_ring_tell_number(const struct tt_ring_reader *reader);
/* The id of the ring, for which positions and numbers hold; false (and zeros) for a ring
 * without one. */
TT_API bool tt_ring_reader_id(const struct tt_ring_reader *reader, uint8_t id_out[16]);
/* Go to a stored position; of a merged file the old names still work.  A file that is gone:
 * stands at the next that is there, and the loss is counted when it can be known.
 * TT_E_RANGE: a row past what the file has. */
TT_API int tt_ring_seek(struct tt_ring_reader *reader, struct tt_pos pos,
			struct tt_error *err);
/* The same with the number that was stored with it, or TT_NUMBER_UNKNOWN. */
TT_API int tt_ring_seek_number(struct tt_ring_reader *reader, struct tt_pos pos,
			       uint64_t number, struct tt_error *err);
TT_API int tt_ring_seek_first(struct tt_ring_reader *reader, struct tt_error *err);
TT_API int tt_ring_seek_last(struct tt_ring_reader *reader,
			     struct tt_error *err); /* after the last row */
/* Go back so that the next reads give the last count rows (fewer when there are fewer). */
TT_API int tt_ring_seek_tail(struct tt_ring_reader *reader, uint64_t count,
			     struct tt_error *err);

/* The last (first) count rows as one view a file, oldest first, nothing copied.  *views_out is
 * malloc'ed; the views live until the next call of either, or until the reader is closed. */
TT_API int tt_ring_tail(struct tt_ring_reader *reader, uint64_t count,
			struct tt_view **views_out, size_t *n_out, struct tt_error *err);
TT_API int tt_ring_head(struct tt_ring_reader *reader, uint64_t count,
			struct tt_view **views_out, size_t *n_out, struct tt_error *err);

/* Wait for something new after the reader's place: 1, 0 when the time is over, < 0. */
TT_API int tt_ring_wait(struct tt_ring_reader *reader, enum tt_wait how,
			int64_t timeout_ns, struct tt_error *err);

/* ---- Maintenance; each may run beside the feed ---- */

/* All rows so far into sealed files: asks the live writer, or rolls itself when there is none.
 * A writer to which no row comes sees to it within 250 ms.
 * *sealed_out (may be NULL): false when the newest file was empty, nothing to do.
 * TT_E_TIMEOUT naming the pid. */
TT_API int tt_ring_seal(const char *dir, int64_t timeout_ns, bool *sealed_out,
			struct tt_error *err);
struct tt_ring_seal_opts {
	size_t struct_size;
	int64_t timeout_ns;
	bool force_network_fs; /* as in struct tt_ring_writer_opts */
};
#define TT_RING_SEAL_OPTS_INIT \
	{ \
		.struct_size = sizeof(struct tt_ring_seal_opts), \
		.timeout_ns = INT64_C(10000000000) \
	}
/* The same with options; opts NULL: those of the macro. */
TT_API int tt_ring_seal_with(const char *dir, const struct tt_ring_seal_opts *opts,
			     bool *sealed_out, struct tt_error *err);
/* Join files that left the queue, batch of them into one (0: all, until a file
 * has 256 MiB of rows).  *merged_out counts the files joined.  allow (may be NULL) says for each
 * file whether it may be touched. */
typedef bool tt_ring_allow_fn(void *ctx, const struct tt_ring_file *file);
TT_API int tt_ring_merge(const char *dir, uint64_t batch, tt_ring_allow_fn *allow,
			 void *ctx, uint64_t *merged_out, struct tt_error *err);
/* The files whose rows a merged file holds, in the order of their rows. */
struct tt_ring_part {
	uint64_t name;	    /* of the joined file */
	char file_name[32]; /* that it had in the directory */
	uint64_t row;	    /* its row 0 in the merged file */
	uint64_t rows;	    /* rows from 0 of it */
	int64_t first_row_ns;
	bool cut; /* as of a file */
	uint64_t cut_at;
};
/* *parts_out is malloc'ed; none (NULL, 0) for a file that is not merged, or whose parts no
 * settings file tells (npyt's). */
TT_API int tt_ring_parts(const char *dir, uint64_t name, struct tt_ring_part **parts_out,
			 size_t *count_out, struct tt_error *err);

/* Files are deleted oldest first, whatever else is asked only those that left the queue and
 * have no rows that a sync still has to reach; with neither keep_bytes nor before_ns all of
 * them.  A limit of both kinds deletes what is over either. */
struct tt_ring_prune_opts {
	size_t struct_size;
	/* Delete until the ring takes no more on disk (blocks, as du counts them; manifest,
	 * settings and lock files apart).  UINT64_MAX: whatever it takes. */
	uint64_t keep_bytes;
	/* Delete files all of whose rows are older than this wall clock, UTC ns: the next
	 * file had a row before it.  INT64_MIN: however old. */
	int64_t before_ns;
	bool dry_run;		 /* change nothing; needs read permission only */
	tt_ring_allow_fn *allow; /* may be NULL: asked about each file before it goes */
	/* may be NULL: called for each file that went, and the bytes that it had on disk */
	void (*deleted)(void *ctx, const struct tt_ring_file *file, uint64_t bytes);
	void *ctx;
	/* may be NULL: called for each file that could not be looked at or removed, by the
	 * name that it has in the directory; why is valid for the call */
	void (*failed)(void *ctx, const char *file_name, const struct tt_error *why);
};
#define TT_RING_PRUNE_OPTS_INIT \
	{ \
		.struct_size = sizeof(struct tt_ring_prune_opts), \
		.keep_bytes = UINT64_MAX, .before_ns = INT64_MIN \
	}
struct tt_ring_pruned {
	uint64_t files, rows, bytes; /* that went, or with dry_run would */
	uint64_t refused;	     /* files that allow kept */
	uint64_t
		unsynced; /* files kept: one with rows not on disk yet, and those behind it */
	uint64_t left_bytes; /* on disk afterwards, the queue included */
	uint64_t failed;     /* files that could not be looked at or removed */
};
/* Works with no space left: nothing is made and nothing grows.  Readers that have a file open
 * keep its rows; those that come late are told how many they lost.  Runs beside the feed, not
 * beside a merge (TT_E_BUSY).  A file that cannot be looked at or removed is passed over: the
 * others go, and the error at the end is that of the first such file.  opts NULL: everything
 * outside the queue.  out (may be NULL) is filled also after an error. */
TT_API int tt_ring_prune(const char *dir, const struct tt_ring_prune_opts *opts,
			 struct tt_ring_pruned *out, struct tt_error *err);
/* Remove one file that left the queue, whatever it holds by now: a merge gives the rows of
 * several files the name of the first.  Who decides by what was in it asks tt_ring_prune(),
 * whose allow is called while no merge can run. */
TT_API int tt_ring_remove_file(const char *dir, uint64_t name, struct tt_error *err);
TT_API int tt_ring_backup(const char *dir, const char *dest, struct tt_error *err);
/* Make a lost or damaged manifest again from the newest files (the old one is kept aside). */
TT_API int tt_ring_rebuild(const char *dir, uint64_t keep, struct tt_error *err);
TT_API int tt_ring_verify(const char *dir, tt_damage_fn *fn, void *ctx,
			  uint64_t *found_out, struct tt_error *err);

#ifdef __cplusplus
}
#endif
#endif
