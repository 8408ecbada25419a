/* SPDX-License-Identifier: Apache-2.0 */
/* A single file that is tailed: what finding the first row (tail_begin.c) and following
 * (tail_file.c) share. */
#ifndef CLI_TAIL_FILE_H
#define CLI_TAIL_FILE_H

#include <sys/stat.h>
#include <ticktail/file.h>

#include "tail.h"

#define STAMP_OURS(stamp) (((stamp)&0xFFFF) == 0)

struct cli_tailed {
	struct cli_tail *tail;
	struct tt_file *file;
	struct tt_file_info info; /* as looked at last */
	struct stat st;		  /* of the path when it was opened */
	uint64_t row;		  /* next one, from 0 of the file */
	uint64_t stamp;	     /* update_timestamp when the rows were known to be right */
	unsigned char *rows; /* copied out of the file; owned */
	uint64_t room;
	struct tt_error err;
};

/* Rows copied out of the file: an exit status, or below 0 when it is being changed where it
 * is. */
int cli_tailed_copy(struct cli_tailed *t, uint64_t row, uint64_t count, void *out);

/* When the inode of st, at path, was made; 0: not told. */
int64_t cli_tailed_born_ns(const struct stat *st, const char *path);
/* Say what happened and go to the first row. */
int cli_tailed_from_start(struct cli_tailed *t, const char *what);
/* The first row of all: a stored place, or as the options say. */
int cli_tailed_first_row(struct cli_tailed *t);

#endif
