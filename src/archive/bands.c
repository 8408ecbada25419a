/* SPDX-License-Identifier: Apache-2.0 */
/* Bands and their chunks.  Invariant: every byte of a chunk that lies outside the dataset's
 * shape is fill value, so that what is stored depends on the rows alone. */
#include "archive/bands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/dataset.h"
#include "archive/io.h"
#include "base/error.h"
#include "base/num.h"

#define CHUNK_LIMIT UINT32_MAX /* HDF5 counts a chunk's bytes in 32 bits */

int tti_cut_measure(struct tti_cut *cut, const char *where, struct tt_error *err)
{
	struct tti_grid *grid = &cut->grid;
	uint64_t bytes = cut->element_bytes, rows = cut->element_bytes, all;
	bool too_big = false;

	for (unsigned j = 0; j < grid->rank; j++)
		too_big |= grid->chunk[j] == 0 ||
			   tti_mul_overflow(bytes, grid->chunk[j], &bytes) ||
			   bytes > CHUNK_LIMIT;
	if (too_big)
		return tti_fail(err, TT_E_RANGE,
				"%s: a chunk of 4 GiB or more (or of nothing) is more "
				"than HDF5 holds; "
				"give --chunk with fewer rows",
				where);
	cut->whole_rows = true;
	for (unsigned j = 1; j < grid->rank; j++) {
		too_big |= tti_mul_overflow(rows, grid->shape[j], &rows);
		cut->whole_rows &= grid->shape[j] == grid->chunk[j];
	}
	cut->row_bytes = rows;
	cut->chunk_bytes = bytes;
	too_big |= !tti_grid_init(grid) || tti_mul_overflow(rows, grid->chunk[0], &all) ||
		   all > PTRDIFF_MAX || tti_mul_overflow(bytes, grid->band, &all) ||
		   all > PTRDIFF_MAX;
	return too_big ? tti_fail(err, TT_E_RANGE, "%s: rows are too large", where)
		       : TT_OK;
}

static void *aligned_bytes(size_t n)
{
	void *p;

	return posix_memalign(&p, TTI_IO_ALIGN, tti_round_up(n + !n, TTI_IO_ALIGN)) == 0
		       ? p
		       : NULL;
}

/* A chunk of whole rows is the band itself. */
int tti_band_init(struct tti_band *band, const struct tti_cut *cut)
{
	*band = (struct tti_band){ 0 };
	band->bytes = aligned_bytes(cut->row_bytes * cut->grid.chunk[0]);
	band->cells = calloc(cut->grid.band, sizeof(*band->cells));
	if (!cut->whole_rows)
		band->chunks = aligned_bytes(cut->chunk_bytes * cut->grid.band);
	return band->bytes && band->cells && (cut->whole_rows || band->chunks) ? TT_OK
									       : -ENOMEM;
}

void tti_band_clear_cells(struct tti_band *band, const struct tti_cut *cut)
{
	for (uint64_t k = 0; band->cells && k < cut->grid.band; k++) {
		free(band->cells[k].encoded);
		band->cells[k] = (struct tti_cell){ 0 };
	}
}

void tti_band_fini(struct tti_band *band, const struct tti_cut *cut)
{
	tti_band_clear_cells(band, cut);
	free(band->pieces);
	free(band->bytes);
	free(band->chunks);
	free(band->cells);
	*band = (struct tti_band){ 0 };
}

void tti_band_fill(struct tti_band *band, const struct tti_press *press, uint64_t from)
{
	const struct tti_cut *cut = press->cut;

	if (from < cut->grid.chunk[0] && cut->row_bytes > 0)
		tti_fill_bytes(band->bytes + from * cut->row_bytes,
			       (cut->grid.chunk[0] - from) * cut->row_bytes, press->fill,
			       cut->element_bytes);
}

/* ---- Between rows and chunks ---- */

struct box_copy {
	const struct tti_cut *cut;
	const uint64_t *first, *extent;
	uint8_t *band, *chunk;
	bool to_chunk;
};

/* The runs of the last axis below axis j, at byte offsets into band and chunk. */
static void copy_axis(const struct box_copy *copy, unsigned j, size_t in_band,
		      size_t in_chunk)
{
	const struct tti_cut *cut = copy->cut;
	size_t band_step = cut->element_bytes, chunk_step = cut->element_bytes;

	for (unsigned i = j + 1; i < cut->grid.rank; i++) {
		band_step *= cut->grid.shape[i];
		chunk_step *= cut->grid.chunk[i];
	}
	if (j > 0)
		in_band += copy->first[j] * band_step;
	if (j + 1 == cut->grid.rank) {
		size_t n = copy->extent[j] * cut->element_bytes;

		if (copy->to_chunk)
			memcpy(copy->chunk + in_chunk, copy->band + in_band, n);
		else
			memcpy(copy->band + in_band, copy->chunk + in_chunk, n);
		return;
	}
	for (uint64_t i = 0; i < copy->extent[j]; i++)
		copy_axis(copy, j + 1, in_band + i * band_step,
			  in_chunk + i * chunk_step);
}

