/* SPDX-License-Identifier: Apache-2.0 */
/* One dataset's share of a run.  Chunks that the parent has filled to the edge are shared by
 * slot number; from the parent's trimmed last chunks on, bands are made anew.  Invariant: the
 * map of slots and the grid of the new version belong together at every moment. */
#include "archive/deposit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/names.h"
#include "archive/slots.h"
#include "archive/vds.h"
#include "base/error.h"
#include "base/num.h"

struct state {
	struct tti_deposit *d;
	struct tt_dataset *parent; /* or NULL: the parent version has none of that name */
	struct tti_slots slots;
	struct tti_cut cut;
	struct tti_h5type type; /* of the incoming rows */
	unsigned rank;
	uint64_t shape[TT_MAX_RANK]; /* shape[1:] of the incoming rows, as HDF5 axes */
	uint64_t *map;
	uint64_t first_band;
	size_t next; /* stretch that is being cut into bands, and how much of it is */
	uint64_t next_row;
	struct tti_press press;
};

/* ---- Does it fit? ---- */

static int rows_as_axes(struct state *s, struct tt_error *err)
{
	const struct tti_item *model = s->d->work->model;
	int rc = tti_h5type_from_dtype(&s->type, model->dtype, err);

	if (rc < 0)
		return tti_fail_in(err, rc, "%s", model->path);
	if (1 + model->row_rank + s->type.rank > TT_MAX_RANK)
		return tti_fail(err, TT_E_DTYPE,
				"%s: more than %d axes cannot be archived", model->path,
				TT_MAX_RANK);
	s->rank = 1;
	for (uint32_t i = 0; i < model->row_rank; i++)
		s->shape[s->rank++] = model->row_shape[i];
	for (uint32_t i = 0; i < s->type.rank; i++)
		s->shape[s->rank++] = s->type.shape[i];
	return TT_OK;
}

/* The same bytes under another shape of the same thing: HDF5's array type, a bare U. */
static bool same_as_numpy(const struct state *s)
{
	const struct tti_item *model = s->d->work->model;
	const struct tt_dataset_info *info;

	if (!s->parent)
		return false;
	info = &s->parent->info;
	return info->dtype && tt_dtype_equal(info->dtype, model->dtype) &&
	       info->rank == 1 + model->row_rank &&
	       memcmp(info->shape + 1, model->row_shape,
		      model->row_rank * sizeof(*model->row_shape)) == 0;
}

static bool same_as_stored(const struct state *s)
{
	const struct tti_raw *raw = &s->slots.raw;

	if (H5Tequal(raw->type, s->type.type) <= 0 || raw->rank != s->rank)
		return false;
	for (unsigned j = 1; s->parent && j < s->rank; j++)
		if (s->parent->grid.shape[j] != s->shape[j])
			return false;
	/* M8 and i8 are one type in HDF5; what the rows were says the descr */
	return !s->slots.dtype ||
	       tt_dtype_equal(s->slots.dtype, s->d->work->model->dtype);
}

static const char *stored_descr(const struct state *s)
{
	if (s->slots.dtype)
		return tt_dtype_descr(s->slots.dtype);
	return s->parent && s->parent->info.dtype ? tt_dtype_descr(s->parent->info.dtype)
						  : "another HDF5 type";
}

static int print_shape(char *out, size_t n, uint32_t rank, const uint64_t *shape)
{
	size_t at = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < rank && at < n; i++)
		at += (size_t)snprintf(out + at, n - at, "%s%" PRIu64, i ? "," : "",
				       shape[i]);
	return 0;
}

