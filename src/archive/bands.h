/* SPDX-License-Identifier: Apache-2.0 */
/* A dataset cut into chunks, and the work on one band of it: the chunks that share their rows.
 *
 * Band b holds rows [b x c0, (b + 1) x c0), all of the other axes.  It is filled from private
 * copies of rows, so the bytes that are hashed are the bytes that are written.  Pure memory
 * but for the reading of sources. */
#ifndef TTI_BANDS_H
#define TTI_BANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "staged/digest.h"
#include "archive/filters.h"
#include "archive/mapping.h"
#include "archive/sources.h"
#include "archive/timefield.h"

/* A dataset of the new version: its grid (tti_grid_init) and the bytes of its pieces. */
struct tti_cut {
	struct tti_grid grid;
	size_t element_bytes;
	/* filled by tti_cut_measure(): */
	uint64_t row_bytes; /* element_bytes x product(shape[1:]) */
	size_t chunk_bytes; /* of a full chunk */
	bool whole_rows;    /* a chunk holds whole rows, in their order */
};
/* grid.rank, shape and chunk and element_bytes are set: fill in the rest.  TT_E_RANGE when a
 * chunk has 4 GiB or more, or the counts overflow. */
int tti_cut_measure(struct tti_cut *cut, const char *where, struct tt_error *err);

/* Rows of an item that go to one place of a dataset: one row of the ledger. */
struct tti_stretch {
	struct tti_item *item;
	uint64_t file_row, rows; /* from 0 of the file */
	uint64_t first_row;	 /* in the dataset */
	struct tti_time_range times;
};

struct tti_piece { /* of a stretch, in a band */
	size_t stretch;
	uint64_t file_row, rows;
	uint64_t at; /* row of the band */
	struct tti_time_range times;
};

struct tti_cell { /* a chunk of a band */
	struct tti_digest digest;
	bool is_fill; /* full size and nothing but fill value: not stored */
	struct tti_encoded stored;
	void *encoded; /* owned copy of stored.bytes, or NULL */
};

struct tti_band {
	uint64_t index;
	uint64_t rows; /* of the band that are in the dataset, <= c0 */
	struct tti_piece *pieces;
	size_t piece_count, piece_room;
	uint8_t *bytes;	 /* c0 rows, 4096-aligned */
	uint8_t *chunks; /* the chunks full size, when they are not whole rows */
	struct tti_cell *cells;
	int rc; /* of the work */
	struct tt_error err;
};

/* What all bands of one dataset share; read only while workers run. */
struct tti_press {
	const struct tti_cut *cut;
	const struct tti_pipeline *filters;
	const uint8_t *fill; /* one element */
	struct tti_stretch *stretches;
	const struct tt_leaf *time_leaf; /* or NULL */
	const struct tt_dtype
		*padded;   /* its padding is zeroed: not data, so not kept; or NULL */
	size_t item_bytes; /* of the rows' dtype */
	/* true: the chunk is stored already and need not be encoded; from any worker */
	bool (*is_known)(void *ctx, const struct tti_digest *digest);
	void *ctx;
};

int tti_band_init(struct tti_band *band, const struct tti_cut *cut);
void tti_band_fini(struct tti_band *band, const struct tti_cut *cut);
void tti_band_clear_cells(struct tti_band *band, const struct tti_cut *cut);
/* Rows [from, c0) become fill value. */
void tti_band_fill(struct tti_band *band, const struct tti_press *press, uint64_t from);

/* The bytes of one worker. */
struct tti_bench {
	struct tti_hasher *hasher;
	struct tti_codec *codec;
};

/* Read the pieces, cut, hash and encode.  Sets rc and err of the band. */
void tti_band_work(struct tti_band *band, const struct tti_press *press,
		   const struct tti_bench *bench);

/* Copy the trimmed box of chunk k between its full-size form and the band's rows. */
void tti_band_from_chunk(struct tti_band *band, const struct tti_cut *cut, uint64_t k,
			 uint64_t rows, const void *chunk);

#endif
