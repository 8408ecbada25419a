/* SPDX-License-Identifier: Apache-2.0 */
/* One NPYT file as the live room sees it: opened, checked, mapped, appended to, read.  Both
 * the single file (file*.c) and the ring (ring*.c) stand on this; locks, waking, cursors and
 * names are theirs.
 *
 * Invariant: every size was checked against fstat before the mapping was made, and
 * start <= end <= capacity held when it was opened. */
#ifndef TTI_LIVE_FILE_H
#define TTI_LIVE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include "base/compiler.h"
#include "base/failpoint.h"
#include "base/map.h"
#include "format/npy.h"
#include "format/tail.h"
#include "live/row_copy.h"
#include "live/words.h"
#include "ticktail/dtype.h"
#include "ticktail/error.h"

struct tti_live {
	/* what an append touches: 64 bytes, then the mask */
	unsigned char *at; /* writer: where the next row goes */
	uint64_t end;	   /* writer: the last published end; plain file: capacity */
	uint64_t limit; /* rows below it may be appended without another look; never below
			 * end, and equal to it where the handle is for reading */
	uint64_t row_bytes;
	tti_word *tail;		 /* in the mapping; NULL without one, or misaligned */
	unsigned char row_class; /* enum tti_row_class */
	unsigned char gap_class; /* enum tti_gap_class, of what is to be zeroed */
	bool masked;		 /* rows have padding to be zeroed, and a mask serves */
	bool aligned; /* end is 8-byte aligned: it can be published by a store */
	bool writable;
	bool has_padding;	     /* append has padding bytes to zero */
	uint32_t gap_off, gap_bytes; /* the only gap of a row, at most 8 bytes; else 0 */
	uint32_t gap_last;	     /* of TTI_GAP_TO8: where its last four bytes are */
	uint32_t tail_words;	     /* 5, 4; 0: a plain .npy file */
	_Alignas(16) unsigned char mask
		[TTI_ROW_MASK_BYTES]; /* 0 where a row has padding to be zeroed */
	uint64_t gap_mask; /* what stays of the word at gap_word, around the gap */
	uint32_t gap_word;

	int fd; /* owned */
	struct tti_npy npy;
	/* tail and row_bytes for threads that look at the writer's file: reading the line that it
	 * stores in would take that away from it */
	tti_word *watched_tail;
	uint64_t watched_row_bytes;
	uint64_t capacity, data_off, tail_off, file_bytes;
	uint64_t shown;	     /* reader: rows that may be shown, whatever the tail says */
	struct tti_map map;  /* empty: by pread, or nothing to map */
	unsigned char *rows; /* row 0 in the mapping; NULL without one */
	char *path;	     /* for messages; owned */
	char repaired[160];  /* writer: words on what open repaired, "" for nothing */
};
#define TTI_LIVE_EMPTY \
	{ \
		.fd = -1, .shown = UINT64_MAX \
	}

struct tti_live_open {
	int dirfd; /* directory of name, AT_FDCWD allowed */
	const char *name;
	const char *path; /* for messages */
	bool writable;	  /* the caller holds (or will check) the right lock */
	bool plain;	  /* a plain .npy file is fine */
	bool by_pread;	  /* do not map */
	bool take_fd;	  /* fd is open (and locked) already; taken over on success */
	int fd;
};

/* Open, check header, tail and size, map.  With writable it also mends what a dead writer left
 * (superseded magic, changing stamp, the extent of an interrupted adopt) and makes sure that
 * holes of the file have blocks.  On failure *live is empty and fd is still the caller's. */
int tti_live_open(struct tti_live *live, const struct tti_live_open *args,
		  struct tt_error *err);
void tti_live_close(struct tti_live *live); /* accepts an empty one */

/* ---- Making ---- */

struct tti_live_make {
	const struct tt_dtype *dtype;
	uint32_t row_rank;
	const uint64_t *row_shape;
	uint64_t capacity;
	bool exact;	     /* do not round the capacity up to an aligned tail */
	uint32_t tail_words; /* 0 or 5; 4 */
	uint64_t start,
		end; /* what the tail says; rows [0, end) are written by the caller */
	uint64_t stamp_after; /* update_timestamp becomes later than this; 0: any */
};

