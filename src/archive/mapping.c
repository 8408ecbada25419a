/* SPDX-License-Identifier: Apache-2.0 */
/* Resolving the mappings of a version's dataset.
 *
 * Invariant of the result: every item names a chunk of the grid and a slot whose rows lie
 * inside raw_data, so that what comes after needs no further checks. */
#include "archive/mapping.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "base/num.h"

bool tti_grid_init(struct tti_grid *g)
{
	bool fits = true;

	g->band = 1;
	for (uint32_t i = 0; i < g->rank; i++) {
		g->across[i] =
			g->shape[i] / g->chunk[i] + (g->shape[i] % g->chunk[i] != 0);
		if (i > 0 && tti_mul_overflow(g->band, g->across[i], &g->band))
			fits = false;
	}
	/* a shape with a zero has no chunks, however large the other axes are */
	for (uint32_t i = 0; i < g->rank; i++) {
		if (g->across[i] == 0) {
			g->count = 0;
			return true;
		}
	}
	return fits && !tti_mul_overflow(g->band, g->across[0], &g->count);
}

void tti_grid_box(const struct tti_grid *g, uint64_t chunk, uint64_t *start,
		  uint64_t *extent)
{
	for (uint32_t i = g->rank; i-- > 0;) {
		start[i] = chunk % g->across[i] * g->chunk[i];
		extent[i] = tti_min_u64(g->chunk[i], g->shape[i] - start[i]);
		chunk /= g->across[i];
	}
}

struct reading {
	const struct tti_mapping_source *source;
	struct tti_mapping *out;
	hid_t dcpl;
	struct tt_error *err;
};

/* One mapping: boxes in the version and in raw_data. */
struct box {
	uint64_t start[TT_MAX_RANK], extent[TT_MAX_RANK];
};

static struct tti_mapping_fault place_of(struct reading *r, const struct box *to)
{
	const struct tti_grid *g = r->source->grid;
	struct tti_mapping_fault f = { .chunk = -1, .row = -1 };
	uint64_t chunk = 0;

	if (!to)
		return f;
	for (uint32_t i = 0; i < g->rank; i++) {
		if (to->start[i] >= g->shape[i])
			return f;
		chunk = chunk * g->across[i] + to->start[i] / g->chunk[i];
	}
	f.chunk = chunk;
	f.row = to->start[0];
	f.row_count = tti_min_u64(to->extent[0], g->shape[0] - to->start[0]);
	return f;
}

/* What contradicts the file itself: TT_OK when somebody listens and wants to go on. */
static int TTI_PRINTF(3, 4)
	damage(struct reading *r, const struct box *to, const char *fmt, ...)
{
	struct tti_mapping_fault f = place_of(r, to);
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	f.what = text;
	if (r->source->fault) {
		r->source->fault(r->source->ctx, &f);
		return TT_OK;
	}
	if (f.chunk < 0)
		return tti_fail(r->err, TT_E_DAMAGED, "%s: %s", r->source->where, text);
	return tti_fail(r->err, TT_E_DAMAGED,
			"%s: chunk %" PRId64 ": rows %" PRId64 "-%" PRId64 ": %s",
			r->source->where, f.chunk, f.row, f.row + f.row_count - 1, text);
}

/* What the layout does not allow, though libhdf5 can read it. */
static int unusual(struct reading *r, const struct box *to, const char *what)
{
	if (r->source->fault) {
		struct tti_mapping_fault f = place_of(r, to);

		f.what = what;
		r->source->fault(r->source->ctx, &f);
	}
	if (!r->out->unusual && !(r->out->unusual = strdup(what)))
		return tti_fail(r->err, -ENOMEM, "%s: out of memory", r->source->where);
	return TT_OK;
}

/* A selection as one box.  1 yes, 0 it is none. */
static int box_of(hid_t space, uint32_t rank, struct box *out)
{
	hsize_t start[TT_MAX_RANK], stride[TT_MAX_RANK], count[TT_MAX_RANK],
		block[TT_MAX_RANK];

	if (space < 0 || H5Sget_simple_extent_ndims(space) != (int)rank ||
	    H5Sget_select_type(space) != H5S_SEL_HYPERSLABS ||
	    H5Sis_regular_hyperslab(space) <= 0 ||
	    H5Sget_regular_hyperslab(space, start, stride, count, block) < 0)
		return 0;
	for (uint32_t i = 0; i < rank; i++) {
		if (count[i] == H5S_UNLIMITED || block[i] == H5S_UNLIMITED ||
		    (count[i] > 1 && stride[i] != block[i]) ||
		    tti_mul_overflow(count[i], block[i], &out->extent[i]))
			return 0;
		out->start[i] = start[i];
	}
	return 1;
}

/* Every mapping must draw from raw_data in this file: no other file is ever opened. */
static int check_source(struct reading *r, size_t i)
{
	char name[1024];
	ssize_t n = H5Pget_virtual_filename(r->dcpl, i, name, sizeof(name));

	if (n < 0)
		return tti_h5_fail(r->err, TT_E_DAMAGED, r->source->where, "mapping");
	if (strcmp(name, ".") != 0)
		return tti_fail(r->err, TT_E_UNSUPPORTED,
				"%s: mapping %zu draws from another file, "
				"'%.200s'",
				r->source->where, i, name);
	n = H5Pget_virtual_dsetname(r->dcpl, i, name, sizeof(name));
	if (n < 0)
		return tti_h5_fail(r->err, TT_E_DAMAGED, r->source->where, "mapping");
	if ((size_t)n != strlen(r->source->raw_path) ||
	    strncmp(name, r->source->raw_path, sizeof(name) - 1) != 0)
		return tti_fail(r->err, TT_E_DAMAGED,
				"%s: mapping %zu draws from '%.200s', not from "
				"'%.200s'",
				r->source->where, i, name, r->source->raw_path);
	return TT_OK;
}

