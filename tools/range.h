/* SPDX-License-Identifier: Apache-2.0 */
/* --from, --to, --time-field: which rows lie in a half-open range of time. */
#ifndef CLI_RANGE_H
#define CLI_RANGE_H

#include "rowtype.h"

struct cli_range {
	struct cli_value value;
	size_t offset;
	bool is_unsigned, skips_nat;
	/* min <= value <= max; a range that holds nothing has min > max */
	__int128 min, max;
};

/* From the options of the command; *given false: no range was asked for. */
int cli_range_init(struct cli_range *range, const struct cli_ctx *ctx,
		   const struct tt_dtype *row, bool *given);
bool cli_range_holds(const struct cli_range *range, const void *row);

#endif