static int check_fit(struct state *s, struct tt_error *err)
{
	const struct tti_item *model = s->d->work->model;
	uint64_t chunk = s->d->job->chunk_rows;
	char ours[160], theirs[160];

	if (!same_as_stored(s) && !same_as_numpy(s)) {
		print_shape(ours, sizeof(ours), model->row_rank, model->row_shape);
		print_shape(theirs, sizeof(theirs),
			    s->parent ? s->parent->info.rank - 1 : s->slots.raw.rank - 1,
			    s->parent ? s->parent->info.shape + 1
				      : s->slots.raw.chunk + 1);
		return tti_fail(err, TT_E_MISMATCH,
				"%s: rows of %.120s (%s) do not go into %s, whose rows "
				"are %.120s (%s); "
				"give another name with --dataset",
				model->path, tt_dtype_descr(model->dtype), ours,
				s->slots.where, stored_descr(s), theirs);
	}
	if (chunk != 0 && chunk != s->slots.raw.chunk[0])
		return tti_fail(err, TT_E_MISMATCH,
				"%s: has chunks of %" PRIu64 " rows, not %" PRIu64
				" as --chunk says; they cannot change",
				s->slots.where, s->slots.raw.chunk[0], chunk);
	if (s->parent && strcmp(s->parent->raw.path, s->slots.raw_path) != 0)
		return tti_fail(err, TT_E_UNSUPPORTED, "%s: draws from %s, not from %s",
				s->parent->where, s->parent->raw.path, s->slots.raw_path);
	return TT_OK;
}

/* ---- Opening ---- */

static int open_parent(struct state *s, struct tt_error *err)
{
	const struct tti_plan *plan = s->d->plan;
	int rc;

	if (strcmp(plan->parent, TTI_FIRST_VERSION) == 0)
		return TT_OK;
	rc = tti_dataset_open(&s->parent, s->d->driver, plan->parent, s->d->work->name,
			      err);
	if (rc == TT_E_RANGE)
		return TT_OK; /* the version has no such dataset */
	if (rc == TT_OK)
		rc = tti_dataset_resolve(s->parent, NULL, NULL, err);
	if (rc == TT_OK && s->parent->mapping.unusual)
		rc = tti_fail(err, TT_E_UNSUPPORTED, "%s: %s; rows cannot be added to it",
			      s->parent->where, s->parent->mapping.unusual);
	return rc;
}

static int create_slots(struct state *s, struct tt_error *err)
{
	const struct tt_archive_job *job = s->d->job;
	const struct tti_item *model = s->d->work->model;
	uint64_t chunk[TT_MAX_RANK];
	struct tti_slots_spec spec = {
		.dtype = model->dtype,
		.type = &s->type,
		.rank = s->rank,
		.chunk = chunk,
		.filter = { .filter = job->filter,
			    .gzip_level = job->gzip_level,
			    .shuffle = job->shuffle },
	};
	struct tti_cut probe = { .grid.rank = s->rank, .element_bytes = s->type.size };
	int rc;

	memcpy(chunk, s->shape, sizeof(chunk));
	chunk[0] = job->chunk_rows
			   ? job->chunk_rows
			   : tti_default_chunk_rows(model->row_bytes, s->d->work->rows);
	memcpy(probe.grid.chunk, chunk, sizeof(chunk));
	memcpy(probe.grid.shape, chunk, sizeof(chunk));
	rc = tti_cut_measure(&probe, model->path, err);
	return rc < 0 ? rc
		      : tti_slots_create(&s->slots, s->d->driver, s->d->work->name, &spec,
					 err);
}

static int open_slots(struct state *s, struct tt_error *err)
{
	int rc;

	if (!tti_slots_exist(s->d->driver, s->d->work->name))
		return create_slots(s, err);
	rc = tti_slots_open(&s->slots, s->d->driver, s->d->work->name, s->d->versions,
			    err);
	return rc < 0 ? rc : check_fit(s, err);
}

static int cut_up(struct state *s, struct tt_error *err)
{
	struct tti_grid *grid = &s->cut.grid;
	const uint64_t *rest = s->parent ? s->parent->grid.shape : s->shape;
	uint64_t before = s->d->work->rows_before, bytes;
	int rc;

	grid->rank = s->slots.raw.rank;
	memcpy(grid->chunk, s->slots.raw.chunk, sizeof(grid->chunk));
	memcpy(grid->shape, rest, sizeof(grid->shape));
	grid->shape[0] = before + s->d->work->rows;
	s->cut.element_bytes = s->slots.raw.element_bytes;
	rc = tti_cut_measure(&s->cut, s->slots.where, err);
	if (rc < 0)
		return rc;
	if (s->cut.row_bytes != s->d->work->model->row_bytes)
		return tti_fail(err, TT_E_MISMATCH,
				"%s: rows of %" PRIu64 " bytes, the file's have %" PRIu64,
				s->slots.where, s->cut.row_bytes,
				s->d->work->model->row_bytes);
	s->first_band = before / grid->chunk[0];
	if (!tti_mul_overflow(grid->count, sizeof(*s->map), &bytes))
		s->map = malloc(bytes);
	if (!s->map)
		return tti_fail(err, -ENOMEM, "%s: %" PRIu64 " chunks: out of memory",
				s->slots.where, grid->count);
	for (uint64_t k = 0; k < grid->count; k++)
		s->map[k] = TTI_NO_SLOT;
	/* chunk numbers count along the other axes first, so they stay as axis 0 grows */
	for (size_t i = 0; s->parent && i < s->parent->mapping.count; i++)
		s->map[s->parent->mapping.items[i].chunk] =
			s->parent->mapping.items[i].slot;
	return TT_OK;
}

