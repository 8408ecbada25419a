/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of unsigned numbers as NumPy prints them: columns of one width, lines of 75, the
 * middle left out above 1,000 elements. */
#ifndef TTI_PRINT_H
#define TTI_PRINT_H

#include <stdint.h>

#include "format/text.h"

/* Element i is get(ctx, i), C order. */
struct tti_numbers {
	uint32_t rank;
	const uint64_t *shape;
	uint64_t (*get)(const void *ctx, uint64_t i);
	const void *ctx;
};
void tti_print_numbers(struct tti_text *text, const struct tti_numbers *numbers);

#endif
