/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of a plane of lines, moved by a convoy in every manner, against one byte after the other:
 * whatever lies between and around them must stay.
 *
 * TT_SEED replays a run. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "staged/box.h"

enum { ROUNDS = 3000, MEMORY = 1 << 16 };

static uint64_t seed, state;

static uint64_t below(uint64_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % n;
}

/* How tiles lie on one side: in the plane, or each in one piece with a gap behind it. */
struct side {
	bool packed, backwards;
	size_t start, gap;
	int64_t line; /* bytes from a line of the plane to the next */
};

struct plane {
	uint64_t lines, columns, tile_lines, tile_columns;
	size_t bytes; /* of an element */
	struct side to, from;
};

static struct side any_side(const struct plane *p)
{
	struct side side = { below(2) == 0, below(6) == 0, below(100), below(3) * 7, 0 };

	side.line = (int64_t)(p->columns * p->bytes + below(2) * 24);
	return side;
}

static struct plane any_plane(void)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 8, 13, 16, 24 };
	struct plane p = { .lines = below(12) + 1,
			   .columns = below(40) + 1,
			   .bytes = sizes[below(8)] };

	p.tile_lines = below(p.lines) + 1;
	p.tile_columns = below(3) == 0 ? p.columns : below(p.columns) + 1;
	p.to = any_side(&p);
	p.from = any_side(&p);
	return p;
}

/* The tile whose first element is at line i, column j. */
struct tile {
	uint64_t i, j, lines, columns;
};

/* Where the element at line i, column j of a tile lies. */
static size_t place(const struct plane *p, const struct side *side,
		    const struct tile *tile, uint64_t i, uint64_t j)
{
	uint64_t across = (p->columns - 1) / p->tile_columns + 1;
	uint64_t nth = tile->i / p->tile_lines * across + tile->j / p->tile_columns;

	if (side->backwards)
		i = tile->lines - 1 - i;
	if (side->packed)
		return side->start +
		       nth * (p->tile_lines * p->tile_columns * p->bytes + side->gap) +
		       (i * p->tile_columns + j) * p->bytes;
	return side->start + (tile->i + i) * (size_t)side->line +
	       (tile->j + j) * p->bytes;
}

static int64_t step(const struct plane *p, const struct side *side)
{
	int64_t bytes = side->packed ? (int64_t)(p->tile_columns * p->bytes) : side->line;

	return side->backwards ? -bytes : bytes;
}

static void move_tile(const struct plane *p, const struct tile *tile,
		      struct tti_convoy *convoy, unsigned char *to,
		      const unsigned char *from)
{
	struct tti_box box = { .rank = 2,
			       .to = to + place(p, &p->to, tile, 0, 0),
			       .from = from + place(p, &p->from, tile, 0, 0),
			       .count = { tile->lines, tile->columns },
			       .to_step = { step(p, &p->to), (int64_t)p->bytes },
			       .from_step = { step(p, &p->from), (int64_t)p->bytes },
			       .run = p->bytes };

	tti_convoy_add(convoy, &box);
}

static void move_bytes(const struct plane *p, const struct tile *tile, unsigned char *to,
		       const unsigned char *from)
{
	for (uint64_t i = 0; i < tile->lines; i++)
		for (uint64_t j = 0; j < tile->columns; j++)
			memcpy(to + place(p, &p->to, tile, i, j),
			       from + place(p, &p->from, tile, i, j), p->bytes);
}

static unsigned char from[MEMORY], to[MEMORY], expected[MEMORY];

static void check_plane(const struct plane *p, struct tti_manner manner)
{
	struct tti_convoy convoy;

	memset(to, 0x55, sizeof(to));
	memset(expected, 0x55, sizeof(expected));
	tti_convoy_begin(&convoy, manner);
	for (uint64_t i = 0; i < p->lines; i += p->tile_lines)
		for (uint64_t j = 0; j < p->columns; j += p->tile_columns) {
			struct tile tile = {
				i, j, tti_min_u64(p->tile_lines, p->lines - i),
				tti_min_u64(p->tile_columns, p->columns - j)
			};

			move_tile(p, &tile, &convoy, to, from);
			move_bytes(p, &tile, expected, from);
		}
	tti_convoy_end(&convoy);
	ck_assert_msg(memcmp(to, expected, sizeof(to)) == 0,
		      "order %d, stream %d; TT_SEED=%" PRIu64, (int)manner.order,
		      manner.stream, seed);
}

START_TEST(tiles)
{
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)below(256);
	for (int i = 0; i < ROUNDS; i++) {
		struct plane p = any_plane();

		for (int order = TTI_SINGLY; order <= TTI_ABREAST; order++)
			for (int stream = 0; stream < 2; stream++)
				check_plane(&p, (struct tti_manner){ order, stream });
	}
}
END_TEST

/* A byte that several boxes write is the last one's, if they are moved singly. */
START_TEST(the_last_of_several_wins)
{
	struct tti_convoy convoy;

	tti_convoy_begin(&convoy, (struct tti_manner){ TTI_SINGLY, true });
	for (size_t i = 0; i < 100; i++) {
		struct tti_box box = { .to = to + i / 10 * 70,
				       .from = from + i * 300,
				       .run = 70 };

		tti_convoy_add(&convoy, &box);
	}
	tti_convoy_end(&convoy);
	for (size_t i = 0; i < 10; i++)
		ck_assert_mem_eq(to + i * 70, from + (i * 10 + 9) * 300, 70);
}
END_TEST

/* More boxes than a convoy has, and more axes than one. */
START_TEST(long_lines_of_deep_boxes)
{
	enum { BOXES = 3 * TTI_CONVOY_MAX + 1, RUN = 5, A = 2, B = 3 };
	struct tti_convoy convoy;
	size_t line = (size_t)BOXES * RUN;

	tti_convoy_begin(&convoy, (struct tti_manner){ TTI_ABREAST, false });
	for (size_t i = 0; i < BOXES; i++) {
		struct tti_box box = { .rank = 3,
				       .to = to + i * (A * B * RUN + 1),
				       .from = from + i * RUN,
				       .count = { A, B, RUN },
				       .to_step = { B * RUN, RUN, 1 },
				       .from_step = { (int64_t)line * 7, (int64_t)line,
						      1 },
				       .run = 1 };

		tti_convoy_add(&convoy, &box);
	}
	tti_convoy_end(&convoy);
	for (size_t i = 0; i < BOXES; i++)
		for (size_t k = 0; k < A * B; k++)
			ck_assert_mem_eq(to + i * (A * B * RUN + 1) + k * RUN,
					 from + i * RUN + k / B * line * 7 + k % B * line,
					 RUN);
}
END_TEST

int main(void)
{
	const char *given = getenv("TT_SEED");
	Suite *suite = suite_create("boxes");
	TCase *tc = tcase_create("boxes");
	SRunner *runner = srunner_create(suite);
	int failed;

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	state = seed;
	printf("# TT_SEED=%" PRIu64 "\n", seed);
	fflush(stdout);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	tcase_add_test(tc, tiles);
	tcase_add_test(tc, the_last_of_several_wins);
	tcase_add_test(tc, long_lines_of_deep_boxes);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed > 0;
}
