/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest's bytes and the names of a ring's files.  Owns the rule which slots make the
 * queue; knows no file.  Invariant: a queue ascends strictly and holds no zero. */
#include "format/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "base/num.h"

int tti_manifest_slots(uint64_t file_bytes, uint64_t *out, const char *path,
		       struct tt_error *err)
{
	uint64_t slots = file_bytes / 8;

	if (file_bytes == 0 || file_bytes % 8 != 0)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: %" PRIu64 " bytes are no list of 8-byte names", path,
				file_bytes);
	if (slots > TTI_MANIFEST_MAX_SLOTS)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: %" PRIu64 " slots, more than the limit of %u", path,
				slots, TTI_MANIFEST_MAX_SLOTS);
	*out = slots;
	return TT_OK;
}

int64_t tti_manifest_queue(uint64_t *slots, uint64_t n, const char *path,
			   struct tt_error *err)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t name = slots[i];

		if (name == 0 || (kept > 0 && name == slots[kept - 1]))
			continue;
		if (kept > 0 && name < slots[kept - 1])
			return tti_fail(err, TT_E_DAMAGED,
					"%s: slot %" PRIu64 " holds %" PRIu64
					" after %" PRIu64 ": names must ascend",
					path, i, name, slots[kept - 1]);
		slots[kept++] = name;
	}
	return (int64_t)kept;
}

enum tti_ring_entry tti_ring_parse_name(const char *name, uint64_t *out)
{
	size_t digits = strspn(name, "0123456789");
	const char *suffix = name + digits;
	enum tti_ring_entry kind;

	if (strcmp(suffix, ".npy") == 0)
		kind = TTI_RING_FILE;
	else if (strcmp(suffix, ".npy_") == 0)
		kind = TTI_RING_MERGED;
	else
		return TTI_RING_OTHER;
	/* one file, one spelling: a leading zero would make a second one */
	if (digits == 0 || name[0] == '0' || !tti_parse_u64(name, digits, out))
		return TTI_RING_OTHER;
	return kind;
}

void tti_ring_format_name(char out[TTI_RING_NAME_BYTES], uint64_t name, bool merged)
{
	snprintf(out, TTI_RING_NAME_BYTES, "%" PRIu64 ".npy%s", name, merged ? "_" : "");
}
