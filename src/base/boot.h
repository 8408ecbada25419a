/* SPDX-License-Identifier: Apache-2.0 */
/* Which boot of the machine this is: what was written in another one and not synced may be
 * gone. */
#ifndef TTI_BOOT_H
#define TTI_BOOT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TTI_BOOT_ID_BYTES 16

/* The kernel's random id of this boot; never all zero.  A negated errno where /proc does not
 * tell it: nothing else does, since every clock may have been set meanwhile. */
int tti_boot_id(uint8_t out[TTI_BOOT_ID_BYTES]);

static inline bool tti_boot_is_zero(const uint8_t id[TTI_BOOT_ID_BYTES])
{
	static const uint8_t zero[TTI_BOOT_ID_BYTES];

	return memcmp(id, zero, sizeof(zero)) == 0;
}

#endif
