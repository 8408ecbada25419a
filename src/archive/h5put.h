/* SPDX-License-Identifier: Apache-2.0 */
/* Writing attributes with exactly the types that versioned_hdf5 writes, and carrying over
 * those of others.  All return TT_OK, or -EIO with libhdf5's error stack left for the caller
 * to report (tti_driver_fail), or -ENOMEM. */
#ifndef TTI_H5PUT_H
#define TTI_H5PUT_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Variable-length UTF-8, scalar; an attribute of that name is replaced. */
int tti_put_string(hid_t object, const char *name, const char *text);
/* int64: scalar (count 0) or one-dimensional. */
int tti_put_ints(hid_t object, const char *name, const uint64_t *values, size_t count);
/* h5py's bool: an enumeration of int8. */
int tti_put_bool(hid_t object, const char *name, bool value);
/* Set an integer attribute that is there, whatever its width. */
int tti_set_int(hid_t object, const char *name, int64_t value);

/* Give to the attributes of from but those in skip (NULL-terminated, may be NULL): same type,
 * same bytes. */
int tti_copy_attributes(hid_t to, hid_t from, const char *const *skip);

/* The fill value as Python writes it, explicitly.  An object header message holds no element of
 * 64 KiB: such a one is left to the library's default, and fill must be zeros. */
int tti_put_fill(hid_t dcpl, hid_t type, const void *fill);

#endif
