/* SPDX-License-Identifier: Apache-2.0 */
/* What a run archives: the files behind its SRC arguments.
 *
 * A source is a ring or a single file; its items are files (of a ring: the sealed ones).  An
 * item remembers what its file was when it was first looked at; tti_item_unchanged() before
 * the commit makes sure that it still is, so that one version holds one state. */
#ifndef TTI_SOURCES_H
#define TTI_SOURCES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include "staged/digest.h"
#include "ticktail/archive.h"

struct tti_item {
	size_t source;		     /* number of the SRC argument */
	char *path;		     /* where the bytes are */
	char *file;		     /* its name in the ledger */
	char *dataset;		     /* where its rows go */
	struct tti_digest source_id; /* as struct tti_ledger_row */
	bool in_ring, queued;
	uint64_t ring_file;  /* its name in the ring */
	uint64_t start, end; /* rows that are valid, from 0 of the file */
	uint64_t moved;	     /* row 0 of the file is row moved of path (merged files) */
	/* rows from here on had been there until a power loss; UINT64_MAX: none had */
	uint64_t cut_at;
	/* of the rows */
	struct tt_dtype *dtype;
	uint32_t row_rank;
	uint64_t row_shape[TT_MAX_RANK];
	uint64_t row_bytes;
	/* of the file as it was */
	uint64_t data_off, path_start, path_end, update_timestamp;
	uint32_t tail_words;
	bool fortran_order;
	struct stat stat;
	/* while its rows are read */
	int fd;
	struct tt_file *handle; /* for the order of columns; under the lock */
	pthread_mutex_t lock;
};

struct tti_sources {
	struct tti_item **items; /* by source, in the order of rows */
	size_t count, room;
};

/* Find all items of job; rings are asked to seal first when the job says so.  TT_E_MISMATCH
 * when two sources go to one dataset.  tti_sources_fini() also after a failure. */
int tti_sources_find(struct tti_sources *out, const struct tt_archive_job *job,
		     struct tt_error *err);
/* The items of one file of a ring, whatever their dataset; info tells the ring. */
int tti_sources_of_file(struct tti_sources *out, const char *ring_dir,
			const struct tt_ring_info *info, const struct tt_ring_file *file,
			struct tt_error *err);
void tti_sources_fini(struct tti_sources *sources);

/* Between these, tti_item_read() may be called, from any thread. */
int tti_item_open(struct tti_item *item, struct tt_error *err);
void tti_item_close(struct tti_item *item); /* idempotent */

/* Rows [row, row + count), numbered from 0 of the file, in C order.  TT_OK or a negated errno
 * (-ENODATA: the file was cut). */
int tti_item_read(struct tti_item *item, uint64_t row, uint64_t count, void *out);

/* TT_E_CHANGED with what differs from what tti_sources_find() saw. */
int tti_item_unchanged(const struct tti_item *item, struct tt_error *err);

/* Rows [first, end) of a file, numbered from 0 of the file. */
struct tti_range {
	uint64_t first, end;
};

/* SHA-256 of rows. */
int tti_item_digest(struct tti_item *item, struct tti_hasher *hasher,
		    struct tti_range rows, struct tti_digest *out, struct tt_error *err);

#endif
