/* SPDX-License-Identifier: Apache-2.0 */
/* Element types in HDF5: how a dtype is stored, and which dtype a stored type means.
 *
 * The mapping is h5py's wherever h5py has one, so that the other side sees the same fields
 * at the same offsets, and the bytes of a row are the same in memory, in an .npy file and in
 * the archive (nothing is ever converted).  Where HDF5 has no such type a plain one of the
 * same bytes stands in: int64 for M8 and m8, uint32[n] for U<n>.  What got lost that way (and
 * titles) comes back from the descr text that is kept beside the data. */
#ifndef TTI_H5TYPE_H
#define TTI_H5TYPE_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/compiler.h"
#include "ticktail/dtype.h"

/* Attribute of the group _version_data/<dataset>: the descr of the rows' dtype as one
 * variable-length UTF-8 string.  It lies there and not on raw_data because every operation
 * of versioned_hdf5 keeps that group's attributes and never shows them to its users, while
 * modify_metadata drops those of raw_data. */
#define TTI_ATTR_DESCR "_ticktail_descr"

/* A stored element.  A bare U<n> and a bare sub-array become further axes of the dataset
 * (of a plain element type), which h5py shows as the same array and versioned_hdf5 can
 * stage, which it cannot with a dataset of HDF5's array type. */
struct tti_h5type {
	hid_t type;    /* -1 when empty */
	uint32_t rank; /* axes that come after those of the rows, mostly 0 */
	uint64_t shape[TT_MAX_RANK];
	size_t size; /* of one element of type */
};
#define TTI_H5TYPE_EMPTY \
	{ \
		.type = -1 \
	}

/* TT_E_DTYPE with the reason when HDF5 cannot hold it (then nothing is left open). */
int tti_h5type_from_dtype(struct tti_h5type *out, const struct tt_dtype *dtype,
			  struct tt_error *err);
void tti_h5type_close(struct tti_h5type *h5type); /* accepts an empty one */
#define tti_auto_h5type TTI_CLEANUP(tti_h5type_close) struct tti_h5type

/* Structs in structs; more is no honest type. */
#define TTI_H5TYPE_DEPTH 64
/* Parts of the mapping that both directions need; no error text. */
int tti_h5_make_float(hid_t *out, size_t size, char order);
int tti_h5_make_bool(hid_t *out);

/* A dataset's element as rows of it are given out. */
struct tti_h5rows {
	struct tt_dtype *dtype; /* owned; NULL for variable-length strings */
	uint32_t folded; /* last axes of the dataset that are part of dtype (a bare U) */
	uint32_t added;	 /* axes of an HDF5 array type, to be put behind the shape */
	uint64_t shape[TT_MAX_RANK]; /* of the added axes */
	bool vlen_string;
};
void tti_h5rows_fini(struct tti_h5rows *rows); /* accepts an empty one */

/* A dataset as it is stored. */
struct tti_h5stored {
	hid_t type;
	uint32_t rank;
	const uint64_t *shape;
	const char *descr; /* the text kept with it, or NULL */
	const char *where; /* names it in errors */
};
/* The dtype of a stored dataset: what h5py shows, or descr when it means the same bytes; text
 * left behind by one who changed the type does no harm.  TT_E_UNSUPPORTED with the class that
 * has no dtype. */
int tti_h5type_rows(struct tti_h5rows *out, const struct tti_h5stored *stored,
		    struct tt_error *err);

#endif