void tti_band_from_chunk(struct tti_band *band, const struct tti_cut *cut, uint64_t k,
			 uint64_t rows, const void *chunk)
{
	uint64_t first[TT_MAX_RANK], extent[TT_MAX_RANK];
	struct box_copy copy = {
		.cut = cut, .first = first, .extent = extent, .band = band->bytes
	};

	tti_grid_box(&cut->grid, band->index * cut->grid.band + k, first, extent);
	extent[0] = rows;
	copy.chunk = (uint8_t *)(uintptr_t)chunk; /* only read: to_chunk is false */
	copy_axis(&copy, 0, 0, 0);
}

static uint8_t *cut_chunk(struct tti_band *band, const struct tti_press *press,
			  uint64_t k, const uint64_t *first, const uint64_t *extent)
{
	const struct tti_cut *cut = press->cut;
	struct box_copy copy = { .cut = cut,
				 .first = first,
				 .extent = extent,
				 .band = band->bytes,
				 .to_chunk = true };

	if (cut->whole_rows)
		return band->bytes;
	copy.chunk = band->chunks + k * cut->chunk_bytes;
	tti_fill_bytes(copy.chunk, cut->chunk_bytes, press->fill, cut->element_bytes);
	copy_axis(&copy, 0, 0, 0);
	return copy.chunk;
}

/* ---- The work ---- */

static int read_pieces(struct tti_band *band, const struct tti_press *press)
{
	const struct tti_cut *cut = press->cut;

	for (size_t i = 0; i < band->piece_count; i++) {
		struct tti_piece *piece = &band->pieces[i];
		struct tti_item *item = press->stretches[piece->stretch].item;
		uint8_t *at = band->bytes + piece->at * cut->row_bytes;
		uint64_t elements = piece->rows * (cut->row_bytes / press->item_bytes);
		int rc = tti_item_read(item, piece->file_row, piece->rows, at);

		if (rc == -ENODATA)
			return tti_fail(&band->err, TT_E_CHANGED,
					"%s: was cut short while it was being archived; "
					"nothing was "
					"committed",
					item->path);
		if (rc < 0)
			return tti_fail_sys(&band->err, rc, item->path, "reading rows");
		if (press->padded)
			tt_dtype_clear_padding(press->padded, at, elements);
		if (press->time_leaf)
			tti_time_range_scan(&piece->times, press->time_leaf, at, elements,
					    press->item_bytes);
	}
	return TT_OK;
}

static bool is_all_fill(const uint8_t *chunk, const struct tti_press *press)
{
	size_t step = press->cut->element_bytes, n = press->cut->chunk_bytes;

	return memcmp(chunk, press->fill, step) == 0 &&
	       memcmp(chunk, chunk + step, n - step) == 0;
}

static bool is_full(const struct tti_cut *cut, const uint64_t *extent)
{
	return memcmp(extent, cut->grid.chunk, cut->grid.rank * sizeof(*extent)) == 0;
}

/* The codec's buffer serves the next chunk, so what it holds is copied. */
static int encode(struct tti_cell *cell, const uint8_t *chunk,
		  const struct tti_press *press, const struct tti_bench *bench,
		  struct tt_error *err)
{
	int rc = tti_pipeline_encode(press->filters, bench->codec, chunk, &cell->stored,
				     err);

	if (rc < 0 || cell->stored.bytes == chunk)
		return rc;
	cell->encoded = malloc(cell->stored.n + !cell->stored.n);
	if (!cell->encoded)
		return tti_fail(err, -ENOMEM, "chunk of %zu bytes: out of memory",
				cell->stored.n);
	memcpy(cell->encoded, cell->stored.bytes, cell->stored.n);
	cell->stored.bytes = cell->encoded;
	return TT_OK;
}

static int work_cell(struct tti_band *band, const struct tti_press *press, uint64_t k,
		     const struct tti_bench *bench)
{
	const struct tti_cut *cut = press->cut;
	uint64_t first[TT_MAX_RANK], extent[TT_MAX_RANK];
	struct tti_chunk_box box = { .rank = cut->grid.rank,
				     .chunk = cut->grid.chunk,
				     .extent = extent,
				     .element_bytes = cut->element_bytes };
	struct tti_cell *cell = &band->cells[k];
	const uint8_t *chunk;
	int rc;

	tti_grid_box(&cut->grid, band->index * cut->grid.band + k, first, extent);
	chunk = cut_chunk(band, press, k, first, extent);
	cell->is_fill = is_full(cut, extent) && is_all_fill(chunk, press);
	if (cell->is_fill)
		return TT_OK;
	rc = tti_digest_box(bench->hasher, chunk, &box, &cell->digest);
	if (rc < 0)
		return tti_fail(&band->err, rc, "SHA-256: libcrypto failed");
	if (press->is_known(press->ctx, &cell->digest))
		return TT_OK;
	return encode(cell, chunk, press, bench, &band->err);
}

void tti_band_work(struct tti_band *band, const struct tti_press *press,
		   const struct tti_bench *bench)
{
	band->rc = read_pieces(band, press);
	for (uint64_t k = 0; band->rc == TT_OK && k < press->cut->grid.band; k++)
		band->rc = work_cell(band, press, k, bench);
}
