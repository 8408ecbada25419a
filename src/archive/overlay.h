/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that lie over a file: pages of 4096 bytes in memory, each byte of which is either
 * changed or shows what is below.  Single bytes, because chunks that went to the file directly
 * may share their first and last page with metadata that did not. */
#ifndef TTI_OVERLAY_H
#define TTI_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TTI_PAGE 4096u

struct tti_page {
	uint64_t number;      /* address / TTI_PAGE */
	bool watched;	      /* belongs into every journal, changed or not */
	uint64_t changed[64]; /* a bit a byte */
	unsigned char bytes[TTI_PAGE];
};

struct tti_overlay {
	struct tti_page **slots; /* hashed by number; NULL: free */
	size_t room, count;
};

void tti_overlay_clear(struct tti_overlay *overlay); /* drop all; accepts an empty one */
/* TT_OK or -ENOMEM, and then nothing or only a part is laid over. */
int tti_overlay_write(struct tti_overlay *overlay, uint64_t address, const void *bytes,
		      size_t n);
int tti_overlay_watch(struct tti_overlay *overlay, uint64_t address);
/* What is below shows again. */
void tti_overlay_uncover(struct tti_overlay *overlay, uint64_t address, uint64_t n);
/* bytes hold what is below: put the changed bytes in. */
void tti_overlay_lay(const struct tti_overlay *overlay, uint64_t address, void *bytes,
		     size_t n);
/* true when every byte is changed, so that nothing need be read from below. */
bool tti_overlay_hides(const struct tti_overlay *overlay, uint64_t address, size_t n);

/* The numbers of the pages that are changed or watched and begin before end, ascending;
 * malloc'ed.  -ENOMEM. */
int tti_overlay_list(const struct tti_overlay *overlay, uint64_t end,
		     uint64_t **numbers_out, size_t *count_out);

#endif
