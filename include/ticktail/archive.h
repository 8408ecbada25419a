/* SPDX-License-Identifier: Apache-2.0 */
/* The archive: deduplicated, immutable versions of rows in an HDF5 file, in the layout of
 * versioned-hdf5 (data_version 4).  h5py and versioned_hdf5 open it; we open theirs.
 *
 * Threads:    handles belong to one thread at a time; all HDF5 calls happen on the calling
 *             thread, hashing and writing on threads of their own.
 * Processes:  one committer by a kernel lock; readers never see a mix of two commits.
 * Fork:       not across a handle.
 * Atomicity:  a commit is there whole or not at all, whatever is killed when
 *             (docs/CONCURRENCY.md, the journal).
 * Units:      rows, bytes; times UTC nanoseconds since 1970.
 * Link:       libticktail-archive (HDF5, liburing, libcrypto). */
#ifndef TICKTAIL_ARCHIVE_H
#define TICKTAIL_ARCHIVE_H

#include <ticktail/ring.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tt_archive;

enum tt_archive_io { TT_IO_AUTO = 0, TT_IO_URING, TT_IO_THREADS };

struct tt_archive_open_opts {
	size_t struct_size;
	int64_t apply_wait_ns; /* how long to wait for another process's run; default 1 s */
	/* finish a dead run also on a network file system, where locks need not keep other
	 * hosts out */
	bool force_network_fs;
};
#define TT_ARCHIVE_OPEN_OPTS_INIT \
	{ \
		.struct_size = sizeof(struct tt_archive_open_opts), \
		.apply_wait_ns = 1000000000 \
	}

/* Open for reading; a pending journal is applied first where that is allowed, else read
 * through.  Errors: TT_E_FORMAT (no HDF5, no _version_data, data_version 2, 3 or above 4),
 * TT_E_BUSY "being written by pid N", TT_E_DAMAGED, negated errno. */
TT_API int tt_archive_open(struct tt_archive **out, const char *path,
			   const struct tt_archive_open_opts *opts, struct tt_error *err);
TT_API void tt_archive_close(struct tt_archive *archive);
/* Words on what opening found and mended or set aside, "" for nothing. */
TT_API const char *tt_archive_notes(const struct tt_archive *archive);

struct tt_archive_version {
	const char *name;
	const char *prev;      /* NULL: no parent */
	const char *timestamp; /* as stored: YYYY-MM-DD HH:MM:SS.ffffff+0000 */
	bool committed, current;
};
/* Oldest first by the prev chain and timestamp; strings live as long as the archive. */
TT_API size_t tt_archive_version_count(const struct tt_archive *archive);
TT_API const struct tt_archive_version *tt_archive_version(
	const struct tt_archive *archive, size_t i);
/* name NULL: the current version.  TT_E_RANGE naming it when there is none such or it is not
 * committed. */
TT_API int tt_archive_find_version(const struct tt_archive *archive, const char *name,
				   size_t *out, struct tt_error *err);
/* The latest committed version with timestamp <= t_ns. */
TT_API int tt_archive_version_as_of(const struct tt_archive *archive, int64_t t_ns,
				    size_t *out, struct tt_error *err);

/* Names of the datasets of a version, bytewise ascending; malloc'ed array of malloc'ed
 * strings, freed by tt_archive_free_names(). */
TT_API int tt_archive_datasets(struct tt_archive *archive, size_t version,
			       char ***names_out, size_t *count_out,
			       struct tt_error *err);
TT_API void tt_archive_free_names(char **names, size_t count);

/* ---- Reading a dataset of a version ---- */

struct tt_dataset;

struct tt_dataset_info {
	const char *name;
	/* as archived, in Python's files from the HDF5 type; NULL for vlen_strings */
	const struct tt_dtype *dtype;
	uint32_t rank;
	const uint64_t *shape, *chunk;
	uint64_t chunks;    /* mapped ones */
	uint64_t row_bytes; /* dtype size x product(shape[1:]) */
	bool vlen_strings; /* variable-length strings: listed, but not readable as rows */
};
TT_API int tt_dataset_open(struct tt_dataset **out, struct tt_archive *archive,
			   size_t version, const char *name, struct tt_error *err);
TT_API void tt_dataset_close(struct tt_dataset *dataset);
TT_API const struct tt_dataset_info *tt_dataset_info(const struct tt_dataset *dataset);
/* Rows [first, first + count) of axis 0 in C order; chunks that are not mapped give the fill
 * value.  Read through chunk numbers, filters decoded here. */
