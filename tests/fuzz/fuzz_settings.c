/* SPDX-License-Identifier: Apache-2.0 */
/* The settings file of a ring.  The first byte says what is laid over a good file: bits
 * 0-1 the header, the settings' copies, the marks; bit 2 seals the copies afterwards, so
 * that their values are reached and not only their CRC.  The rest are those bytes. */
#include "format/settings.h"
#include "fuzz.h"

static const struct tti_settings good = {
	.capacity = 1000,
	.keep = 8,
	.sync_ms = -1,
	.roll_at_s = -1,
	.tail_words = 5,
};

static void overlay(uint8_t *file, const uint8_t *data, size_t size)
{
	static const size_t places[] = { 0, TTI_SETTINGS_OFF, TTI_MARKS_OFF,
					 TTI_SETTINGS_OFF + TTI_SETTINGS_STRIDE };
	size_t at = places[data[0] & 3], room = TTI_SETTINGS_MIN_BYTES - at;

	memcpy(file + at, data + 1, size - 1 < room ? size - 1 : room);
}

static void seal_all(uint8_t *file)
{
	struct tti_settings copy;
	struct tti_mark mark;

	for (size_t i = 0; i < TTI_SETTINGS_COPIES; i++) {
		uint8_t *at = file + TTI_SETTINGS_OFF + i * TTI_SETTINGS_STRIDE;

		memcpy(&copy, at, sizeof(copy));
		tti_settings_seal(&copy);
		memcpy(at, &copy, sizeof(copy));
	}
	for (size_t i = 0; i < TTI_MARK_SLOTS; i++) {
		uint8_t *at = file + TTI_MARKS_OFF + i * TTI_SETTINGS_STRIDE;

		memcpy(&mark, at, sizeof(mark));
		tti_mark_seal(&mark);
		memcpy(at, &mark, sizeof(mark));
	}
}

/* What was picked is in its place, valid by itself, and survives being written anew. */
static void check_picked(const uint8_t *file, const struct tti_settings *picked,
			 unsigned which)
{
	const uint8_t *at = file + TTI_SETTINGS_OFF + which * TTI_SETTINGS_STRIDE;
	uint8_t *fresh = malloc(TTI_SETTINGS_MIN_BYTES);
	struct tti_settings sealed = *picked, again;

	MUST(fresh != NULL && which < TTI_SETTINGS_COPIES);
	MUST(memcmp(picked, at, sizeof(*picked)) == 0);
	MUST(picked->sequence > 0 && tti_settings_judge(picked, NULL) == TT_OK);
	MUST(picked->capacity > 0 && picked->keep >= 2);
	tti_settings_seal(&sealed);
	MUST(sealed.crc == picked->crc);
	tti_settings_format(fresh, picked);
	MUST(tti_settings_check(fresh, TTI_SETTINGS_MIN_BYTES, "fresh", NULL) == TT_OK);
	MUST(tti_settings_pick(fresh, &again, &which, "fresh", NULL) == TT_OK &&
	     which == 0);
	again.sequence = picked->sequence;
	tti_settings_seal(&again);
	MUST(memcmp(&again, picked, sizeof(again)) == 0);
	free(fresh);
}

static void check_file(const uint8_t *file, uint64_t file_bytes)
{
	static const struct tti_mark empty;
	struct tti_settings picked;
	struct tti_mark mark;
	struct tt_error err = { 0 };
	unsigned which = 0;
	int rc = tti_settings_check(file, file_bytes, "input", &err);

	if (rc < 0)
		fuzz_refused(rc, &err);
	rc = tti_settings_pick(file, &picked, &which, "input", &err);
	if (rc < 0)
		fuzz_refused(rc, &err);
	else
		check_picked(file, &picked, which);
	if (tti_mark_pick(file + TTI_MARKS_OFF, &mark) == 1)
		MUST(mark.sequence > 0 && mark.from <= mark.end);
	else /* each is empty, or not whole */
		MUST(tti_mark_is_damaged(file + TTI_MARKS_OFF, 0) ==
		     (memcmp(file + TTI_MARKS_OFF, &empty, sizeof(empty)) != 0));
	MUST(tti_settings_entries(file_bytes) <= TTI_ENTRIES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *file;

	if (size == 0)
		return 0;
	file = malloc(TTI_SETTINGS_MIN_BYTES);
	MUST(file != NULL);
	tti_settings_format(file, &good);
	overlay(file, data, size);
	if (data[0] & 4)
		seal_all(file);
	check_file(file, TTI_SETTINGS_MIN_BYTES);
	free(file);
	return 0;
}
