/* SPDX-License-Identifier: Apache-2.0 */
/* Which slot of raw_data holds which chunk of a version's dataset, resolved once from the
 * mappings of the virtual dataset.  Nothing that the file says is believed before it was
 * checked against the shape and the length of raw_data. */
#ifndef TTI_MAPPING_H
#define TTI_MAPPING_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ticktail/dtype.h"
#include "base/error.h"

/* A chunked array: chunk numbers count in C order of the grid. */
struct tti_grid {
	uint32_t rank;
	uint64_t shape[TT_MAX_RANK], chunk[TT_MAX_RANK];
	uint64_t across[TT_MAX_RANK]; /* chunks along each axis; 0 where the shape is 0 */
	uint64_t band;		      /* chunks that share one place on axis 0 */
	uint64_t count;		      /* chunks in all */
};

/* shape and chunk are set (chunk[] >= 1): fill in the rest.  false: more chunks than 2^64. */
bool tti_grid_init(struct tti_grid *grid);
/* Where a chunk begins and what of it lies inside the shape. */
void tti_grid_box(const struct tti_grid *grid, uint64_t chunk, uint64_t *start,
		  uint64_t *extent);

struct tti_mapped {
	uint64_t chunk, slot;
};

struct tti_mapping {
	struct tti_mapped *items; /* ascending by chunk, each chunk once */
	size_t count;
	/* NULL, or why the mappings are not one per chunk as the layout wants them: libhdf5
	 * can read the dataset, but versioned_hdf5 loses data of it.  malloc'ed. */
	char *unusual;
};

/* Called for each mapping that breaks the layout; chunk is -1 when it has no number. */
struct tti_mapping_fault {
	int64_t chunk;
	int64_t row, row_count; /* on axis 0; row -1: not known */
	const char *what;
};
typedef void tti_mapping_fault_fn(void *ctx, const struct tti_mapping_fault *fault);

/* What mappings are checked against. */
struct tti_mapping_source {
	const struct tti_grid *grid;
	const char *raw_path;	     /* what every mapping must name */
	uint64_t raw_rows;	     /* length of raw_data on axis 0 */
	const char *where;	     /* "PATH: version V: dataset D", for errors */
	tti_mapping_fault_fn *fault; /* may be NULL: the first damage is the error */
	void *ctx;
};

/* dcpl: creation property list of the version's dataset; none of its mappings when it is not
 * virtual.  TT_E_DAMAGED: mappings that contradict shape or raw_data.  TT_E_UNSUPPORTED: a
 * source outside the archive. */
int tti_mapping_read(struct tti_mapping *out, hid_t dcpl,
		     const struct tti_mapping_source *source, struct tt_error *err);
void tti_mapping_fini(struct tti_mapping *mapping); /* accepts an empty one */

/* The first item whose chunk is not below chunk. */
size_t tti_mapping_from(const struct tti_mapping *mapping, uint64_t chunk);

#endif
