/* SPDX-License-Identifier: Apache-2.0 */
/* Reading rows of a version: chunk by chunk from where each lies in the file, around libhdf5;
 * through libhdf5 only what it alone can read (foreign filters, mappings that no writer of
 * the layout makes).
 *
 * Invariant: memory is one stored and one decoded chunk, however many rows are read. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/dataset.h"
#include "archive/h5.h"
#include "base/num.h"

/* What of one chunk goes where. */
struct part {
	uint64_t item;		      /* in mapping.items */
	uint64_t from_row;	      /* in the chunk */
	uint64_t extent[TT_MAX_RANK]; /* rows wanted, then the chunk's other extents */
	char *to;		      /* of the first element */
};

struct strides {
	uint64_t from[TT_MAX_RANK], to[TT_MAX_RANK]; /* bytes from one to the next */
	uint32_t run; /* axes from here on lie in one piece on both sides */
};

static void make_strides(const struct tt_dataset *d, const struct part *p,
			 struct strides *s)
{
	const struct tti_grid *g = &d->grid;
	uint64_t from = d->raw.element_bytes, to = from;
	bool whole = true;

	s->run = 0;
	for (uint32_t i = g->rank; i-- > 0;) {
		s->from[i] = from;
		s->to[i] = to;
		from *= g->chunk[i];
		to *= g->shape[i];
		if (whole)
			s->run = i;
		whole = whole && p->extent[i] == g->chunk[i] &&
			p->extent[i] == g->shape[i];
	}
}

static void copy_axis(const struct strides *s, const struct part *p, uint32_t axis,
		      const char *from, char *to)
{
	if (axis == s->run) {
		memcpy(to, from, p->extent[axis] * s->from[axis]);
		return;
	}
	for (uint64_t i = 0; i < p->extent[axis]; i++)
		copy_axis(s, p, axis + 1, from + i * s->from[axis], to + i * s->to[axis]);
}

static int locate(struct tt_dataset *d, uint64_t item, struct tt_error *err)
{
	if (d->places[item].address != 0)
		return TT_OK;
	return tti_slot_probe(&d->slots, d->mapping.items[item].slot, &d->places[item],
			      err);
}

static int cache_chunk(struct tt_dataset *d, uint64_t item, struct tt_error *err)
{
	int rc;

	if (d->cached_item == item)
		return TT_OK;
	d->cached_item = UINT64_MAX;
	if (!d->cached)
		d->cached = malloc(d->raw.chunk_bytes);
	if (!d->cached)
		return tti_fail(err, -ENOMEM,
				"out of memory for a chunk of %" PRIu64 " bytes",
				d->raw.chunk_bytes);
	rc = tti_slot_read(&d->slots, d->mapping.items[item].slot, &d->places[item],
			   d->cached, err);
	if (rc == TT_OK)
		d->cached_item = item;
	return rc;
}

static int copy_part(struct tt_dataset *d, const struct part *p, struct tt_error *err)
{
	const struct tti_chunk_place *place = &d->places[p->item];
	struct strides s;
	int rc = locate(d, p->item, err);

	if (rc < 0)
		return rc;
	make_strides(d, p, &s);
	if (s.run == 0 && d->raw.pipeline.count == 0 &&
	    place->address != TTI_NO_ADDRESS && d->cached_item != p->item) {
		rc = tti_slot_check(&d->slots, place, err);
		return rc < 0 ? rc
			      : tti_driver_pread(d->driver,
						 place->address + p->from_row * s.from[0],
						 p->to, p->extent[0] * s.from[0], err);
	}
	rc = cache_chunk(d, p->item, err);
	if (rc == TT_OK)
		copy_axis(&s, p, 0, (char *)d->cached + p->from_row * s.from[0], p->to);
	return rc;
}

/* Rows that share one place of the grid on axis 0. */
struct band {
	uint64_t index;	       /* on axis 0 of the grid */
	uint64_t first, count; /* rows of the dataset */
	char *to;
};

