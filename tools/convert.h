/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one type into rows of another with the same names, where nothing can be lost. */
#ifndef CLI_CONVERT_H
#define CLI_CONVERT_H

#include "rowtype.h"

struct cli_step;

struct cli_convert {
	bool same; /* the bytes are taken as they are */
	size_t from_bytes, to_bytes;
	struct cli_step *steps;
	size_t count;
};

/* TT_E_MISMATCH naming the first field that differs. */
int cli_convert_init(struct cli_convert *convert, const struct cli_rowtype *from,
		     const struct cli_rowtype *to, struct tt_error *err);
void cli_convert_fini(struct cli_convert *convert);
void cli_convert_rows(const struct cli_convert *convert, const void *from, uint64_t count,
		      void *to);

#endif
