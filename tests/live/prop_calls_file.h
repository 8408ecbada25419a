/* SPDX-License-Identifier: Apache-2.0 */
/* A play on one file: the file, the handles that are open, and the model that judges them. */
#ifndef PROP_CALLS_FILE_H
#define PROP_CALLS_FILE_H

#include "prop_calls.h"
#include "ticktail/file.h"

#define FEW 64 /* rows that a call takes at most, but for odd counts */
#define CALL(play, name) ((play)->calls.op = (name), (play)->calls.err.text[0] = 0)
#define MUST(play, condition) HOLDS(&(play)->calls, condition)

/* What a file holds; the readers that have it open, and the path, share it. */
struct image {
	unsigned refs;
	uint64_t count;
	unsigned char *rows;
};

struct reader {
	struct tt_file *file;
	struct image *image;
	uint64_t cursor;
	bool by_pread;
};

#define READERS 4

struct play {
	struct calls calls;
	const struct row_type *type;
	uint64_t most; /* rows in the model */
	struct image *now;
	ino_t inode; /* that the path names */
	int64_t sync_ms;
	struct tt_file *writer;
	struct reader readers[READERS];
	unsigned char *buffer; /* of FEW rows */
};

static inline uint64_t some(struct play *play, uint64_t below)
{
	return any(&play->calls, below);
}

static inline uint64_t odd(struct play *play, uint64_t below)
{
	return any_odd(&play->calls, below, play->type->bytes);
}

static inline uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- The model ---- */

struct image *image_new(const struct play *play);
void image_drop(struct image *image);
/* Rows [index, index + count) are these now. */
void remember(struct play *play, uint64_t index, const void *rows, uint64_t count);
/* Another file may have taken the name: the old one stays as it is. */
bool look_at_path(struct play *play);
/* The view must be the rows from index on. */
void shows(struct play *play, const struct image *image, const struct tt_view *view,
	   uint64_t index);

/* ---- One call each ---- */

void call_writer(struct play *play);
void close_writer(struct play *play);
void call_reader(struct play *play, struct reader *reader);
void close_reader(struct play *play, struct reader *reader);

#endif
