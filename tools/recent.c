/* SPDX-License-Identifier: Apache-2.0 */
/* The last rows that were read of a single file, by which it is known again.  Invariant: they
 * are the rows before the place of the tail, oldest first, without a gap. */
#include <stdlib.h>
#include <string.h>

#include "tail.h"

#define RECENT_BYTES 4096

int cli_recent_init(struct cli_recent *recent, uint64_t row_bytes)
{
	if (recent->bytes)
		return 0;
	recent->row_bytes = row_bytes;
	recent->room = RECENT_BYTES / row_bytes;
	if (recent->room > CLI_RECENT_ROWS)
		recent->room = CLI_RECENT_ROWS;
	if (recent->room == 0) /* rows of that size are told apart by one */
		recent->room = row_bytes <= CLI_OUT_ROOM;
	recent->bytes = malloc((size_t)(recent->room * row_bytes) + 1);
	return recent->bytes ? 0 : -1;
}

void cli_recent_add(struct cli_recent *recent, const void *rows, uint64_t count)
{
	const unsigned char *from = rows;
	uint64_t keep;

	if (count > recent->room) {
		from += (count - recent->room) * recent->row_bytes;
		count = recent->room;
	}
	keep = recent->room - count;
	if (keep > recent->count)
		keep = recent->count;
	memmove(recent->bytes, recent->bytes + (recent->count - keep) * recent->row_bytes,
		(size_t)(keep * recent->row_bytes));
	memcpy(recent->bytes + keep * recent->row_bytes, from,
	       (size_t)(count * recent->row_bytes));
	recent->count = keep + count;
}

uint64_t cli_recent_digest(const void *rows, uint64_t bytes)
{
	const unsigned char *at = rows;
	uint64_t hash = UINT64_C(14695981039346656037);

	for (uint64_t i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * UINT64_C(1099511628211);
	return hash;
}

void cli_recent_fini(struct cli_recent *recent)
{
	free(recent->bytes);
	*recent = (struct cli_recent){ 0 };
}
