/* SPDX-License-Identifier: Apache-2.0 */
/* A live file (NPYT): an .npy file whose tail of five words says which rows are valid.
 *
 * Rows are fixed-size; capacity rows are reserved when the file is made, so that a full disk
 * is an error at creation and never a signal later.  np.load opens the file and shows capacity
 * rows; rows [start, end) are the data.
 *
 * Threads:    a handle belongs to one thread at a time; any number of handles of one file.
 * Processes:  one writer by a kernel lock, dropped by close or death; any number of readers,
 *             which need read permission only and cannot slow or stop the writer.
 * Fork:       a child may only _exit() or exec; the handle stays the parent's.
 * Units:      counts are rows, sizes bytes, times UTC nanoseconds since 1970.
 * Indices:    count from start unless said.
 * Visibility: rows are visible to every reader when the call that published them returns.
 * Durability: visible is not durable.  Death of the process loses nothing published; power
 *             loss may lose what came after the last tt_file_sync().
 * Views:      point into the mapping, valid until the handle is closed; rows in a view change
 *             only where tt_file_update() changes them.
 * Format:     docs/FORMAT.md. */
#ifndef TICKTAIL_FILE_H
#define TICKTAIL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ticktail/dtype.h>
#include <ticktail/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tt_file;

enum tt_access { TT_READ = 0, TT_WRITE = 1 };

/* count rows that lie side by side at rows. */
struct tt_view {
	const void *rows;
	uint64_t count;
};

/* What a path is, found by looking inside. */
enum tt_path_kind {
	TT_PATH_NPYT = 1,
	TT_PATH_NPY,	 /* a plain .npy file */
	TT_PATH_NPY8,	 /* a ring */
	TT_PATH_ARCHIVE, /* HDF5 */
};
/* Errors: negated errno (-ENOENT, ...), TT_E_FORMAT when it is none of them, TT_E_DAMAGED. */
TT_API int tt_path_kind(const char *path, enum tt_path_kind *out, struct tt_error *err);

struct tt_file_create_opts {
	size_t struct_size;
	uint64_t capacity; /* rows; at least 1 */
	uint32_t row_rank; /* extents of one row after the first: shape[1:] */
	const uint64_t *row_shape;
	bool exact; /* keep capacity as asked even if the tail is then not in one cache line */
	bool if_same; /* an existing file of equal dtype, row shape and at least capacity is fine */
	uint32_t tail_words; /* 0 or 5; 4 for npyt 0.3.x */
	const void *rows;    /* first rows, or NULL */
	uint64_t row_count;
};
#define TT_FILE_CREATE_OPTS_INIT \
	{ \
		.struct_size = sizeof(struct tt_file_create_opts) \
	}

/* Make a file with its space reserved, whole or not at all.
 * Errors: -EEXIST, TT_E_MISMATCH (if_same), TT_E_RANGE, -ENOSPC with needed and free bytes. */
TT_API int tt_file_create(const char *path, const struct tt_dtype *dtype,
			  const struct tt_file_create_opts *opts, struct tt_error *err);

/* When rows are made durable: never by themselves, in each append, every so many ms. */
#define TT_SYNC_NONE (-1)
#define TT_SYNC_EACH 0
#define TT_SYNC_DEFAULT 1000
/* When sleeping readers are woken: by each append, never, every so many us. */
#define TT_WAKE_EACH 0
#define TT_WAKE_NEVER (-1)
#define TT_WAKE_DEFAULT 250

struct tt_file_open_opts {
	size_t struct_size;
	enum tt_access access;
	bool clean_rows; /* the caller promises that struct padding is zero already */
	bool plain;    /* TT_READ: accept a plain .npy file: rows 0..capacity are valid */
	bool in_ring;  /* allow a write to a file that belongs to a ring (update only) */
	bool by_pread; /* do not map the rows: for files that others may cut short */
	/* TT_WRITE; the words and the threads of struct tt_ring_writer_opts.  The threads start
	 * with the first append. */
	bool no_helper;
	/* TT_SYNC_NONE, TT_SYNC_EACH or milliseconds.  With another than TT_SYNC_NONE each sync
	 * stores a mark in PATH.mark, and after a power loss no row shows that was not synced:
	 * the next writer moves them to PATH.cut.  Where no mark may be made, rows are synced
	 * without one, and after a power loss taken as they are. */
	int64_t sync_ms;
	int64_t wake_us; /* TT_WAKE_EACH, TT_WAKE_NEVER or a period */
	int helper_cpu, helper_nice;
	bool force_network_fs; /* TT_WRITE: also on a network file system, where processes
				* of other hosts see torn rows */
};
#define TT_FILE_OPEN_OPTS_INIT \
	{ \
		.struct_size = sizeof(struct tt_file_open_opts), \
		.sync_ms = TT_SYNC_NONE, .wake_us = TT_WAKE_DEFAULT, .helper_cpu = -1 \
	}

