/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of NPYT files: four numbers (header's length, row bytes, capacity, file size),
 * then the file's last bytes.  Bit 63 of the file size asks for the fitting one. */
#include "format/tail.h"
#include "fuzz.h"

struct end {
	uint64_t data_off, row_bytes, capacity, file_bytes;
	uint8_t last[TTI_TAIL_MAX_BYTES];
	size_t n;
};

static struct end take_end(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct end end = { 0 };

	end.data_off = fuzz_take(&in, 8);
	end.row_bytes = fuzz_take(&in, 8);
	end.capacity = fuzz_take(&in, 8);
	end.file_bytes = fuzz_take(&in, 8);
	if (end.row_bytes == 0)
		end.row_bytes = 1; /* headers with empty rows are refused earlier */
	if (end.file_bytes >> 63)
		end.file_bytes = end.data_off + end.capacity * end.row_bytes +
				 (end.file_bytes & 255);
	end.n = end.file_bytes < TTI_TAIL_MAX_BYTES ? (size_t)end.file_bytes
						    : TTI_TAIL_MAX_BYTES;
	for (size_t i = 0; i < end.n; i++)
		end.last[i] = (uint8_t)fuzz_take(&in, 1);
	return end;
}

static void check_tail(const struct end *end, enum tti_tail_kind kind,
		       const struct tti_tail *tail, uint64_t capacity)
{
	uint8_t bytes[TTI_TAIL_MAX_BYTES];
	size_t n = tti_tail_format(bytes, tail);

	MUST(tail->words == 4 || tail->words == 5);
	MUST(n == tail->words * 8u && n <= end->n);
	MUST(memcmp(bytes, end->last + end->n - n, n) == 0);
	MUST(tail->start <= tail->end && tail->end <= capacity);
	MUST(tail->offset == end->data_off);
	MUST(end->data_off + capacity * end->row_bytes + n == end->file_bytes);
	MUST(kind == TTI_TAIL_OK ? capacity == end->capacity : capacity > end->capacity);
}

static void check_align(const struct end *end)
{
	uint64_t data_off = end->data_off & ~UINT64_C(63), capacity;

	if (!tti_tail_align_capacity(end->capacity, data_off, end->row_bytes, &capacity))
		return;
	MUST(capacity >= end->capacity && capacity - end->capacity < 64);
	MUST((data_off + capacity * end->row_bytes) % 64 == 0);
	MUST(data_off + capacity * end->row_bytes + TTI_TAIL_MAX_BYTES <= INT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct end end = take_end(data, size);
	uint8_t *last = malloc(end.n ? end.n : 1);
	enum tti_tail_kind kind = TTI_TAIL_NONE;
	struct tti_tail tail = { 0 };
	struct tt_error err = { 0 };
	uint64_t capacity = 0;
	int rc;

	MUST(last != NULL);
	memcpy(last, end.last, end.n);
	rc = tti_tail_judge(&kind, &tail, &capacity,
			    &(struct tti_file_end){ end.data_off, end.row_bytes,
						    end.capacity, end.file_bytes, last,
						    end.n, "input" },
			    &err);
	free(last);
	if (rc < 0)
		fuzz_refused(rc, &err);
	else if (kind == TTI_TAIL_NONE)
		MUST(end.data_off + end.capacity * end.row_bytes == end.file_bytes &&
		     capacity == end.capacity);
	else
		check_tail(&end, kind, &tail, capacity);
	check_align(&end);
	return 0;
}
