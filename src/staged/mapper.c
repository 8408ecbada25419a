/* SPDX-License-Identifier: Apache-2.0 */
/* Mappers of points and slices are arithmetic; that of a list sorts its positions by
 * chunk and finds runs.
 *
 * Invariant: ids ascend; a chunk's spans are in the order of the list, so that of two
 *            values for one position the later is written last. */
#include "staged/mapper.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/num.h"

struct tti_span tti_mapper_slice_span(const struct tti_mapper *m, uint64_t id)
{
	uint64_t begin = id * m->chunk;
	uint64_t end = tti_min_u64(m->stop, m->stop - begin > m->chunk ? begin + m->chunk
								       : m->stop);
	uint64_t from = tti_max_u64(begin, m->start);
	uint64_t rank = from - m->start;

	if (m->step > 1)
		rank = (rank + m->step - 1) / m->step;
	return (struct tti_span){
		.chunk_start = m->start + rank * m->step - begin,
		.value_start = rank,
		.count = (m->step > 1 ? (end - m->start - 1) / m->step + 1
				      : end - m->start) -
			 rank,
		.chunk_stride = m->step,
		.value_stride = 1,
	};
}

bool tti_mapper_is_whole(const struct tti_mapper *m, uint64_t i)
{
	uint64_t id;

	if (m->kind == TTI_AXIS_LIST)
		return m->whole[i];
	id = tti_mapper_chunk(m, i);
	return (m->spans ? m->spans[i].count : tti_mapper_slice_span(m, id).count) ==
	       tti_chunk_extent(m->size, m->chunk, id);
}

/* ---- Lists ---- */

/* A position of a list: its chunk, where in the chunk, and where in the list. */
struct pick {
	uint64_t id, at, value;
};

