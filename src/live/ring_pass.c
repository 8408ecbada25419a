/* SPDX-License-Identifier: Apache-2.0 */
/* Files that cannot be read do not stop a reader: it says so once and goes on behind them.
 * Invariant: what a passed file held is counted as lost where the numbers of rows tell it, and
 * a file that somebody may be writing at this moment is waited for first. */
#include "live/ring_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"

#define DOUBT_NS INT64_C(1000000000) /* a peer that has not finished by then is dead */

/* Each file once. */
void tti_reader_note_damage(struct tt_ring_reader *reader, uint64_t name,
			    const struct tt_error *why)
{
	size_t len = strlen(reader->passed);

	if (reader->passed_file == name)
		return;
	reader->passed_file = name;
	snprintf(reader->passed + len, sizeof(reader->passed) - len,
		 "%s%s: passed over; ticktail recover %s brings back what can be read",
		 len ? "; " : "", why->text, reader->ring.path);
}

/* npyt cuts and lengthens its files in place; those of ours never change so. */
static bool is_in_doubt(struct tt_ring_reader *reader, uint64_t name)
{
	int64_t now = tti_clock_monotonic_ns();

	if (tti_ring_find_entry(&reader->ring, name) != TTI_NO_ENTRY)
		return false;
	if (reader->doubt_file != name) {
		reader->doubt_file = name;
		reader->doubt_ns = now;
	}
	return now - reader->doubt_ns < DOUBT_NS;
}

int tti_reader_pass(struct tt_ring_reader *reader, uint64_t name, bool newest,
		    const struct tt_error *why)
{
	uint64_t base = tti_reader_base_of(reader, name);

	if (is_in_doubt(reader, name))
		return 0;
	tti_reader_note_damage(reader, name, why);
	if (newest) /* its writer will go on in another one */
		return 0;
	if (reader->pos.file != 0 && reader->base != TTI_ROWS_UNKNOWN &&
	    base != TTI_ROWS_UNKNOWN && base > reader->base + reader->pos.row)
		reader->lost += base - reader->base - reader->pos.row;
	reader->lost_more |= base == TTI_ROWS_UNKNOWN;
	reader->cur = NULL;
	reader->pos = (struct tt_pos){ name, 0 };
	reader->base = base;
	tti_reader_trim(reader);
	return -EAGAIN;
}

const char *tt_ring_reader_passed(struct tt_ring_reader *reader)
{
	memcpy(reader->told, reader->passed, sizeof(reader->told));
	reader->passed[0] = '\0';
	return reader->told;
}
