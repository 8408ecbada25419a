/* SPDX-License-Identifier: Apache-2.0 */
/* The nearest known word to a mistyped one, by edit distance with swapped neighbours. */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

#define MAX_WORD 31

static int least(int a, int b, int c)
{
	int d = a < b ? a : b;

	return d < c ? d : c;
}

static int distance(const char *a, const char *b)
{
	int rows[MAX_WORD + 1][MAX_WORD + 1];
	int a_len = (int)strlen(a), b_len = (int)strlen(b);

	if (a_len > MAX_WORD || b_len > MAX_WORD)
		return MAX_WORD;
	for (int i = 0; i <= a_len; i++)
		rows[i][0] = i;
	for (int j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (int i = 1; i <= a_len; i++)
		for (int j = 1; j <= b_len; j++) {
			rows[i][j] = least(rows[i - 1][j] + 1, rows[i][j - 1] + 1,
					   rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && rows[i - 2][j - 2] + 1 < rows[i][j])
				rows[i][j] = rows[i - 2][j - 2] + 1;
		}
	return rows[a_len][b_len];
}

const char *cli_nearest(const char *text, const char *const *words)
{
	const char *best = NULL;
	int best_distance = MAX_WORD;

	for (; *words; words++) {
		int d = distance(text, *words);
		size_t len = strlen(text);

		/* a word cut short is near too */
		if (len > 1 && strncmp(text, *words, len) == 0)
			d = 1;
		if (d < best_distance) {
			best_distance = d;
			best = *words;
		}
	}
	return best;
}