/* ---- Bands ---- */

static int add_piece(struct tti_band *band, struct tti_piece piece, struct tt_error *err)
{
	if (band->piece_count == band->piece_room) {
		size_t room = band->piece_room ? band->piece_room * 2 : 4;
		void *grown = realloc(band->pieces, room * sizeof(*band->pieces));

		if (!grown)
			return tti_fail(err, -ENOMEM, "pieces of a chunk: out of memory");
		band->pieces = grown;
		band->piece_room = room;
	}
	band->pieces[band->piece_count++] = piece;
	return TT_OK;
}

/* What the parent's trimmed chunks hold of the first band. */
static int read_before(struct state *s, struct tti_band *band, uint64_t rows,
		       struct tt_error *err)
{
	const struct tti_grid *grid = &s->cut.grid;
	tti_auto_free void *chunk = malloc(s->cut.chunk_bytes);
	int rc = TT_OK;

	if (!chunk)
		return tti_fail(err, -ENOMEM, "%s: out of memory", s->slots.where);
	for (uint64_t k = 0; rc == TT_OK && k < grid->band; k++) {
		uint64_t slot = s->map[band->index * grid->band + k];

		if (slot == TTI_NO_SLOT)
			continue; /* the band is fill value already */
		rc = tti_slots_read(&s->slots, slot, rows, chunk, err);
		if (rc == TT_OK)
			tti_band_from_chunk(band, &s->cut, k, rows, chunk);
	}
	return rc;
}

static int fill_pieces(struct state *s, struct tti_band *band, uint64_t at,
		       struct tt_error *err)
{
	struct tti_work *work = s->d->work;
	int rc = TT_OK;

	while (rc == TT_OK && at < s->cut.grid.chunk[0] && s->next < work->count) {
		struct tti_stretch *stretch = &work->stretches[s->next];
		struct tti_piece piece = {
			.stretch = s->next,
			.file_row = stretch->file_row + s->next_row,
			.rows = tti_min_u64(s->cut.grid.chunk[0] - at,
					    stretch->rows - s->next_row),
			.at = at,
			.times = TTI_TIME_RANGE_EMPTY,
		};

		rc = tti_item_open(stretch->item, err);
		if (rc == TT_OK)
			rc = add_piece(band, piece, err);
		at += piece.rows;
		s->next_row += piece.rows;
		if (s->next_row == stretch->rows) {
			s->next++;
			s->next_row = 0;
		}
	}
	band->rows = at;
	return rc;
}

static int fill_band(void *ctx, struct tti_band *band, struct tt_error *err)
{
	struct state *s = ctx;
	uint64_t before = 0;
	int rc = TT_OK;

	if (band->index == s->first_band)
		before = s->d->work->rows_before - s->first_band * s->cut.grid.chunk[0];
	if (before > 0) {
		tti_band_fill(band, &s->press, 0);
		rc = read_before(s, band, before, err);
	}
	if (rc == TT_OK)
		rc = fill_pieces(s, band, before, err);
	if (rc == TT_OK)
		tti_band_fill(band, &s->press, band->rows);
	return rc;
}

/* true when the file of a stretch has no further one: stretches of a file follow each other. */
static bool is_last_of_file(const struct tti_work *work, size_t i)
{
	return i + 1 == work->count ||
	       work->stretches[i + 1].item != work->stretches[i].item;
}

