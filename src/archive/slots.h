/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of one dataset in the archive: raw_data, one slot a chunk, and its hash_table.
 *
 * A run opens (or makes) it, puts chunks, and finishes it.  A chunk whose digest is known
 * takes no new slot.  Row r of the table describes the slot at its start; largest_index, the
 * number of rows that count, is written last. */
#ifndef TTI_SLOTS_H
#define TTI_SLOTS_H

#include <pthread.h>
#include "archive/bands.h"
#include "archive/dataset.h"
#include "staged/dedup.h"
#include "archive/driver.h"
#include "archive/layout.h"

struct tti_hash_row {
	struct tti_digest digest;
	int64_t start, stop; /* rows of raw_data */
};

struct tti_slots {
	struct tti_driver *driver;
	char *where; /* "PATH: dataset D" */
	char *name, *raw_path;
	struct tti_raw raw;
	uint8_t *fill; /* one element */
	hid_t hashes;
	uint64_t stored;	    /* slots that the archive has: largest_index */
	struct tti_hash_row *added; /* slots of this run, from stored on */
	uint64_t added_count, added_room;
	struct tti_dedup known;
	pthread_mutex_t lock;	/* of known: workers look, the calling thread adds */
	struct tt_dtype *dtype; /* from the descr kept with it; NULL: none */
};

/* A dataset that is not there yet. */
struct tti_slots_spec {
	const struct tt_dtype *dtype;
	const struct tti_h5type *type;
	unsigned rank;
	const uint64_t *chunk;
	struct tti_filter_choice filter;
};

/* true: the dataset has raw_data, in whatever version. */
bool tti_slots_exist(struct tti_driver *driver, const char *name);
/* Open for adding.  Refused: a table that does not describe raw_data (TT_E_DAMAGED; naming
 * rebuild_hashtables() where that mends it), filters that are not known here (TT_E_UNSUPPORTED),
 * variable-length strings (TT_E_MISMATCH). */
int tti_slots_open(struct tti_slots *out, struct tti_driver *driver, const char *name,
		   const struct tti_versions *versions, struct tt_error *err);
int tti_slots_create(struct tti_slots *out, struct tti_driver *driver, const char *name,
		     const struct tti_slots_spec *spec, struct tt_error *err);
void tti_slots_close(struct tti_slots *slots); /* accepts a zeroed one */

/* For workers. */
bool tti_slots_know(struct tti_slots *slots, const struct tti_digest *digest);

/* A chunk that wants a slot. */
struct tti_applicant {
	const struct tti_cell *cell;
	uint64_t rows;
	unsigned *pending; /* raised while its bytes are being written */
};
/* The slot of a chunk: 0 a known one, 1 a new one to which its bytes go. */
int tti_slots_put(struct tti_slots *slots, const struct tti_applicant *chunk,
		  uint64_t *slot_out, struct tt_error *err);

/* Rows of a slot, decoded: rows of raw_data from the slot's beginning, at out. */
int tti_slots_read(struct tti_slots *slots, uint64_t slot, uint64_t rows, void *out,
		   struct tt_error *err);

/* Table rows, then largest_index. */
int tti_slots_finish(struct tti_slots *slots, struct tt_error *err);

#endif
