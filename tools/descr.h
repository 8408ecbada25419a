/* SPDX-License-Identifier: Apache-2.0 */
/* DESCR on the command line: a type in words, or @FILE to take it from rows that exist. */
#ifndef CLI_DESCR_H
#define CLI_DESCR_H

#include "cmd.h"

/* One reference to *out.  An exit status. */
int cli_descr(const struct cli_ctx *ctx, const char *text, bool align,
	      struct tt_dtype **out);
/* "3,2" -> extents, each at least 1; an exit status. */
int cli_row_shape(const struct cli_ctx *ctx, const char *text, uint32_t *rank,
		  uint64_t shape[TT_MAX_RANK]);

#endif
