/* SPDX-License-Identifier: Apache-2.0 */
/* A version's dataset: a virtual dataset with one mapping a chunk, as versioned_hdf5 needs
 * them (a mapping over several chunks loses rows there). */
#ifndef TTI_VDS_H
#define TTI_VDS_H

#include "archive/driver.h"
#include "archive/mapping.h"
#include "archive/slots.h"

#define TTI_NO_SLOT UINT64_MAX

struct tti_vds {
	hid_t group;	  /* the version's */
	const char *name; /* in it */
	const struct tti_slots *slots;
	const struct tti_grid *grid;
	const uint64_t *map; /* slot of each chunk of the grid; TTI_NO_SLOT: fill value */
	hid_t like; /* the parent's dataset, whose attributes it gets; -1: none */
};
int tti_vds_create(struct tti_driver *driver, const struct tti_vds *vds,
		   struct tt_error *err);

#endif
