/* SPDX-License-Identifier: Apache-2.0 */
/* The ring "r" of the power-loss test: what its work and its check both do. */
#ifndef TEST_POWER_RING_POWER_H
#define TEST_POWER_RING_POWER_H

#include "live/power/power.h"

extern struct tt_ring_writer *power_writer; /* of "r" */

void power_ring_create(const char *dir);
void power_ring_open(void);
void power_ring_append(int64_t count);
void power_ring_sync(void);
void power_ring_work(void);

#endif