static int take(struct reading *r, const struct box *to, const struct box *from)
{
	const struct tti_grid *g = r->source->grid;
	uint64_t start[TT_MAX_RANK], extent[TT_MAX_RANK], chunk, end;

	for (uint32_t i = 0; i < g->rank; i++) {
		if (to->start[i] >= g->shape[i] ||
		    to->extent[i] > g->shape[i] - to->start[i])
			return damage(r, to,
				      "mapping reaches past the shape on axis %" PRIu32,
				      i);
		if (to->extent[i] != from->extent[i])
			return damage(r, to, "mapping of unequal boxes on axis %" PRIu32,
				      i);
		if (i > 0 && (from->start[i] > g->chunk[i] ||
			      from->extent[i] > g->chunk[i] - from->start[i]))
			return damage(r, to,
				      "mapping reaches past raw_data on axis %" PRIu32,
				      i);
	}
	if (tti_add_overflow(from->start[0], from->extent[0], &end) ||
	    end > r->source->raw_rows)
		return damage(r, to,
			      "mapped to rows %" PRIu64 "-%" PRIu64 " of raw_data, which "
			      "has %" PRIu64,
			      from->start[0], end - 1, r->source->raw_rows);
	chunk = place_of(r, to).chunk;
	tti_grid_box(g, chunk, start, extent);
	for (uint32_t i = 0; i < g->rank; i++) {
		if (to->start[i] != start[i] || to->extent[i] != extent[i])
			return unusual(r, to, "mapping is not exactly one chunk");
		if (i > 0 ? from->start[i] != 0 : from->start[0] % g->chunk[0] != 0)
			return unusual(r, to,
				       "mapping does not begin at a slot of raw_data");
	}
	r->out->items[r->out->count++] =
		(struct tti_mapped){ chunk, from->start[0] / g->chunk[0] };
	return TT_OK;
}

static int read_one(struct reading *r, size_t i)
{
	uint32_t rank = r->source->grid->rank;
	tti_auto_hid to_space = -1, from_space = -1;
	struct box to, from;
	int rc = check_source(r, i);

	if (rc < 0)
		return r->source->fault && rc == TT_E_DAMAGED
			       ? damage(r, NULL,
					"mapping %zu does "
					"not draw from %s",
					i, r->source->raw_path)
			       : rc;
	to_space = H5Pget_virtual_vspace(r->dcpl, i);
	from_space = H5Pget_virtual_srcspace(r->dcpl, i);
	if (to_space < 0 || from_space < 0)
		return tti_h5_fail(r->err, TT_E_DAMAGED, r->source->where, "mapping");
	if (!box_of(to_space, rank, &to) || !box_of(from_space, rank, &from))
		return unusual(r, NULL, "a mapping is not one box (hyperslab)");
	return take(r, &to, &from);
}

static int by_chunk(const void *a, const void *b)
{
	const struct tti_mapped *x = a, *y = b;

	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

/* Writers mostly map in order; sort only what is not. */
static int put_in_order(struct reading *r)
{
	struct tti_mapping *m = r->out;
	size_t kept = 0;
	bool ordered = true;

	for (size_t i = 1; i < m->count && ordered; i++)
		ordered = m->items[i - 1].chunk < m->items[i].chunk;
	if (ordered)
		return TT_OK;
	qsort(m->items, m->count, sizeof(*m->items), by_chunk);
	for (size_t i = 0; i < m->count; i++) {
		if (kept > 0 && m->items[kept - 1].chunk == m->items[i].chunk) {
			struct box to = { { 0 }, { 0 } };
			int rc;

			tti_grid_box(r->source->grid, m->items[i].chunk, to.start,
				     to.extent);
			rc = damage(r, &to, "chunk is mapped twice");
			if (rc < 0)
				return rc;
			continue;
		}
		m->items[kept++] = m->items[i];
	}
	m->count = kept;
	return TT_OK;
}

int tti_mapping_read(struct tti_mapping *out, hid_t dcpl,
		     const struct tti_mapping_source *source, struct tt_error *err)
{
	TTI_H5_QUIET;
	struct reading r = { .source = source, .out = out, .dcpl = dcpl, .err = err };
	size_t count = 0;
	int rc = TT_OK;

	*out = (struct tti_mapping){ 0 };
	if (H5Pget_layout(dcpl) != H5D_VIRTUAL)
		return TT_OK;
	if (H5Pget_virtual_count(dcpl, &count) < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, source->where, "mappings");
	out->items = count ? calloc(count, sizeof(*out->items)) : NULL;
	if (count && !out->items)
		return tti_fail(err, -ENOMEM, "%s: out of memory for %zu mappings",
				source->where, count);
	for (size_t i = 0; i < count && rc == TT_OK; i++)
		rc = read_one(&r, i);
	if (rc == TT_OK)
		rc = put_in_order(&r);
	if (rc < 0)
		tti_mapping_fini(out);
	return rc;
}

void tti_mapping_fini(struct tti_mapping *mapping)
{
	free(mapping->items);
	free(mapping->unusual);
	*mapping = (struct tti_mapping){ 0 };
}

size_t tti_mapping_from(const struct tti_mapping *m, uint64_t chunk)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->items[middle].chunk < chunk)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