/* What was chosen for a file that was made. */
struct tti_live_made {
	uint64_t capacity, data_off;
};

/* Header, reserved space for the rows, tail; into the empty file fd.  made may be NULL.
 * Nothing is synced. */
int tti_live_fill(int fd, const struct tti_live_make *make, const char *path,
		  struct tti_live_made *made, struct tt_error *err);

/* Create name tmp in dirfd, made by tti_live_fill(); the fd, or an error with nothing left
 * behind.  A left-over tmp is unlinked first.  The caller renames or links it. */
int tti_live_make(int dirfd, const char *tmp, const struct tti_live_make *make,
		  const char *path, struct tt_error *err);

/* ---- Writing (one writer) ---- */

static inline uint64_t tti_live_room(const struct tti_live *live)
{
	return live->capacity - live->end;
}

/* How rows are copied from now on; clean: the caller promises that padding is zero. */
void tti_live_choose_copy(struct tti_live *live, bool clean);

/* Store one word of the tail: atomically (release) where it is mapped, else by pwrite. */
int tti_live_put_word(struct tti_live *live, uint32_t index, uint64_t value);

/* Rows up to end are in place, in a mapped and aligned tail. */
static inline void tti_live_advance(struct tti_live *live, uint64_t count)
{
	uint64_t end = live->end + count;

	tti_end_publish(live->tail, end);
	live->end = end;
	live->at += count * live->row_bytes;
}

/* What the append of one row needs, loaded before the row is stored: a store through a pointer
 * to bytes might have changed any of it, as far as the compiler knows, and a second load of what
 * the append before has just stored is the longest wait in it. */
struct tti_live_next {
	unsigned char *at;
	uint64_t end;
	uint64_t row_bytes;
	tti_word *tail;
};

TTI_INLINE struct tti_live_next tti_live_next(const struct tti_live *live)
{
	return (struct tti_live_next){ live->at, live->end, live->row_bytes, live->tail };
}

/* count rows from next on are in place. */
TTI_INLINE void tti_live_advance_by(struct tti_live *live,
				    const struct tti_live_next *next, uint64_t count)
{
	uint64_t end = next->end + count;

	tti_end_publish(next->tail, end);
	live->end = end;
	live->at = next->at + count * next->row_bytes;
}

/* Store end (release), or pwrite it where the tail is misaligned.  A negated errno only in the
 * latter case. */
static inline int tti_live_publish(struct tti_live *live, uint64_t end)
{
	if (TTI_UNLIKELY(!live->tail)) {
		int rc = tti_live_put_word(live, 1, end);

		if (rc < 0)
			return rc;
	} else {
		tti_end_publish(live->tail, end);
	}
	live->end = end;
	live->at = live->rows + end * live->row_bytes;
	return TT_OK;
}

/* Zero the padding bytes of count rows, whatever gaps they have. */
void tti_live_clear_padding(const struct tti_live *live, void *rows, uint64_t count);

/* What a publish has to zero in a row that was filled in place. */
enum tti_gap_class {
	TTI_GAP_NONE,
	TTI_GAP_TO8, /* one gap of 4 to 8 bytes, in a row of 8 or more */
	TTI_GAP_ANY,
};

/* Zero the padding of one row at at, of TTI_GAP_TO8.  Two stores that overlap, and no load: it
 * would wait for the narrower stores that just filled the row. */
TTI_INLINE void tti_live_clear_gap(const struct tti_live *live, unsigned char *at)
{
	memset(at + live->gap_off, 0, 4);
	memset(at + live->gap_last, 0, 4);
}

/* The same of many rows: the gap by one word of the row around it, half the stores. */
TTI_INLINE void tti_live_clear_gaps(const struct tti_live *live, unsigned char *at,
				    uint64_t count)
{
	const uint64_t step = live->row_bytes, mask = live->gap_mask;

	at += live->gap_word;
	for (; count >= 4; count -= 4, at += 4 * step) {
		*(tti_v8 *)at &= mask;
		*(tti_v8 *)(at + step) &= mask;
		*(tti_v8 *)(at + 2 * step) &= mask;
		*(tti_v8 *)(at + 3 * step) &= mask;
	}
	for (; count > 0; count--, at += step)
		*(tti_v8 *)at &= mask;
}

