/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), as in iSCSI: tti_crc32c(0, "123456789", 9) == 0xE3069283. */
#ifndef TTI_CRC32C_H
#define TTI_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Continue crc (0 to start) over n bytes. */
uint32_t tti_crc32c(uint32_t crc, const void *bytes, size_t n);

/* The same without the processor's instruction; for processors that have none. */
uint32_t tti_crc32c_table(uint32_t crc, const void *bytes, size_t n);

#endif
