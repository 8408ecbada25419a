/* SPDX-License-Identifier: Apache-2.0 */
/* What can be saved of one NPYT file, whatever happened to it.  Header, tail and size are
 * three witnesses of the same few numbers; where they differ, two that agree outvote the third,
 * and what none of them tells comes from outside (another file of the ring, an entry, a mark).
 * Reads with pread only and changes nothing.
 *
 * Invariant: a row that is kept keeps its number, and nothing is said to be certain that one
 * witness alone tells. */
#ifndef TTI_SALVAGE_H
#define TTI_SALVAGE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/compiler.h"
#include "format/npy.h"
#include "format/settings.h"
#include "format/tail.h"
#include "ticktail/error.h"

#define TTI_SALVAGE_UNKNOWN UINT64_MAX

/* What is known from elsewhere. */
struct tti_salvage_hints {
	const struct tti_npy *like; /* rows are of this type and shape; or NULL */
	const char *like_by;	    /* who says so, as in "X says rows", for messages */
	bool like_unsure; /* others are of another type of that size, and as many */
	bool live;	  /* it had a tail, whatever its header looks like (a ring) */
	uint64_t rows;	  /* published rows, TTI_SALVAGE_UNKNOWN when nobody knows */
	const struct tti_mark *mark; /* of this file, or NULL */
	bool cut_unproven;	     /* keep certain rows only */
};

struct tti_piece {
	uint64_t from, to; /* bytes of the file */
};

struct tti_salvage {
	struct tti_npy
		npy; /* type and shape of a row; owned; shape[0] is not to be used */
	uint64_t file_bytes, data_off, row_bytes;
	uint64_t capacity;   /* rows that the file was made for */
	uint64_t tail_words; /* 5 or 4; 0: a plain array */
	uint64_t start,
		end;	   /* rows that are kept: [start, end), all below end are there */
	uint64_t certain;  /* of these, rows below it were published without doubt */
	uint64_t stamp;	   /* its update_timestamp, 0 unknown */
	uint64_t lost;	   /* rows that were published and are not there any more */
	uint64_t cut_rows; /* whole rows with something in them that are not kept */
	uint64_t cut_bytes;
	struct tti_piece cut[2];
	bool damaged;	 /* false: it opens as it is */
	bool has_header; /* there is one that tells the extent */
	bool end_known;
	bool half_changed; /* rows were being overwritten */
	char what[384];	   /* what is wrong, in words */
};

/* fd is open for reading.  TT_E_DAMAGED: what a row is cannot be told, and hints do not say it;
 * TT_E_MISMATCH: it is something else than hints say.  On success the caller calls
 * tti_salvage_fini(). */
int tti_salvage(struct tti_salvage *out, int fd, const struct tti_salvage_hints *hints,
		const char *path, struct tt_error *err);
void tti_salvage_fini(struct tti_salvage *salvage);

/* The header alone, also one whose first bytes are damaged.  1 found, 0 not, or an error. */
int tti_salvage_header(struct tti_npy *out, int fd, uint64_t file_bytes,
		       const char *path);

/* ---- within salvage*.c ---- */

/* What a row is, where rows begin, and has_header -> out. */
int tti_salvage_find_header(struct tti_salvage *out, int fd,
			    const struct tti_salvage_hints *hints, const char *path,
			    struct tt_error *err);
/* Where a tail at the end of the file says that its rows begin; 0: there is none. */
uint64_t tti_salvage_tail_offset(int fd, uint64_t file_bytes);
/* Bytes of a row by the size of the file, its tail and the extent that the header says, when the
 * row that the header says cannot be; 0: it can. */
uint64_t tti_salvage_other_row(const struct tti_npy *npy, int fd, uint64_t file_bytes);
/* One past the last byte of [from, to) that is not zero, or from. */
int tti_salvage_last_byte(int fd, uint64_t from, uint64_t to, uint64_t *out);
/* Find the tail, from it and the hints how many rows there are. */
int tti_salvage_rows(struct tti_salvage *out, int fd,
		     const struct tti_salvage_hints *hints);
void tti_salvage_note(struct tti_salvage *out, const char *fmt, ...) TTI_PRINTF(2, 3);

#endif
