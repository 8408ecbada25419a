/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C by the processor's instruction where there is one, else by a table of nibbles. */
#include "base/crc32c.h"

#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#define HWCAP_CRC32_BIT (1ul << 7)
#endif

/* Remainders of the reflected polynomial 0x82F63B78 for each nibble. */
static const uint32_t nibble_table[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
	0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
	0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t tti_crc32c_table(uint32_t crc, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	crc = ~crc;
	while (n--) {
		crc ^= *p++;
		crc = nibble_table[crc & 15] ^ (crc >> 4);
		crc = nibble_table[crc & 15] ^ (crc >> 4);
	}
	return ~crc;
}

#if defined(__x86_64__)
static bool has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t crc_native(uint32_t crc,
							     const uint8_t *p, size_t n)
{
	uint64_t wide = crc;

	for (; n >= 8; n -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, sizeof(word));
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t)wide;
	while (n--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}
#elif defined(__aarch64__)
static bool has_instruction(void)
{
	return getauxval(AT_HWCAP) & HWCAP_CRC32_BIT;
}

/* By name, since compilers differ in how a function is allowed the extension. */
static uint32_t crc_native(uint32_t crc, const uint8_t *p, size_t n)
{
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, sizeof(word));
		__asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1"
			: "+r"(crc)
			: "r"(word));
	}
	while (n--) {
		uint32_t byte = *p++;

		__asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1"
			: "+r"(crc)
			: "r"(byte));
	}
	return crc;
}
#else
static bool has_instruction(void)
{
	return false;
}

static uint32_t crc_native(uint32_t crc, const uint8_t *p, size_t n)
{
	return ~tti_crc32c_table(~crc, p, n);
}
#endif

uint32_t tti_crc32c(uint32_t crc, const void *bytes, size_t n)
{
	return has_instruction() ? ~crc_native(~crc, bytes, n)
				 : tti_crc32c_table(crc, bytes, n);
}
