/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes as other programs wrote them: what is tolerated is read, what is not is named.
 * Missing is no error here (and neither is HDF5's empty attribute, which counts as missing);
 * the caller knows whether he can do without. */
#ifndef TTI_H5ATTR_H
#define TTI_H5ATTR_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

/* The object that holds the attribute; where is its name in errors. */
struct tti_attr {
	hid_t object;
	const char *name, *where;
};

/* A string of variable or fixed length, ASCII or UTF-8; malloc'ed, NULL when it is missing.
 * *fixed (may be NULL): of fixed length, on which versioned_hdf5 stumbles.
 * TT_E_DAMAGED: it is no string. */
int tti_attr_string(char **out, bool *fixed, struct tti_attr attr, struct tt_error *err);

/* A truth value: h5py's enumeration or any integer. */
int tti_attr_bool(bool *out, bool *found, struct tti_attr attr, struct tt_error *err);

/* Up to room integers of any size; *count 0 when it is missing. */
int tti_attr_ints(int64_t *out, size_t room, size_t *count, struct tti_attr attr,
		  struct tt_error *err);

#endif
