/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/superblock.h"

#include <stdbool.h>
#include <string.h>

static const unsigned char signature[8] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };

/* What versions 0 and 1 are followed by before the addresses differs from 2 and 3. */
struct places {
	size_t address_width; /* where the number of bytes of an address stands */
	size_t base; /* where the base address stands; the end is the third address */
};

static bool find_places(unsigned version, struct places *out)
{
	static const struct places known[] = {
		{ 13, 24 }, { 13, 28 }, { 9, 12 }, { 9, 12 }
	};

	if (version >= sizeof(known) / sizeof(known[0]))
		return false;
	*out = known[version];
	return true;
}

static uint64_t get_number(const unsigned char *at, size_t width)
{
	uint64_t number = 0;

	while (width-- > 0)
		number = number << 8 | at[width];
	return number;
}

static int parse(struct tti_superblock *out, const unsigned char *bytes,
		 struct tt_error *err)
{
	struct places at;
	size_t width;
	uint64_t base;

	if (!find_places(bytes[8], &at))
		return tti_fail(err, TT_E_FORMAT,
				"HDF5 superblock of version %u is not known", bytes[8]);
	width = bytes[at.address_width];
	if (width != 2 && width != 4 && width != 8)
		return tti_fail(err, TT_E_FORMAT,
				"HDF5 addresses of %zu bytes are not supported", width);
	base = get_number(bytes + at.base, width);
	out->end = get_number(bytes + at.base + 2 * width, width);
	/* the file may have been given a user block, or lost it, since it was written; what
	 * wraps round is caught as an impossible end */
	out->end += out->address - base;
	if (out->end < out->address || out->end > INT64_MAX)
		return tti_fail(err, TT_E_DAMAGED,
				"HDF5 superblock: end of allocation %llu",
				(unsigned long long)out->end);
	return TT_OK;
}

int tti_superblock_find(struct tti_superblock *out, uint64_t size,
			tti_superblock_read_fn *read, void *ctx, struct tt_error *err)
{
	unsigned char bytes[96];
	int rc;

	for (uint64_t at = 0; at < size && size - at >= sizeof(signature);
	     at = at ? 2 * at : 512) {
		rc = read(ctx, at, bytes, sizeof(bytes));
		if (rc < 0)
			return tti_fail(err, rc, "%s", tt_strerror(rc));
		if (memcmp(bytes, signature, sizeof(signature)) != 0)
			continue;
		out->address = at;
		return parse(out, bytes, err);
	}
	return tti_fail(err, TT_E_FORMAT, "not an HDF5 file, so no archive");
}
