/* SPDX-License-Identifier: Apache-2.0 */
/* The overlay, against a plain model. */
#include "archive/overlay.h"
#include "ticktail/error.h"
#include "work_dir.h"

static bool is_clear(const struct tti_overlay *overlay, uint64_t address, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (tti_overlay_hides(overlay, address + i, 1))
			return false;
	return true;
}

START_TEST(the_overlay_agrees_with_a_plain_model)
{
	enum { ROOM = 5 * TTI_PAGE };
	static unsigned char below[ROOM], model[ROOM], got[ROOM], bytes[ROOM];
	struct tti_overlay overlay = { .room = 0 };
	const char *given = getenv("TT_SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)getpid();

	printf("# TT_SEED=%u\n", seed);
	fflush(stdout);
	for (size_t i = 0; i < ROOM; i++)
		below[i] = model[i] = (unsigned char)i;
	for (int step = 0; step < 20000; step++) {
		size_t at = (size_t)rand_r(&seed) % ROOM;
		size_t n = (size_t)rand_r(&seed) % (rand_r(&seed) % 4 ? 200 : ROOM);

		n = n < ROOM - at ? n : ROOM - at;
		if (rand_r(&seed) % 3) {
			memset(bytes, rand_r(&seed), n);
			ck_assert_int_eq(
				tti_overlay_write(&overlay, at + 3 * TTI_PAGE, bytes, n),
				TT_OK);
			memcpy(model + at, bytes, n);
			ck_assert(n == 0 ||
				  tti_overlay_hides(&overlay, at + 3 * TTI_PAGE, n));
		} else {
			tti_overlay_uncover(&overlay, at + 3 * TTI_PAGE, n);
			memcpy(model + at, below + at, n);
			ck_assert(is_clear(&overlay, at + 3 * TTI_PAGE, n));
		}
		at = (size_t)rand_r(&seed) % ROOM;
		n = (size_t)rand_r(&seed) % (ROOM - at);
		memcpy(got, below + at, n);
		tti_overlay_lay(&overlay, at + 3 * TTI_PAGE, got, n);
		ck_assert_mem_eq(got, model + at, n);
	}
	tti_overlay_clear(&overlay);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, the_overlay_agrees_with_a_plain_model);
}

int main(void)
{
	return work_dir_suite("overlay", add);
}