/* Many rows, or rows of a size that no class has. */
void tti_live_copy_many(const struct tti_live *live, unsigned char *to, const void *rows,
			uint64_t count);

/* One row to where the next row goes; false, and nothing done, for TTI_ROW_ANY.  Without padding
 * to be zeroed the mask is all ones. */
TTI_INLINE bool tti_live_put_one(const struct tti_live *live,
				 const struct tti_live_next *next, const void *row)
{
	if (TTI_LIKELY(live->row_class == TTI_ROW_TO32))
		tti_row_to32(next->at, row, next->row_bytes, live->mask);
	else if (live->row_class == TTI_ROW_TO64)
		tti_row_to64(next->at, row, next->row_bytes, live->mask);
	else if (live->row_class == TTI_ROW_TO16)
		tti_row_to16(next->at, row, next->row_bytes, live->mask);
	else
		return false;
	return true;
}

/* Copy count rows to where the next row goes, padding zeroed as chosen. */
void tti_live_put(const struct tti_live *live, const void *rows, uint64_t count);

/* Copy count rows behind end and publish; TT_E_FULL leaves everything as it was.  Wakes
 * nobody. */
static inline int tti_live_append(struct tti_live *live, const void *rows, uint64_t count)
{
	int rc;

	if (TTI_UNLIKELY(count > tti_live_room(live)))
		return TT_E_FULL;
	if (TTI_UNLIKELY(count == 0))
		return TT_OK;
	TTI_FAILPOINT("file.append.before_rows");
	tti_live_put(live, rows, count);
	TTI_FAILPOINT("file.append.before_publish");
	rc = tti_live_publish(live, live->end + count);
	TTI_FAILPOINT("file.append.after_publish");
	return rc;
}

/* Bring update_timestamp up to wall_ns; up to the coarse clock. */
void tti_live_stamp_at(struct tti_live *live, int64_t wall_ns);
void tti_live_stamp(struct tti_live *live);

/* Overwrite rows [row, row + count), counted from 0 of the file, as one change.  Padding is
 * zeroed unless clean.  TT_OK, -ENOMEM, or the errno of a misaligned tail's pwrite. */
int tti_live_update(struct tti_live *live, uint64_t row, const void *rows, uint64_t count,
		    bool clean);

/* Write the extent capacity into the file's own header.  1 done (or, when dry, possible), 0 it
 * has no room there that changes within one page, or an error. */
int tti_live_put_extent(const struct tti_live *live, uint64_t capacity, bool dry,
			struct tt_error *err);

/* ---- Reading ---- */

/* start and end of one instant; TT_E_DAMAGED when they break the rules now. */
int tti_live_bounds(const struct tti_live *live, uint64_t *start_out, uint64_t *end_out,
		    struct tt_error *err);

/* end by acquire load; of a misaligned tail or a pread handle by pread (last good value when
 * that fails); of a plain file the capacity. */
uint64_t tti_live_end(const struct tti_live *live);

/* Of a handle that is not mapped: live->end by a look at the file, which a peer may have cut or
 * lengthened in place since; the handle then follows.  An error: it cannot be told now, as
 * while the peer is at it. */
int tti_live_look(struct tti_live *live, struct tt_error *err);

bool tti_live_is_superseded(const struct tti_live *live);

/* Copy rows [row, row + count) from 0 of the file, in C order, by pread: never a signal. */
int tti_live_copy(const struct tti_live *live, uint64_t row, uint64_t count, void *out,
		  struct tt_error *err);

/* The same, but all rows as of one instant between changes: TT_E_TORN after many tries,
 * TT_E_UNSUPPORTED for 4-word tails and rows that are not 8-byte aligned. */
int tti_live_copy_untorn(const struct tti_live *live, uint64_t row, uint64_t count,
			 void *out, struct tt_error *err);

#endif