/* opts NULL: read.  On failure *out is NULL.
 * Errors: TT_E_FORMAT, TT_E_DAMAGED, TT_E_BUSY naming the writer's pid, TT_E_UNSUPPORTED
 * (a plain file opened for writing: adopt it), negated errno. */
TT_API int tt_file_open(struct tt_file **out, const char *path,
			const struct tt_file_open_opts *opts, struct tt_error *err);
/* Accepts NULL.  With a sync policy rows that are not on disk go there; an error says that they
 * may not be.  Closed in any case. */
TT_API int tt_file_close(struct tt_file *file);
/* Words on what opening for writing repaired after a dead writer or a power loss (rows that
 * were cut), "" for nothing. */
TT_API const char *tt_file_repaired(const struct tt_file *file);

struct tt_file_info {
	const struct tt_dtype *dtype; /* lives as long as the handle */
	uint32_t row_rank;
	const uint64_t *row_shape;
	uint64_t row_bytes, capacity;
	uint64_t start, end; /* one consistent look */
	uint64_t update_timestamp;
	uint64_t data_off;
	uint32_t tail_words; /* 0: a plain .npy file */
	bool fortran_order;
	bool aligned_tail;  /* false: append works, tailing live is refused */
	int64_t writer_pid; /* 0 none, -1 one whose pid is not known */
};
TT_API int tt_file_info(struct tt_file *file, struct tt_file_info *out,
			struct tt_error *err);

/* Rows published so far (end - start), by an acquire load. */
TT_API uint64_t tt_file_size(const struct tt_file *file);
/* Rows that still fit. */
TT_API uint64_t tt_file_room(const struct tt_file *file);

/* Append all count rows, or none: TT_E_FULL.  Hot path: a copy, a store and a look at one word:
 * no lock, no allocation, no clock, no system call, but with wake or sync each, and without
 * helper unless it wakes and syncs never.  Without helper a clock is read each 64 rows; each row,
 * when it is synced or a sync in time is asked for.  A code of a failed sync each: the rows are
 * in, but may not be on disk. */
TT_API int tt_file_append(struct tt_file *file, const void *rows, uint64_t count);

/* Room for count rows in the file itself, to be filled by the caller; NULL when they do not
 * fit.  Nothing is visible until tt_file_publish(file, n) with n <= count; reserving again
 * gives the same place. */
TT_API void *tt_file_reserve(struct tt_file *file, uint64_t count);
TT_API int tt_file_publish(struct tt_file *file, uint64_t count);

/* Overwrite published rows [index, index + count); bumps update_timestamp. */
TT_API int tt_file_update(struct tt_file *file, uint64_t index, const void *rows,
			  uint64_t count, struct tt_error *err);
/* fdatasync; TT_E_MISUSE on a handle for reading.  Also an error that a timed one met since, and
 * again from then on: what the kernel could not write it does not try again. */
TT_API int tt_file_sync(struct tt_file *file, struct tt_error *err);

/* Views of published rows.  Counts are cut to what there is; TT_E_RANGE when index lies past
 * the end.  Not for fortran_order or by_pread handles: tt_file_copy() serves those. */
TT_API int tt_file_view(struct tt_file *file, uint64_t index, uint64_t count,
			struct tt_view *out);
TT_API int tt_file_data(struct tt_file *file, struct tt_view *out);
TT_API int tt_file_head(struct tt_file *file, uint64_t count, struct tt_view *out);
TT_API int tt_file_tail(struct tt_file *file, uint64_t count, struct tt_view *out);
/* Row index (negative: from the end), or NULL. */
TT_API const void *tt_file_at(struct tt_file *file, int64_t index);
/* Copy published rows in C order; never a signal, also when the file was cut short. */
TT_API int tt_file_copy(struct tt_file *file, uint64_t index, uint64_t count, void *out,
			struct tt_error *err);