static int read_chunk(struct tt_dataset *d, const struct band *b, uint64_t item,
		      struct tt_error *err)
{
	const struct tti_grid *g = &d->grid;
	uint64_t start[TT_MAX_RANK], stride = d->raw.element_bytes, offset = 0;
	struct part p = { .item = item, .to = b->to };
	int rc;

	tti_grid_box(g, d->mapping.items[item].chunk, start, p.extent);
	for (uint32_t i = g->rank; i-- > 1;) {
		offset += start[i] * stride;
		stride *= g->shape[i];
	}
	p.to += offset;
	p.from_row = b->first - start[0];
	p.extent[0] = b->count;
	rc = copy_part(d, &p, err);
	if (rc < 0)
		return tti_fail_in(err, rc,
				   "%s: chunk %" PRIu64 ": rows %" PRIu64 "-%" PRIu64,
				   d->where, d->mapping.items[item].chunk, b->first,
				   b->first + b->count - 1);
	return TT_OK;
}

static int read_band(struct tt_dataset *d, const struct band *b, struct tt_error *err)
{
	const struct tti_mapping *m = &d->mapping;
	uint64_t from = b->index * d->grid.band, end = from + d->grid.band - 1;
	size_t first = tti_mapping_from(m, from), after = first;
	int rc = TT_OK;

	while (after < m->count && m->items[after].chunk <= end)
		after++;
	if (after - first < d->grid.band)
		tti_fill_bytes(b->to, b->count * d->info.row_bytes, d->fill,
			       d->raw.element_bytes);
	for (size_t i = first; i < after && rc == TT_OK; i++)
		rc = read_chunk(d, b, i, err);
	return rc;
}

/* Whatever the mappings are: libhdf5 knows. */
static int read_by_hdf5(struct tt_dataset *d, uint64_t first, uint64_t count, void *rows,
			struct tt_error *err)
{
	hsize_t start[TT_MAX_RANK] = { first }, extent[TT_MAX_RANK];
	tti_auto_hid space = H5Dget_space(d->id), memory = -1;

	for (uint32_t i = 0; i < d->grid.rank; i++)
		extent[i] = i ? d->grid.shape[i] : count;
	memory = H5Screate_simple(d->grid.rank, extent, NULL);
	if (space < 0 || memory < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, extent, NULL) < 0 ||
	    H5Dread(d->id, d->raw.type, memory, space, H5P_DEFAULT, rows) < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, d->where, d->mapping.unusual);
	return TT_OK;
}

int tt_dataset_read(struct tt_dataset *d, uint64_t first, uint64_t count, void *rows,
		    struct tt_error *err)
{
	TTI_H5_QUIET;
	uint64_t total = d->shape[0], done = 0;
	int rc;

	if (first > total || count > total - first)
		return tti_fail(err, TT_E_RANGE,
				"%s: rows %" PRIu64 " + %" PRIu64 " were asked "
				"for, there are %" PRIu64,
				d->where, first, count, total);
	if (d->info.vlen_strings)
		return tti_fail(err, TT_E_UNSUPPORTED,
				"%s: strings of variable length cannot be "
				"read as rows (h5py can)",
				d->where);
	if (count == 0 || d->info.row_bytes == 0)
		return TT_OK;
	rc = tti_dataset_resolve(d, NULL, NULL, err);
	if (rc < 0)
		return rc;
	if (d->mapping.unusual)
		return read_by_hdf5(d, first, count, rows, err);
	while (done < count && rc == TT_OK) {
		uint64_t at = first + done, c0 = d->grid.chunk[0];
		struct band b = {
			.index = at / c0,
			.first = at,
			.count = tti_min_u64(count - done, c0 - at % c0),
			.to = (char *)rows + done * d->info.row_bytes,
		};

		rc = read_band(d, &b, err);
		done += b.count;
	}
	return rc;
}
