/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of a ring is.  Each file says it in its header, and one damaged header must not
 * speak for all: what most of the newest files say counts.  Invariant: a file whose size or tail
 * do not fit its header has no vote while there is one that fits. */
#include "live/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "live/salvage.h"

#define VOTERS 9

struct voter {
	struct tti_ring_like says;
	bool fits; /* header, size and tail agree */
	unsigned votes;
};

void tti_ring_like_fini(struct tti_ring_like *like)
{
	tti_npy_fini(&like->npy);
	*like = (struct tti_ring_like){ 0 };
}

/* A file that opens, or whose header can at least be read. */
static bool ask(const struct tti_ring *ring, const struct tti_ring_item *item,
		struct voter *out)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	char file_name[TTI_RING_NAME_BYTES];
	tti_auto_fd fd = -1;
	struct stat st;

	*out = (struct voter){ 0 };
	if (tti_ring_open_file(ring, item->name, item->merged, &live, NULL) == TT_OK) {
		out->says.npy = live.npy;
		out->says.capacity = live.capacity;
		out->says.tail_words = live.tail_words;
		out->fits = live.npy.rank > 0 && live.npy.shape[0] == live.capacity;
		live.npy = (struct tti_npy){ 0 }; /* taken over */
		tti_live_close(&live);
		return out->says.npy.rank > 0 && !out->says.npy.fortran_order;
	}
	tti_ring_format_name(file_name, item->name, item->merged);
	fd = tti_open_regular(ring->dirfd, file_name, O_RDONLY | O_NOFOLLOW, file_name,
			      NULL);
	if (fd < 0 || fstat(fd, &st) < 0 ||
	    tti_salvage_header(&out->says.npy, fd, (uint64_t)st.st_size, file_name) != 1)
		return false;
	out->says.capacity = out->says.npy.rank ? out->says.npy.shape[0] : 0;
	out->says.tail_words = 5;
	return out->says.npy.rank > 0 && !out->says.npy.fortran_order;
}

/* The first of those with most votes: they are asked from the newest on. */
static const struct voter *elect(struct voter *voters, size_t count)
{
	const struct voter *best = NULL;
	bool any_fits = false;

	for (size_t i = 0; i < count; i++)
		any_fits = any_fits || voters[i].fits;
	for (size_t i = 0; i < count; i++) {
		if (any_fits && !voters[i].fits)
			continue;
		for (size_t k = 0; k < count; k++)
			voters[i].votes += (voters[k].fits || !any_fits) &&
					   tti_ring_same_rows(&voters[i].says.npy,
							      &voters[k].says.npy);
		if (!best || voters[i].votes > best->votes)
			best = &voters[i];
	}
	return best;
}

/* As many files that fit say something else. */
static bool is_split(const struct voter *voters, size_t count, const struct voter *best)
{
	for (size_t i = 0; best->fits && i < count; i++)
		if (voters[i].fits && voters[i].votes == best->votes &&
		    !tti_ring_same_rows(&voters[i].says.npy, &best->says.npy))
			return true;
	return false;
}

int tti_ring_find_like(struct tti_ring *ring, struct tti_ring_like *out,
		       struct tt_error *err)
{
	tti_auto_items items = { 0 };
	struct voter voters[VOTERS];
	const struct voter *best;
	size_t count = 0, fits = 0;
	int rc = tti_ring_list(ring, &items, err);

	*out = (struct tti_ring_like){ 0 };
	if (rc == TT_E_DAMAGED) { /* the manifest: the directory tells */
		struct tti_map lock = ring->lock;

		ring->lock = (struct tti_map){ 0 };
		rc = tti_ring_list(ring, &items, err);
		ring->lock = lock;
	}
	if (rc < 0)
		return rc;
	for (size_t i = items.count; i > 0 && count < VOTERS; i--) {
		if (ask(ring, &items.at[i - 1], &voters[count]))
			fits += voters[count++].fits;
		else
			tti_ring_like_fini(&voters[count].says);
		/* a bad file among the newest must not use up the places of good ones */
		if (count == VOTERS && fits == 0)
			tti_ring_like_fini(&voters[--count].says);
	}
	best = elect(voters, count);
	if (best) {
		*out = best->says;
		out->npy.dtype = tt_dtype_ref(best->says.npy.dtype);
		out->votes = best->fits ? best->votes : 0;
		out->split = is_split(voters, count, best);
	}
	for (size_t i = 0; i < count; i++)
		tti_ring_like_fini(&voters[i].says);
	return best ? 1 : 0;
}