TT_API int tt_dataset_read(struct tt_dataset *dataset, uint64_t first, uint64_t count,
			   void *rows, struct tt_error *err);

/* ---- Committing ---- */

enum tt_archive_filter { TT_FILTER_NONE = 0, TT_FILTER_LZF, TT_FILTER_GZIP };

struct tt_archive_job {
	size_t struct_size;
	const char *const *sources; /* rings, live files, plain .npy files */
	size_t source_count;
	const char *
		dataset; /* template with strftime fields and {name}; NULL: the default */
	const char *version;	     /* NULL: the UTC time */
	const int64_t *timestamp_ns; /* NULL: now */
	const char *parent;	     /* NULL: the current version */
	uint64_t chunk_rows;	     /* 0: the default rule (docs/FORMAT.md) */
	enum tt_archive_filter filter;
	int gzip_level;
	bool shuffle;
	unsigned threads; /* hashers; 0: one a core */
	enum tt_archive_io io;
	bool seal; /* ask the rings to seal first */
	/* remove files that are archived, re-read, out of the queue and synced */
	bool delete_archived;
	int64_t seal_timeout_ns;
	int64_t apply_wait_ns;
	bool force_network_fs; /* write archive and rings also on a network file system */
	/* both callbacks run on the thread that called */
	/* progress, may be NULL: rows done of rows known; return false to cancel */
	bool (*progress)(void *ctx, uint64_t rows_done, uint64_t rows_total);
	/* warnings in words, may be NULL */
	void (*warn)(void *ctx, const char *text);
	void *ctx;
};
#define TT_ARCHIVE_JOB_INIT \
	{ \
		.struct_size = sizeof(struct tt_archive_job), .gzip_level = 1, \
		.seal_timeout_ns = 10000000000, .apply_wait_ns = 1000000000 \
	}

struct tt_archive_result {
	char version[1024]; /* "" when there was nothing new */
	uint64_t rows, chunks, chunks_new, chunks_reused, bytes;
	double seconds;
	enum tt_archive_io io; /* the engine that wrote */
};

/* Commit the rows of the sources that were not archived before as one new version of the
 * archive at path, which is made when it is not there.  All or nothing; nothing new: TT_OK
 * with rows 0.  Errors: as tt_archive_open(), TT_E_MISMATCH (version exists, two sources of
 * one dataset name, another dtype or chunk, "is not the file archived before"), TT_E_CHANGED
 * (a source was written to meanwhile; a ring that a merge, prune or recovery changed is listed
 * and read again, some times), TT_E_DTYPE (a type that HDF5 cannot hold), -ENOSPC. */
TT_API int tt_archive_commit(const char *path, const struct tt_archive_job *job,
			     struct tt_archive_result *out, struct tt_error *err);

/* true when every row of the ring's file is archived in the current version or its parents. */
TT_API int tt_archive_holds(struct tt_archive *archive, const char *ring_dir,
			    const struct tt_ring_file *file, bool *out,
			    struct tt_error *err);

/* TT_OK when rows of this dtype can be archived, else TT_E_DTYPE with the reason. */
TT_API int tt_archive_accepts(const struct tt_dtype *dtype, struct tt_error *err);

/* Every invariant of the layout and every digest; as tt_file_verify(). */
TT_API int tt_archive_verify(const char *path, tt_damage_fn *fn, void *ctx,
			     uint64_t *found_out, struct tt_error *err);
enum tt_archive_journal {
	TT_JOURNAL_NONE,
	TT_JOURNAL_FINISHED, /* the commit is in the archive; the file only waits to go */
	TT_JOURNAL_PENDING, /* whole: who opens the archive completes it, or reads through it */
	TT_JOURNAL_STALE, /* another program changed the archive meanwhile: it is lost */
	TT_JOURNAL_DAMAGED,
};
struct tt_archive_state {
	uint64_t bytes;		    /* length of the file */
	uint64_t fs_bytes, fs_free; /* of its file system; 0, 0: not known */
	bool writing; /* a run holds the lock; what it has not committed is not there */
	int64_t writer_pid; /* 0: none, or not known */
	enum tt_archive_journal journal;
	uint64_t journal_bytes;
};
/* A look for those who watch: opens nothing, waits for nobody, mends nothing. */
TT_API int tt_archive_look(const char *path, struct tt_archive_state *out,
			   struct tt_error *err);

/* A consistent copy. */
TT_API int tt_archive_backup(const char *path, const char *dest, struct tt_error *err);

#ifdef __cplusplus
}
#endif
#endif
