/* SPDX-License-Identifier: Apache-2.0 */
/* Hashing slots as the layout says: rows of fixed size by their bytes in the file, strings of
 * variable length by their lengths and texts. */
#include "archive/slotdigest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"

int tti_slot_digester_init(struct tti_slot_digester *out, struct tti_driver *driver,
			   const struct tti_raw *raw, struct tt_error *err)
{
	*out = (struct tti_slot_digester){ .reader = { .driver = driver, .raw = raw } };
	return tti_hasher_new(&out->hasher, err);
}

void tti_slot_digester_fini(struct tti_slot_digester *digester)
{
	tti_slot_reader_fini(&digester->reader);
	tti_hasher_free(&digester->hasher);
	free(digester->chunk);
	digester->chunk = NULL;
}

static int hash_strings(struct tti_slot_digester *s, char **texts, uint64_t count,
			const uint64_t *extent, struct tti_digest *out)
{
	int rc = tti_hasher_begin(s->hasher);

	for (uint64_t i = 0; i < count && rc == TT_OK; i++)
		rc = tti_hasher_vlen_element(s->hasher, texts[i],
					     texts[i] ? strlen(texts[i]) : 0);
	return rc < 0 ? rc : tti_hasher_end(s->hasher, s->reader.raw->rank, extent, out);
}

/* Only libhdf5 can follow the strings into its global heap. */
static int digest_strings(struct tti_slot_digester *s, uint64_t slot,
			  const uint64_t *extent, struct tti_digest *out,
			  struct tt_error *err)
{
	const struct tti_raw *raw = s->reader.raw;
	hsize_t start[TT_MAX_RANK] = { slot * raw->chunk[0] }, box[TT_MAX_RANK];
	tti_auto_hid space = H5Dget_space(raw->id), memory = -1;
	tti_auto_free char **texts = NULL;
	uint64_t count = 1;
	int rc;

	for (uint32_t i = 0; i < raw->rank; i++) {
		box[i] = extent[i];
		count *= extent[i];
	}
	texts = calloc(count, sizeof(*texts));
	if (!texts)
		return tti_fail(err, -ENOMEM, "out of memory for %" PRIu64 " strings",
				count);
	memory = H5Screate_simple(raw->rank, box, NULL);
	if (space < 0 || memory < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, box, NULL) < 0 ||
	    H5Dread(raw->id, raw->type, memory, space, H5P_DEFAULT, texts) < 0)
		return tti_h5_fail(err, TT_E_DAMAGED, NULL, "strings");
	rc = hash_strings(s, texts, count, extent, out);
	H5Dvlen_reclaim(raw->type, memory, H5P_DEFAULT, texts);
	return rc < 0 ? tti_fail(err, rc, "libcrypto makes no digest") : TT_OK;
}

static int digest_rows(struct tti_slot_digester *s, uint64_t slot, const uint64_t *extent,
		       struct tti_digest *out, struct tt_error *err)
{
	const struct tti_raw *raw = s->reader.raw;
	const struct tti_chunk_box box = {
		.rank = raw->rank,
		.chunk = raw->chunk,
		.extent = extent,
		.element_bytes = raw->element_bytes,
	};
	struct tti_chunk_place place;
	int rc;

	if (!s->chunk)
		s->chunk = malloc(raw->chunk_bytes);
	if (!s->chunk)
		return tti_fail(err, -ENOMEM,
				"out of memory for a chunk of %" PRIu64 " bytes",
				raw->chunk_bytes);
	rc = tti_slot_probe(&s->reader, slot, &place, err);
	if (rc == TT_OK)
		rc = tti_slot_read(&s->reader, slot, &place, s->chunk, err);
	if (rc < 0)
		return rc;
	rc = tti_digest_box(s->hasher, s->chunk, &box, out);
	return rc < 0 ? tti_fail(err, rc, "libcrypto makes no digest") : TT_OK;
}

int tti_slot_digest(struct tti_slot_digester *s, uint64_t slot, const uint64_t *extent,
		    struct tti_digest *out, struct tt_error *err)
{
	TTI_H5_QUIET;

	return s->reader.raw->vlen_string ? digest_strings(s, slot, extent, out, err)
					  : digest_rows(s, slot, extent, out, err);
}
