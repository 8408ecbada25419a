/* SPDX-License-Identifier: Apache-2.0 */
/* Base slabs as a caller of tt_staged_commit() might give them. */
#ifndef TESTS_STAGED_DRIVER_SLABS_H
#define TESTS_STAGED_DRIVER_SLABS_H

#include "ticktail/staged.h"

/* In memory with gaps along axis 0; what is not written is not zero. */
tt_staged_alloc_fn driver_alloc_gaps;
/* By read and write only. */
tt_staged_alloc_fn driver_alloc_apart;

#endif