/* The same, but every row as of one instant between two updates.  TT_E_TORN when rows kept
 * changing, or are left half changed by a dead writer; TT_E_UNSUPPORTED for 4-word tails and
 * rows that are not 8-byte aligned. */
TT_API int tt_file_copy_untorn(struct tt_file *file, uint64_t index, uint64_t count,
			       void *out, struct tt_error *err);

/* A cursor inside [start, end], one a handle.  read gives up to count new rows preceded by up
 * to prefetch rows read before: 1 rows, 0 nothing new, < 0 error. */
enum tt_whence { TT_SEEK_SET, TT_SEEK_CUR, TT_SEEK_END };
TT_API int tt_file_read(struct tt_file *file, uint64_t count, uint64_t prefetch,
			struct tt_view *out);
TT_API uint64_t tt_file_tell(const struct tt_file *file);
TT_API uint64_t tt_file_seek(struct tt_file *file, int64_t offset, enum tt_whence whence);
TT_API void tt_file_rewind(struct tt_file *file);

/* Wait until more than seen rows are published: 1 there are, 0 the time is over, or
 * TT_E_SUPERSEDED (the file was grown: open the path again and go on at the same row),
 * TT_E_CHANGED (the path names another file now), TT_E_DAMAGED (end went back),
 * TT_E_UNSUPPORTED (misaligned tail).  timeout_ns < 0: for ever. */
enum tt_wait { TT_WAIT_SPIN, TT_WAIT_YIELD, TT_WAIT_SLEEP };
TT_API int tt_file_wait(struct tt_file *file, uint64_t seen, enum tt_wait how,
			int64_t timeout_ns);

/* Operations on a path.  Each takes the writer lock itself (TT_E_BUSY), and refuses a file
 * that belongs to a ring.  A file that readers may have mapped is replaced by a copy, never
 * cut or grown in place (docs/CONCURRENCY.md). */
TT_API int tt_file_resize(const char *path, uint64_t capacity, struct tt_error *err);
TT_API int tt_file_trim(const char *path,
			struct tt_error *err); /* unused space given back */
/* An empty file of the same capacity takes its place; -ENOSPC when there is no room for one. */
TT_API int tt_file_clear(const char *path, struct tt_error *err);
/* An np.save file becomes NPYT.  capacity 0: what it holds, at least.  *in_place_out (may be
 * NULL) says whether the rows stayed where they were. */
TT_API int tt_file_adopt(const char *path, uint64_t capacity, bool *in_place_out,
			 struct tt_error *err);
/* A consistent copy of the file as it is now, synced, dest made whole or not at all. */
TT_API int tt_file_backup(const char *path, const char *dest, struct tt_error *err);
/* Append the rows of other (same dtype and row shape) to path, growing it when needed. */
TT_API int tt_file_merge(const char *path, const char *other, struct tt_error *err);
TT_API int tt_file_rename(const char *path, const char *to, struct tt_error *err);
TT_API int tt_file_remove(const char *path, struct tt_error *err);
/* Grow so that count more rows fit; used by expend/grow.  The handle goes on with the new
 * file; views from before stay valid until tt_file_close(). */
TT_API int tt_file_grow(struct tt_file *file, uint64_t count, struct tt_error *err);

/* Called for each damage found; what is one line of words. */
struct tt_damage {
	const char *path, *version, *dataset; /* NULL: does not apply */
	int64_t chunk;			      /* -1: does not apply */
	int64_t row, row_count;		      /* row -1: does not apply */
	const char *what;
};
typedef void tt_damage_fn(void *ctx, const struct tt_damage *damage);
/* Check every invariant of the file by pread.  TT_OK also with damage found (the count is in
 * *found_out, which may be NULL); an error means that it could not be looked at. */
TT_API int tt_file_verify(const char *path, tt_damage_fn *fn, void *ctx,
			  uint64_t *found_out, struct tt_error *err);

#ifdef __cplusplus
}
#endif
#endif
