/* SPDX-License-Identifier: Apache-2.0 */
/* Recovering rings of which the manifest or the settings file is damaged, and rings that are
 * damaged at random (TT_SEED replays, TT_LONG=1 for the full count). */
#include "recover_ring_help.h"

/* ---- Manifest and settings ---- */

/* Manifest and settings. */
static void lose_manifest(void)
{
	ck_assert_int_eq(unlink("r/.lock"), 0);
}
static void zero_manifest(void)
{
	zero("r/.lock", 0, 32);
}
static void odd_manifest(void)
{
	cut_to("r/.lock", 13);
}
static void fall_manifest(void)
{
	zero("r/.lock", 16, 8);
	poke("r/.lock", 8, "\1\0\0\0\0\0\0\0", 8);
}
static void wrong_newest(void)
{
	uint64_t name = before.files[FILES - 1].name - 1;

	poke("r/.lock", 24, &name, 8);
}
static void (*const shared_damage[])(void) = {
	lose_manifest,	zero_manifest,	 odd_manifest,	fall_manifest, lose_settings,
	zero_settings,	settings_header, settings_copy, settings_dirt, settings_words,
	settings_marks, cut_settings,	 entry_rows,	entry_base,    entry_base_low,
	entry_claim,	entry_merged,	 entry_twice,	leftovers,     entry_rows_huge,
	wrong_newest,
};
#define SHARED (sizeof(shared_damage) / sizeof(shared_damage[0]))

START_TEST(each_kind_of_damage_of_what_is_shared)
{
	static bool seen[RING_ROWS];

	make_ring();
	shared_damage[_i]();
	recover_ring("shared");
	ck_assert_uint_eq(read_ring(seen), 0);
	for (size_t i = 0; i < RING_ROWS; i++)
		ck_assert_msg(seen[i], "row %zu", i);
	ring_goes_on();
	ring_is_clean();
	ck_assert_int_lt(access("r/.ticktail-1a2b.new", F_OK), 0);
	tt_ring_info_free(&before);
}
END_TEST

/* ---- At random ---- */

static uint64_t state;

static uint64_t random_below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? state % n : 0;
}

#define SETTINGS_USED (0x5000 + 128 * (FILES + 2))

static void damage_at_random(const char *path)
{
	off_t size = size_of(path), at = (off_t)random_below((uint64_t)size + 1);
	uint8_t byte;

	if (size == 0)
		return;
	/* most of a settings file is room: half of the blows go where something stands */
	if (size > SETTINGS_USED && random_below(2))
		at = (off_t)random_below(SETTINGS_USED);
	if (at == size)
		at--;
	switch (random_below(4)) {
	case 0:
		read_file(path, &byte, 1);
		byte = (uint8_t)random_below(256);
		poke(path, at, &byte, 1);
		break;
	case 1: zero(path, at, (size_t)random_below((uint64_t)(size - at) + 1)); break;
	case 2: cut_to(path, at); break;
	default: poke(path, size, "some garbage", random_below(13)); break;
	}
}

/* What once failed: a wrong name as the newest of the manifest, with a newer file there. */
static const uint64_t once_failed[] = {
	UINT64_C(14882259341274189635),
	UINT64_C(2146342493130489967),
	UINT64_C(13184764482403752503),
	UINT64_C(4257691000258107711),
	/* without marks, and with a last store of long ago: unproven, a second time too */
	UINT64_C(16841272020421451987),
};
#define ONCE_FAILED ((int)(sizeof(once_failed) / sizeof(once_failed[0])))

START_TEST(damage_at_random_places)
{
	static bool seen[RING_ROWS];
	const char *seed = getenv("TT_SEED");
	bool hit[FILES] = { false }, merged_hit = false, is_merged, entries_hit = false;
	int blows;
	uint64_t merged = 0;

	state = seed ? strtoull(seed, NULL, 10)
		     : (uint64_t)tti_clock_realtime_ns() * 2654435761u + (uint64_t)_i;
	if (_i < ONCE_FAILED && !seed)
		state = once_failed[_i];
	state |= 1;
	printf("# TT_SEED=%" PRIu64 "\n", state);
	fflush(stdout);
	make_ring();
	is_merged = random_below(3) == 0;
	if (is_merged)
		OK(tt_ring_merge("r", 2, NULL, NULL, &merged, &err));
	blows = 1 + (int)random_below(3);
	for (int i = 0; i < blows; i++) {
		uint64_t at = random_below(FILES + 2);
		char path[128];

		if (at < FILES) {
			snprintf(path, sizeof(path), "%s%s", file_path(at),
				 is_merged && at < 2 ? "_" : "");
			if (is_merged && at < 2) {
				snprintf(path, sizeof(path), "%s_", file_path(0));
				merged_hit = true;
			}
			hit[at] = true;
		} else {
			strcpy(path, at == FILES ? "r/.lock" : "r/.ticktail");
			entries_hit = entries_hit || at > FILES;
		}
		damage_at_random(path);
	}
	may_doubt = entries_hit;
	recover_ring("random");
	read_ring(seen);
	for (size_t i = 0; i < RING_ROWS; i++) {
		size_t file = i / CAPACITY;

		/* an entry may have been made to say that its file was cut */
		if (!hit[file] && !(merged_hit && file < 2) && !entries_hit)
			ck_assert_msg(seen[i], "row %zu of an unhurt file", i);
	}
	ring_goes_on();
	ring_is_clean();
	tt_ring_info_free(&before);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_loop_test(tcase, each_kind_of_damage_of_what_is_shared, 0, (int)SHARED);
	tcase_add_loop_test(tcase, damage_at_random_places, 0,
			    getenv("TT_LONG") ? 2000 : 60);
}

int main(void)
{
	return ring_suite_with("recover what is shared", add);
}
