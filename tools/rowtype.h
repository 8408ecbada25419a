/* SPDX-License-Identifier: Apache-2.0 */
/* What one row is: the dtype of the file, the extents behind the first, and the two seen as one
 * element type, from which columns are named. */
#ifndef CLI_ROWTYPE_H
#define CLI_ROWTYPE_H

#include "cmd.h"
#include "value.h"

struct cli_rowtype {
	struct tt_dtype *dtype; /* as in the header */
	uint32_t rank;		/* of row_shape */
	uint64_t shape[TT_MAX_RANK];
	struct tt_dtype *row; /* dtype as a sub-array of shape; dtype itself for rank 0 */
	size_t bytes;
};

/* Takes references of its own. */
int cli_rowtype_init(struct cli_rowtype *type, const struct tt_dtype *dtype,
		     uint32_t rank, const uint64_t *shape, struct tt_error *err);
void cli_rowtype_fini(struct cli_rowtype *type); /* accepts a zeroed one */

/* The leaf of that name, or NULL. */
const struct tt_leaf *cli_find_leaf(const struct tt_dtype *row, const char *name);

/* A list as it stands in one line of CSV: 'a,"b,c"'.  Strings in one block. */
struct cli_list {
	char *text;
	const char **items;
	size_t count;
};
/* false when quotes do not match or there is no memory. */
bool cli_list_parse(struct cli_list *list, const char *text);
void cli_list_free(struct cli_list *list);

/* Columns: one an element, sub-arrays taken apart ("bid[0]"). */
struct cli_column {
	char *name;
	const struct cli_value *value;
	size_t offset; /* in the row */
	size_t leaf;   /* which leaf it is an element of */
};

struct cli_columns {
	struct cli_value *values; /* one a leaf */
	struct cli_column *items;
	size_t count;
	size_t text_max; /* of the longest value */
};
int cli_columns_init(struct cli_columns *columns, const struct tt_dtype *row,
		     struct tt_error *err);
void cli_columns_fini(struct cli_columns *columns);

/* Fields picked by --fields: the packed type and how to copy a row into it. */
struct cli_pick {
	struct cli_rowtype type;
	struct {
		size_t from, to, bytes;
	} * moves;
	size_t count;
};
int cli_pick_init(struct cli_pick *pick, const struct cli_rowtype *from,
		  const char *fields, struct tt_error *err);
void cli_pick_fini(struct cli_pick *pick);
void cli_pick_rows(const struct cli_pick *pick, const void *rows, size_t row_bytes,
		   size_t count, void *out);

/* err with words of the program itself; returns code. */
int cli_error(struct tt_error *err, int code, const char *fmt, ...) CLI_PRINTF(3, 4);

#endif
