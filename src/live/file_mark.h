/* SPDX-License-Identifier: Apache-2.0 */
/* FILE.mark: what is known to be on disk of a single file (docs/FORMAT.md).  Only writers that
 * were asked for syncs keep one, of files with five words in the tail: others have no stamp
 * that tells whose rows they are.
 *
 * Invariant: a slot speaks of one inode; a file that was replaced by another has no mark.  The
 * mark is there before rows are appended that it does not cover, or it is not there at all. */
#ifndef TTI_FILE_MARK_H
#define TTI_FILE_MARK_H

#include <pthread.h>
#include <stdbool.h>
#include "live/mark.h"
#include "live/place.h"

#define TTI_FILE_MARK_MAGIC UINT64_C(0x314b52414d544b54) /* "TKTMARK1" */

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"
struct tti_file_mark { /* 128 bytes; slots TTI_SETTINGS_STRIDE apart */
	uint64_t magic;
	struct tti_mark mark; /* its file is 0 */
	uint64_t inode, data_off, row_bytes, capacity;
	int64_t born_ns; /* of the inode, 0 where the file system does not tell */
	uint64_t zero0;
	uint32_t zero1;
	uint32_t crc; /* CRC-32C of the slot with this field 0 */
};
#pragma GCC diagnostic pop
static_assert(sizeof(struct tti_file_mark) == 128, "FILE.mark changed size");

/* Of a handle that keeps marks. */
struct tti_file_marker {
	pthread_mutex_t lock; /* between a mark and a change in place */
	int fd;		      /* FILE.mark, -1: none is kept */
	uint64_t sequence;
	uint64_t restart; /* rows below may have been changed since they were summed */
	uint64_t stamp;	  /* update_timestamp, which the disk has or a later one */
	bool moving;	  /* the mark of a copy is there that has not got the name yet */
	struct tti_rows_crc rows;
	uint8_t boot_id[TTI_BOOT_ID_BYTES];
};

struct tt_file;

void tti_file_marker_init(struct tti_file_marker *marker);

/* Opened for writing, before the first append: finish what a power loss left (rows behind an
 * old mark go to FILE.cut), then sync and mark, or, unless keep, remove the mark. */
int tti_file_mark_open(struct tt_file *file, bool keep, struct tt_error *err);

/* Before each sync that a mark is to speak of. */
void tti_file_mark_before(struct tt_file *file);

/* The file was synced up to end.  The first call makes FILE.mark; where the directory cannot
 * be written to, none is kept. */
int tti_file_mark(struct tt_file *file, uint64_t end, struct tt_error *err);

/* Everything is synced and nothing more will be written; closes the marker in any case. */
void tti_file_mark_close(struct tt_file *file);

/* Rows from row on will be changed in place. */
int tti_file_mark_changing(struct tt_file *file, uint64_t row, struct tt_error *err);

/* A synced copy will take the file's name: its mark first.  Until tti_file_mark_moved() the
 * old file gets no other, which would take the slot of the copy's. */
int tti_file_mark_copy(struct tt_file *file, const struct tti_live *copy,
		       struct tt_error *err);
void tti_file_mark_moved(struct tt_file *file);

/* A reader's: live->shown by a mark of another boot that waits for the next writer. */
void tti_file_mark_limit(struct tt_file *file);
/* While it is limited: whether it still is. */
void tti_file_mark_look(const struct tt_file *file);

/* Whether a writer that opens the file would cut or raise its end; cut_unproven: as
 * tti_file_open_hinted().  live is of the file, without a limit; *end_out: what it would be. */
bool tti_file_mark_waits(const struct tti_place *place, const struct tti_live *live,
			 bool cut_unproven, uint64_t *end_out);

/* What is wrong with FILE.mark, told by fn(ctx, words, age); live is of the file, opened to be
 * read.  age is TTI_MARK_OLD when the mark still tells which rows no power loss can have
 * harmed: the next mark would take that with it.  Marks of other files are nobody's damage. */
typedef void tti_mark_tell_fn(void *ctx, const char *what, enum tti_mark_age age);
void tti_file_mark_verify(const struct tti_place *place, const struct tti_live *live,
			  tti_mark_tell_fn *fn, void *ctx);

/* Names: the mark goes with the file. */
void tti_file_mark_rename(const struct tti_place *from, const struct tti_place *to);
void tti_file_mark_remove(const struct tti_place *place);

#endif
