/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a ring's files, and the names of its directory entries: the same input is
 * read as both. */
#include "format/manifest.h"
#include "fuzz.h"

static void check_queue(const uint64_t *queue, uint64_t kept, const uint64_t *slots,
			uint64_t n)
{
	uint64_t at = 0;

	for (uint64_t i = 0; i < kept; i++) {
		MUST(queue[i] != 0 && (i == 0 || queue[i] > queue[i - 1]));
		while (at < n && slots[at] != queue[i])
			at++;
		MUST(at < n); /* nothing made up, order kept */
	}
	for (uint64_t i = 0, k = 0; i < n; i++) { /* nothing lost */
		if (slots[i] == 0)
			continue;
		while (k < kept && queue[k] != slots[i])
			k++;
		MUST(k < kept);
	}
}

static void check_slots(const uint8_t *data, size_t size)
{
	struct tt_error err = { 0 };
	uint64_t n = 0, *slots, *queue;
	int64_t kept;
	int rc = tti_manifest_slots(size, &n, "input", &err);

	if (rc < 0) {
		fuzz_refused(rc, &err);
		return;
	}
	MUST(n > 0 && n * 8 == size && n <= TTI_MANIFEST_MAX_SLOTS);
	slots = malloc(size);
	queue = malloc(size);
	MUST(slots != NULL && queue != NULL);
	memcpy(slots, data, size);
	memcpy(queue, data, size);
	kept = tti_manifest_queue(queue, n, "input", &err);
	if (kept < 0)
		fuzz_refused((int)kept, &err);
	else
		check_queue(queue, (uint64_t)kept, slots, n);
	if (kept >= 0) /* a queue is its own queue */
		MUST(tti_manifest_queue(queue, (uint64_t)kept, "input", &err) == kept);
	free(slots);
	free(queue);
}

static void check_name(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1), again[TTI_RING_NAME_BYTES];
	uint64_t value = 0;
	enum tti_ring_entry kind;

	MUST(name != NULL);
	memcpy(name, data, size);
	name[size] = '\0';
	kind = tti_ring_parse_name(name, &value);
	if (kind != TTI_RING_OTHER) {
		MUST(value != 0);
		tti_ring_format_name(again, value, kind == TTI_RING_MERGED);
		MUST(strcmp(again, name) == 0);
	}
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_slots(data, size);
	check_name(data, size);
	return 0;
}