static int by_chunk(const void *a, const void *b)
{
	const struct pick *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static int by_position(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static struct pick *sorted_picks(const struct tti_axis_sel *sel, uint64_t chunk)
{
	struct pick *picks = calloc(sel->count, sizeof(*picks));
	bool sorted = true;

	for (uint64_t i = 0; picks && i < sel->count; i++) {
		picks[i] = (struct pick){ sel->list[i] / chunk, sel->list[i] % chunk, i };
		sorted &= i == 0 || picks[i - 1].id <= picks[i].id;
	}
	if (picks && !sorted)
		qsort(picks, sel->count, sizeof(*picks), by_chunk);
	return picks;
}

/* A stride above 1 would begin here, but the next step is one of 1: leave this position
 * alone, so that the run after it is not broken. */
static bool better_alone(uint64_t step, uint64_t here, uint64_t next)
{
	return step > 1 && next > here && next - here == 1;
}

/* The run at picks[0]; its length. */
static uint64_t run_length(const struct pick *picks, uint64_t n)
{
	uint64_t dv, dp, length = 1;

	if (n < 2 || picks[1].at <= picks[0].at)
		return 1;
	dv = picks[1].value - picks[0].value;
	dp = picks[1].at - picks[0].at;
	if (n > 2 && (better_alone(dp, picks[1].at, picks[2].at) ||
		      better_alone(dv, picks[1].value, picks[2].value)))
		return 1;
	while (length < n && picks[length].at > picks[length - 1].at &&
	       picks[length].at - picks[length - 1].at == dp &&
	       picks[length].value - picks[length - 1].value == dv)
		length++;
	return length;
}

/* The spans of the n picks of one chunk. */
static uint64_t find_spans(const struct pick *picks, uint64_t n, struct tti_span *spans)
{
	uint64_t found = 0;

	for (uint64_t i = 0; i < n;) {
		uint64_t length = run_length(picks + i, n - i);

		spans[found++] = (struct tti_span){
			.chunk_start = picks[i].at,
			.value_start = picks[i].value,
			.count = length,
			.chunk_stride = length > 1 ? picks[i + 1].at - picks[i].at : 1,
			.value_stride =
				length > 1 ? picks[i + 1].value - picks[i].value : 1,
		};
		i += length;
	}
	return found;
}

/* Whether the n picks of a chunk are all of its positions; scratch has room for n. */
static bool covers(const struct pick *picks, uint64_t n, uint64_t extent,
		   uint64_t *scratch)
{
	uint64_t distinct = 1;

	if (n < extent)
		return false;
	for (uint64_t i = 0; i < n; i++)
		scratch[i] = picks[i].at;
	qsort(scratch, n, sizeof(*scratch), by_position);
	for (uint64_t i = 1; i < n; i++)
		distinct += scratch[i] != scratch[i - 1];
	return distinct == extent;
}

static void fill_list(struct tti_mapper *m, const struct pick *picks, uint64_t n,
		      uint64_t *scratch)
{
	uint64_t spans = 0;

	m->count = 0;
	for (uint64_t i = 0; i < n;) {
		uint64_t end = i, id = picks[i].id;

		while (end < n && picks[end].id == id)
			end++;
		m->ids[m->count] = id;
		m->first_span[m->count] = spans;
		m->whole[m->count] =
			covers(picks + i, end - i,
			       tti_chunk_extent(m->size, m->chunk, id), scratch);
		spans += find_spans(picks + i, end - i, m->spans + spans);
		m->count++;
		i = end;
	}
	m->first_span[m->count] = spans;
}

static int init_list(struct tti_mapper *m, const struct tti_axis_sel *sel,
		     struct tt_error *err)
{
	tti_auto_free struct pick *picks = sorted_picks(sel, m->chunk);
	tti_auto_free uint64_t *scratch = calloc(sel->count, sizeof(*scratch));

	m->ids = calloc(sel->count, sizeof(*m->ids));
	m->first_span = calloc(sel->count + 1, sizeof(*m->first_span));
	m->whole = calloc(sel->count, sizeof(*m->whole));
	m->spans = calloc(sel->count, sizeof(*m->spans));
	if (!picks || !scratch || !m->ids || !m->first_span || !m->whole || !m->spans)
		return tti_fail(err, -ENOMEM,
				"an index of %" PRIu64 " positions: out of memory",
				sel->count);
	fill_list(m, picks, sel->count, scratch);
	return TT_OK;
}

enum { FEW = 2, MANY = 4096 };

/* The spans of a slice are looked up once for every chunk along the other axes. */
static int init_slice(struct tti_mapper *m, const struct tti_axis_sel *sel,
		      struct tt_error *err)
{
	m->first = m->start / m->chunk;
	m->count = m->step <= m->chunk ? (m->stop - 1) / m->chunk - m->first + 1
				       : sel->count;
	if (m->count < FEW || m->count > MANY)
		return TT_OK;
	m->spans = malloc(m->count * sizeof(*m->spans));
	if (!m->spans)
		return tti_fail(err, -ENOMEM,
				"an index over %" PRIu64 " chunks: out of memory",
				m->count);
	for (uint64_t i = 0; i < m->count; i++)
		m->spans[i] = tti_mapper_slice_span(m, tti_mapper_chunk(m, i));
	return TT_OK;
}

int tti_mapper_init(struct tti_mapper *m, const struct tti_axis_sel *sel, uint64_t size,
		    uint64_t chunk, struct tt_error *err)
{
	int rc;

	*m = (struct tti_mapper){ .size = size,
				  .chunk = chunk,
				  .kind = sel->kind,
				  .start = sel->start,
				  .stop = sel->stop,
				  .step = sel->step };
	if (sel->kind != TTI_AXIS_LIST)
		return init_slice(m, sel, err);
	rc = init_list(m, sel, err);
	if (rc < 0)
		tti_mapper_fini(m);
	return rc;
}

void tti_mapper_fini(struct tti_mapper *m)
{
	free(m->ids);
	free(m->first_span);
	free(m->whole);
	free(m->spans);
	*m = (struct tti_mapper){ .count = 0 };
}

int tti_mappers_init(struct tti_mapper mappers[TT_MAX_RANK],
		     const struct tti_selection *sel, const uint64_t *shape,
		     const uint64_t *chunk, struct tt_error *err)
{
	for (uint32_t i = 0; i < sel->rank; i++) {
		int rc = tti_mapper_init(&mappers[i], &sel->axis[i], shape[i], chunk[i],
					 err);

		if (rc < 0) {
			tti_mappers_fini(mappers, i);
			return rc;
		}
	}
	return TT_OK;
}

void tti_mappers_fini(struct tti_mapper *mappers, uint32_t rank)
{
	for (uint32_t i = 0; i < rank; i++)
		tti_mapper_fini(&mappers[i]);
}
