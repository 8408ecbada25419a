/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a ring's settings file: making a new one, judging a header, choosing between
 * copies.  Opens nothing; the live words are accessed through live/words.h.  Invariant: a
 * copy or mark is believed only when its CRC holds and every value is one that a ring can
 * have. */
#include "format/settings.h"

#include <inttypes.h>
#include <string.h>
#include "base/crc32c.h"
#include "base/error.h"
#include "format/manifest.h"

static const struct tti_settings_header header_v1 = {
	.magic = TTI_SETTINGS_MAGIC,
	.version = TTI_SETTINGS_VERSION,
	.settings = { TTI_SETTINGS_OFF, TTI_SETTINGS_STRIDE *TTI_SETTINGS_COPIES },
	.words = { TTI_WORDS_OFF, sizeof(struct tti_words) },
	.marks = { TTI_MARKS_OFF, TTI_READERS_OFF - TTI_MARKS_OFF },
	.counters = { TTI_COUNTERS_OFF, sizeof(struct tti_counters) },
	.readers = { TTI_READERS_OFF, TTI_ENTRIES_OFF - TTI_READERS_OFF },
	.entries_off = TTI_ENTRIES_OFF,
	.entry_bytes = sizeof(struct tti_entry),
};

static uint32_t header_crc(struct tti_settings_header header)
{
	header.crc = 0;
	return tti_crc32c(0, &header, sizeof(header));
}

static uint32_t settings_crc(struct tti_settings settings)
{
	settings.crc = 0;
	return tti_crc32c(0, &settings, sizeof(settings));
}

static uint32_t mark_crc(struct tti_mark mark)
{
	mark.crc = 0;
	return tti_crc32c(0, &mark, sizeof(mark));
}

void tti_settings_seal(struct tti_settings *settings)
{
	settings->crc = settings_crc(*settings);
}

void tti_mark_seal(struct tti_mark *mark)
{
	mark->crc = mark_crc(*mark);
}

void tti_settings_format(uint8_t out[TTI_SETTINGS_MIN_BYTES],
			 const struct tti_settings *settings)
{
	struct tti_settings_header header = header_v1;
	struct tti_settings copy = *settings;

	header.crc = header_crc(header);
	memset(out, 0, TTI_SETTINGS_MIN_BYTES);
	memcpy(out, &header, sizeof(header));
	for (unsigned i = 0; i < TTI_SETTINGS_COPIES; i++) {
		copy.sequence = TTI_SETTINGS_FIRST + TTI_SETTINGS_COPIES - 1 - i;
		tti_settings_seal(&copy);
		memcpy(out + TTI_SETTINGS_OFF + i * TTI_SETTINGS_STRIDE, &copy,
		       sizeof(copy));
	}
}

int tti_settings_check(const void *bytes, uint64_t file_bytes, const char *path,
		       struct tt_error *err)
{
	struct tti_settings_header header, expected = header_v1;

	if (file_bytes < TTI_SETTINGS_MIN_BYTES)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: %" PRIu64 " bytes, a settings file has at least %d",
				path, file_bytes, TTI_SETTINGS_MIN_BYTES);
	memcpy(&header, bytes, sizeof(header));
	if (header.magic != TTI_SETTINGS_MAGIC)
		return tti_fail(err, TT_E_DAMAGED, "%s: bad magic 0x%" PRIx64, path,
				header.magic);
	if (header.crc != header_crc(header))
		return tti_fail(err, TT_E_DAMAGED,
				"%s: header CRC is 0x%08" PRIx32
				", its bytes give 0x%08" PRIx32,
				path, header.crc, header_crc(header));
	if (header.version != TTI_SETTINGS_VERSION || header.incompat != 0)
		return tti_fail(err, TT_E_UNSUPPORTED,
				"%s: version %" PRIu32 " with feature bits 0x%" PRIx32
				" is newer than this program: update it",
				path, header.version, header.incompat);
	expected.crc = header.crc;
	if (memcmp(&header, &expected, sizeof(header)) != 0)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: regions lie where version 1 has none", path);
	return TT_OK;
}

