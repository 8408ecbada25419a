/* SPDX-License-Identifier: Apache-2.0 */
/* The tail of an NPYT file: telling what the end of a file is, and writing a tail.
 * Invariant: a file is taken for NPYT only when its size, its offset word and its magic agree
 * with its header; nothing is guessed from parts of them. */
#include "format/tail.h"

#include <string.h>
#include "base/error.h"
#include "base/num.h"

static uint64_t get_word(const unsigned char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word)); /* little-endian hosts only */
	return word;
}

/* The last words of the file as a tail of that many words; false when it is too short. */
static bool get_tail(const struct tti_file_end *eof, uint32_t words, struct tti_tail *out)
{
	const unsigned char *at;
	uint64_t magic;

	if (eof->n < words * 8u || eof->file_bytes < eof->data_off + words * 8u)
		return false;
	at = (const unsigned char *)eof->last + eof->n - words * 8u;
	magic = get_word(at + (words - 1) * 8u);
	*out = (struct tti_tail){
		.words = words,
		.start = get_word(at),
		.end = get_word(at + 8),
		.update_timestamp = words == 5 ? get_word(at + 16) : 0,
		.offset = get_word(at + (words - 2) * 8u),
		.superseded = magic == TTI_TAIL_SUPERSEDED,
	};
	return magic == TTI_TAIL_MAGIC || magic == TTI_TAIL_SUPERSEDED;
}

static bool bounds_hold(const struct tti_tail *tail, uint64_t capacity)
{
	return tail->start <= tail->end && tail->end <= capacity;
}

static int check_tail(const struct tti_file_end *eof, const struct tti_tail *tail,
		      struct tt_error *err)
{
	if (tail->offset != eof->data_off)
		return tti_fail(
			err, TT_E_DAMAGED,
			"%s: the tail says that rows start at byte %llu, the header "
			"ends at %llu",
			eof->path, (unsigned long long)tail->offset,
			(unsigned long long)eof->data_off);
	if (!bounds_hold(tail, eof->capacity))
		return tti_fail(
			err, TT_E_DAMAGED,
			"%s: the tail says start %llu, end %llu in a capacity of %llu "
			"rows",
			eof->path, (unsigned long long)tail->start,
			(unsigned long long)tail->end, (unsigned long long)eof->capacity);
	return TT_OK;
}

/* Adopt writes the tail behind a larger capacity first and the extent last; dying between the
 * two leaves a file whose size tells the capacity. */
static bool is_adopting(const struct tti_file_end *eof, uint32_t words,
			struct tti_tail *tail, uint64_t *capacity_out)
{
	uint64_t data_bytes;

	if (!get_tail(eof, words, tail) || tail->superseded ||
	    tail->offset != eof->data_off)
		return false;
	data_bytes = eof->file_bytes - eof->data_off - words * 8u;
	*capacity_out = data_bytes / eof->row_bytes;
	return data_bytes % eof->row_bytes == 0 && *capacity_out > eof->capacity &&
	       bounds_hold(tail, *capacity_out);
}

static int refuse(const struct tti_file_end *eof, uint64_t want, struct tt_error *err)
{
	if (eof->file_bytes < want)
		return tti_fail(
			err, TT_E_DAMAGED,
			"%s: cut short: the header asks for %llu rows of %llu bytes, "
			"%llu bytes in all, the file has %llu; 'ticktail recover' keeps "
			"what is there",
			eof->path, (unsigned long long)eof->capacity,
			(unsigned long long)eof->row_bytes, (unsigned long long)want,
			(unsigned long long)eof->file_bytes);
	return tti_fail(err, TT_E_DAMAGED,
			"%s: %llu bytes follow the rows; a tail has 40 or 32 and ends in "
			"its magic number; 'ticktail recover' mends it",
			eof->path, (unsigned long long)(eof->file_bytes - want));
}

static int judge(enum tti_tail_kind *kind_out, struct tti_tail *tail_out,
		 uint64_t *capacity_out, const struct tti_file_end *eof,
		 struct tt_error *err)
{
	struct tti_tail tail;
	uint64_t want, grown, surplus;
	int rc;

	if (tti_mul_overflow(eof->capacity, eof->row_bytes, &want) ||
	    tti_add_overflow(want, eof->data_off, &want) || want > INT64_MAX)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: %llu rows of %llu bytes are no file size", eof->path,
				(unsigned long long)eof->capacity,
				(unsigned long long)eof->row_bytes);
	*capacity_out = eof->capacity;
	surplus = eof->file_bytes - want; /* huge when the file is too short */
	if (surplus == 0) {
		*kind_out = TTI_TAIL_NONE;
		return TT_OK;
	}
	if ((surplus == 40 || surplus == 32) &&
	    get_tail(eof, (uint32_t)surplus / 8, &tail)) {
		rc = check_tail(eof, &tail, err);
		*tail_out = tail;
		*kind_out = TTI_TAIL_OK;
		return rc;
	}
	if (eof->file_bytes > want &&
	    (is_adopting(eof, 5, &tail, &grown) || is_adopting(eof, 4, &tail, &grown))) {
		*tail_out = tail;
		*capacity_out = grown;
		*kind_out = TTI_TAIL_ADOPTING;
		return TT_OK;
	}
	return refuse(eof, want, err);
}

int tti_tail_judge(enum tti_tail_kind *kind_out, struct tti_tail *tail_out,
		   uint64_t *capacity_out, const struct tti_file_end *end,
		   struct tt_error *err)
{
	enum tti_tail_kind kind = TTI_TAIL_NONE;
	struct tti_tail tail = { 0 };
	uint64_t true_capacity = 0;
	int rc = judge(&kind, &tail, &true_capacity, end, err);

	if (rc < 0)
		return rc;
	*kind_out = kind;
	*capacity_out = true_capacity;
	if (kind != TTI_TAIL_NONE)
		*tail_out = tail;
	return TT_OK;
}

size_t tti_tail_format(uint8_t out[TTI_TAIL_MAX_BYTES], const struct tti_tail *tail)
{
	uint64_t magic = tail->superseded ? TTI_TAIL_SUPERSEDED : TTI_TAIL_MAGIC;
	const uint64_t five[] = { tail->start, tail->end, tail->update_timestamp,
				  tail->offset, magic };
	const uint64_t four[] = { tail->start, tail->end, tail->offset, magic };

	if (tail->words == 4) {
		memcpy(out, four, sizeof(four));
		return sizeof(four);
	}
	memcpy(out, five, sizeof(five));
	return sizeof(five);
}

/* Rows of one 64-byte period: data bytes are a multiple of 64 exactly when the count is a
 * multiple of 64 / gcd(row_bytes, 64). */
static uint64_t rows_a_period(uint64_t row_bytes)
{
	uint64_t power = row_bytes & (~row_bytes + 1); /* its largest power of two */

	return power >= 64 ? 1 : 64 / power;
}

bool tti_tail_align_capacity(uint64_t rows, uint64_t data_off, uint64_t row_bytes,
			     uint64_t *out)
{
	uint64_t period = rows_a_period(row_bytes);
	uint64_t capacity, bytes;

	if (tti_add_overflow(rows, period - 1, &capacity))
		return false;
	capacity &= ~(period - 1);
	if (tti_mul_overflow(capacity, row_bytes, &bytes) ||
	    tti_add_overflow(bytes, data_off + TTI_TAIL_MAX_BYTES, &bytes) ||
	    bytes > INT64_MAX)
		return false;
	*out = capacity;
	return true;
}
