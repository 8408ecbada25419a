/* SPDX-License-Identifier: Apache-2.0 */
/* A version's dataset and the raw_data behind it, opened and checked against each other. */
#ifndef TTI_DATASET_H
#define TTI_DATASET_H

#include "ticktail/archive.h"
#include "archive/driver.h"
#include "archive/filters.h"
#include "archive/h5type.h"
#include "archive/mapping.h"

/* raw_data of a dataset: rows of slots, one chunk each. */
struct tti_raw {
	char *path;
	hid_t id, type; /* owned */
	uint32_t rank;
	uint64_t chunk[TT_MAX_RANK];
	uint64_t rows; /* length on axis 0 */
	size_t element_bytes;
	uint64_t chunk_bytes;
	bool vlen_string;
	struct tti_pipeline pipeline;
};

/* TT_E_DAMAGED with the reason when it is not laid out as raw_data must be. */
int tti_raw_open(struct tti_raw *out, hid_t file, const char *path, const char *where,
		 struct tt_error *err);
void tti_raw_close(struct tti_raw *raw); /* accepts a zeroed one */

/* n bytes of one fill value after the other (NULL: zeros). */
void tti_fill_bytes(void *out, uint64_t n, const void *fill, size_t element_bytes);
/* The fill value of a creation property list: one malloc'ed element, NULL for zeros. */
int tti_fill_value(void **out, hid_t dcpl, const struct tti_raw *raw, const char *where,
		   struct tt_error *err);

/* Reads whole slots of one raw_data.  Set driver and raw, the rest zero. */
struct tti_slot_reader {
	struct tti_driver *driver;
	const struct tti_raw *raw;
	void *fill; /* raw_data's own */
	bool fill_known;
	struct tti_codec *codec;
	void *stored;
	size_t room;
};
void tti_slot_reader_fini(struct tti_slot_reader *reader);
int tti_slot_probe(struct tti_slot_reader *reader, uint64_t slot,
		   struct tti_chunk_place *out, struct tt_error *err);
/* The place lies inside the file and has the length that raw_data wants. */
int tti_slot_check(struct tti_slot_reader *reader, const struct tti_chunk_place *place,
		   struct tt_error *err);
/* raw.chunk_bytes at chunk, filters undone.  Errors do not name the slot; the caller does. */
int tti_slot_read(struct tti_slot_reader *reader, uint64_t slot,
		  const struct tti_chunk_place *place, void *chunk, struct tt_error *err);

struct tt_dataset {
	struct tt_dataset_info info;
	struct tti_driver *driver; /* the archive's */
	char *name, *where;	   /* "PATH: version V: dataset D" */
	hid_t id, dcpl;		   /* owned */
	struct tti_raw raw;
	struct tti_grid grid; /* in elements of raw.type */
	struct tti_h5rows rows;
	uint64_t shape[TT_MAX_RANK], chunk[TT_MAX_RANK]; /* as info gives them */
	void *fill; /* one element, raw.element_bytes; NULL: zeros */
	/* resolved at the first read: */
	bool resolved;
	struct tti_mapping mapping;
	struct tti_chunk_place
		*places; /* beside mapping.items; address 0: not yet asked */
	struct tti_slot_reader slots;
	/* one chunk, decoded: small reads in order need each chunk once */
	void *cached;
	uint64_t cached_item; /* in mapping.items, or UINT64_MAX */
};

/* Open and check; the version's committed flag does not matter here. */
int tti_dataset_open(struct tt_dataset **out, struct tti_driver *driver,
		     const char *version, const char *name, struct tt_error *err);
/* Resolve the mappings now; fault as in tti_mapping_read(). */
int tti_dataset_resolve(struct tt_dataset *dataset, tti_mapping_fault_fn *fault,
			void *ctx, struct tt_error *err);

#endif