int tti_settings_judge(const struct tti_settings *settings, struct tt_error *err)
{
	if (settings->capacity == 0 || settings->capacity > INT64_MAX)
		return tti_fail(err, TT_E_RANGE, "capacity %" PRIu64 " rows: at least 1",
				settings->capacity);
	if (settings->keep < 2 || settings->keep > TTI_MANIFEST_MAX_SLOTS)
		return tti_fail(err, TT_E_RANGE, "keep %" PRIu64 ": from 2 to %u files",
				settings->keep, TTI_MANIFEST_MAX_SLOTS);
	if (settings->sync_ms < -1 || settings->sync_ms > TTI_SYNC_MS_MAX)
		return tti_fail(err, TT_E_RANGE, "sync %" PRId64 " ms: -1, or 0 to %d",
				settings->sync_ms, TTI_SYNC_MS_MAX);
	if (settings->roll_at_s < -1 || settings->roll_at_s >= 86400)
		return tti_fail(err, TT_E_RANGE,
				"roll at second %" PRId32 ": a day has 0 to 86399",
				settings->roll_at_s);
	if (settings->tail_words != 4 && settings->tail_words != 5)
		return tti_fail(err, TT_E_RANGE, "tail of %" PRIu32 " words: 4 or 5",
				settings->tail_words);
	if (settings->zone != 0 || (settings->flags & ~TTI_SETTINGS_FLAGS) != 0)
		return tti_fail(err, TT_E_RANGE,
				"zone %" PRIu32 ", flags 0x%" PRIx32 ": not known here",
				settings->zone, settings->flags);
	return TT_OK;
}

static bool is_copy_valid(const struct tti_settings *copy)
{
	return copy->sequence != 0 && copy->crc == settings_crc(*copy) &&
	       tti_settings_judge(copy, NULL) == TT_OK;
}

int tti_settings_pick(const void *file, struct tti_settings *out, unsigned *which_out,
		      const char *path, struct tt_error *err)
{
	const uint8_t *at = (const uint8_t *)file + TTI_SETTINGS_OFF;
	uint64_t best = 0;

	for (unsigned i = 0; i < TTI_SETTINGS_COPIES; i++) {
		struct tti_settings copy;

		memcpy(&copy, at + i * TTI_SETTINGS_STRIDE, sizeof(copy));
		if (!is_copy_valid(&copy) || copy.sequence <= best)
			continue;
		best = copy.sequence;
		*out = copy;
		if (which_out)
			*which_out = i;
	}
	if (best == 0)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: neither copy of the settings is valid", path);
	return TT_OK;
}

static void load_copy(const void *file, unsigned i, struct tti_settings *out)
{
	memcpy(out, (const uint8_t *)file + TTI_SETTINGS_OFF + i * TTI_SETTINGS_STRIDE,
	       sizeof(*out));
}

/* Of a file that was made with one copy, and never changed since, the other is empty. */
static bool is_copy_unused(const struct tti_settings *copy,
			   const struct tti_settings *other)
{
	static const struct tti_settings empty;

	return memcmp(copy, &empty, sizeof(*copy)) == 0 &&
	       other->sequence < TTI_SETTINGS_FIRST && is_copy_valid(other);
}

unsigned tti_settings_bad_copies(const void *file)
{
	struct tti_settings copies[TTI_SETTINGS_COPIES];
	unsigned bad = 0;

	for (unsigned i = 0; i < TTI_SETTINGS_COPIES; i++)
		load_copy(file, i, &copies[i]);
	for (unsigned i = 0; i < TTI_SETTINGS_COPIES; i++)
		bad += !is_copy_valid(&copies[i]) &&
		       !is_copy_unused(&copies[i], &copies[1 - i]);
	return bad;
}

bool tti_settings_has_dirt(const void *file)
{
	const uint8_t *bytes = file;

	for (size_t i = sizeof(struct tti_settings_header); i < TTI_WORDS_OFF; i++) {
		bool in_copy = i >= TTI_SETTINGS_OFF &&
			       i < TTI_SETTINGS_OFF + TTI_SETTINGS_COPIES *
							      TTI_SETTINGS_STRIDE &&
			       i % TTI_SETTINGS_STRIDE < sizeof(struct tti_settings);

		if (!in_copy && bytes[i] != 0)
			return true;
	}
	return false;
}

static bool load_mark(const void *marks, unsigned i, struct tti_mark *out)
{
	memcpy(out, (const uint8_t *)marks + i * TTI_SETTINGS_STRIDE, sizeof(*out));
	return out->sequence != 0 && out->crc == mark_crc(*out) && out->from <= out->end;
}

int tti_mark_pick(const void *marks, struct tti_mark *out)
{
	uint64_t best = 0;

	for (unsigned i = 0; i < TTI_MARK_SLOTS; i++) {
		struct tti_mark mark;

		if (!load_mark(marks, i, &mark) || mark.sequence <= best)
			continue;
		best = mark.sequence;
		*out = mark;
	}
	return best != 0;
}

bool tti_mark_is_damaged(const void *marks, unsigned i)
{
	static const struct tti_mark empty;
	struct tti_mark mark, other;
	bool is_whole = load_mark(marks, i, &mark),
	     is_beside = load_mark(marks, 1 - i, &other);

	if (is_whole)
		return is_beside && other.sequence >= mark.sequence &&
		       other.sequence != mark.sequence + 1;
	return memcmp(&mark, &empty, sizeof(mark)) != 0 ||
	       (is_beside && (other.sequence != 1 || other.file != 0));
}
