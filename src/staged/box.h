/* SPDX-License-Identifier: Apache-2.0 */
/* Strided boxes of bytes, and moving them: one by one, or what lies side by side together. */
#ifndef TTI_BOX_H
#define TTI_BOX_H

#include "ticktail/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Axis i has count[i] steps of to_step[i] and from_step[i] bytes; run bytes without gaps at each
 * place. */
struct tti_box {
	uint32_t rank;
	unsigned char *to;
	const unsigned char *from;
	uint64_t count[TT_MAX_RANK]; /* at least 1 each */
	int64_t to_step[TT_MAX_RANK], from_step[TT_MAX_RANK];
	size_t run;
};

/* In what order boxes may be moved, and how what is written is stored. */
struct tti_manner {
	enum {
		TTI_SINGLY, /* one after the other: a later one may write where one before did */
		TTI_JOINED,  /* those that continue each other on both sides are one */
		TTI_ABREAST, /* and others alike together, a line of all at a time */
	} order;
	bool stream; /* much, and not read soon: past the caches */
};

/* Boxes alike but for their runs, held back until one comes that is not.  What is written is not
 * certain to be there before tti_convoy_end(). */
enum { TTI_CONVOY_MAX = 128 };
struct tti_convoy {
	struct tti_manner manner;
	unsigned count;
	struct tti_box like; /* its axes are those of all */
	struct tti_car {
		unsigned char *to;
		const unsigned char *from;
		size_t run;
	} cars[TTI_CONVOY_MAX];
};
static inline void tti_convoy_begin(struct tti_convoy *convoy, struct tti_manner manner)
{
	/* no more: the cars need not be anything yet */
	convoy->manner = manner;
	convoy->count = 0;
}
/* Move box, or keep it to be moved with others; it is changed. */
void tti_convoy_add(struct tti_convoy *convoy, struct tti_box *box);
void tti_convoy_end(struct tti_convoy *convoy);

#endif