/* A file whose last row is taken is not needed any more: few are open at a time. */
static int take_pieces(struct state *s, const struct tti_band *band, struct tt_error *err)
{
	struct tti_deposit *d = s->d;

	for (size_t i = 0; i < band->piece_count; i++) {
		const struct tti_piece *piece = &band->pieces[i];
		struct tti_stretch *stretch = &d->work->stretches[piece->stretch];

		tti_time_range_join(&stretch->times, &piece->times);
		d->count->rows_done += piece->rows;
		d->count->bytes += piece->rows * s->cut.row_bytes;
		if (piece->file_row + piece->rows == stretch->file_row + stretch->rows &&
		    is_last_of_file(d->work, piece->stretch))
			tti_item_close(stretch->item);
	}
	if (d->job->progress &&
	    !d->job->progress(d->job->ctx, d->count->rows_done, d->plan->rows))
		return tti_fail(err, -ECANCELED, "cancelled; nothing was committed");
	return TT_OK;
}

static int store_band(void *ctx, struct tti_band *band, unsigned *pending,
		      struct tt_error *err)
{
	struct state *s = ctx;
	const struct tti_grid *grid = &s->cut.grid;
	int rc = TT_OK;

	for (uint64_t k = 0; rc >= 0 && k < grid->band; k++) {
		const struct tti_applicant chunk = { &band->cells[k], band->rows,
						     pending };
		uint64_t *slot = &s->map[band->index * grid->band + k];

		*slot = TTI_NO_SLOT;
		if (band->cells[k].is_fill)
			continue;
		rc = tti_slots_put(&s->slots, &chunk, slot, err);
		if (rc > 0)
			s->d->count->chunks_new++;
	}
	return rc < 0 ? rc : take_pieces(s, band, err);
}

static int reap(void *ctx, bool wait)
{
	struct state *s = ctx;

	return tti_driver_reap(s->d->driver, wait);
}

static void settle(void *ctx)
{
	struct state *s = ctx;

	/* a failed write fails the commit as well, and tells why */
	tti_driver_drain(s->d->driver, NULL);
}

static bool is_known(void *ctx, const struct tti_digest *digest)
{
	return tti_slots_know(ctx, digest);
}

static int make_bands(struct state *s, struct tt_error *err)
{
	const struct tti_item *model = s->d->work->model;
	struct tti_crew_job job = {
		.press = &s->press,
		.first_band = s->first_band,
		.fill = fill_band,
		.store = store_band,
		.reap = reap,
		.settle = settle,
		.ctx = s,
	};
	int rc;

	s->press = (struct tti_press){
		.cut = &s->cut,
		.filters = &s->slots.raw.pipeline,
		.fill = s->slots.fill,
		.stretches = s->d->work->stretches,
		.time_leaf = tti_time_leaf(model->dtype),
		.padded = tt_dtype_has_padding(model->dtype) ? model->dtype : NULL,
		.item_bytes = tt_dtype_size(model->dtype),
		.is_known = is_known,
		.ctx = &s->slots,
	};
	rc = tti_crew_run(s->d->crew, &job, err);
	for (size_t i = 0; i < s->d->work->count; i++)
		tti_item_close(s->d->work->stretches[i].item);
	return rc;
}

static int make_dataset(struct state *s, struct tt_error *err)
{
	struct tti_vds vds = {
		.group = s->d->group,
		.name = s->d->work->name,
		.slots = &s->slots,
		.grid = &s->cut.grid,
		.map = s->map,
		.like = s->parent ? s->parent->id : -1,
	};
	int rc = tti_slots_finish(&s->slots, err);

	for (uint64_t k = 0; k < s->cut.grid.count; k++)
		s->d->count->chunks += s->map[k] != TTI_NO_SLOT;
	return rc < 0 ? rc : tti_vds_create(s->d->driver, &vds, err);
}

int tti_deposit(struct tti_deposit *deposit, struct tt_error *err)
{
	TTI_H5_QUIET;
	struct state s = { .d = deposit, .type = TTI_H5TYPE_EMPTY };
	int rc = rows_as_axes(&s, err);

	if (rc == TT_OK)
		rc = open_parent(&s, err);
	if (rc == TT_OK)
		rc = open_slots(&s, err);
	if (rc == TT_OK)
		rc = cut_up(&s, err);
	if (rc == TT_OK)
		rc = make_bands(&s, err);
	if (rc == TT_OK)
		rc = make_dataset(&s, err);
	free(s.map);
	tti_slots_close(&s.slots);
	tt_dataset_close(s.parent);
	tti_h5type_close(&s.type);
	return rc;
}
