/* SPDX-License-Identifier: Apache-2.0 */
/* A feed that a full disk does not end: it stands at the row that has no room until it is told
 * to try again, and goes on with that row.
 *
 * usage: patient_feed RING COUNT [alone]   rows of one i8, 0 to COUNT - 1
 *
 * Says "stands ROW TAG TEXT" and waits for a line on stdin before each new try, "goes on ROW"
 * when one has worked, and waits for another line; and "done" at the end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ticktail/ticktail.h>

static struct tt_error err;

static int fail(const char *what)
{
	fprintf(stderr, "patient_feed: %s: %s\n", what, err.text);
	return 1;
}

/* 1: it is in. */
static int put(struct tt_ring_writer *writer, int64_t row)
{
	int rc = tt_ring_append(writer, &row, 1, NULL, &err);
	bool stood = rc < 0;
	char line[16];

	while (rc < 0) {
		printf("stands %" PRId64 " %s %s\n", row, tt_error_tag(rc), err.text);
		if (!fgets(line, sizeof(line), stdin))
			return 0;
		rc = tt_ring_append(writer, &row, 1, NULL, &err);
	}
	if (stood) {
		printf("goes on %" PRId64 "\n", row);
		return fgets(line, sizeof(line), stdin) != NULL;
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer;
	int64_t count;

	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	opts.no_helper = argc > 3 && strcmp(argv[3], "alone") == 0;
	count = strtoll(argv[2], NULL, 10);
	if (tt_ring_writer_open(&writer, argv[1], &opts, &err) < 0)
		return fail("open");
	for (int64_t row = 0; row < count; row++)
		if (!put(writer, row))
			break;
	if (tt_ring_writer_close(writer) < 0)
		return fail("close");
	printf("done\n");
	return 0;
}
