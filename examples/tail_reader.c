/* SPDX-License-Identifier: Apache-2.0 */
/* A tailing reader: prints what comes into a ring, from its oldest row on.
 *
 *	tail_reader DIR [SECONDS]
 *
 * Ends when nothing came for SECONDS (without: never).  It needs read permission only, maps
 * the files and copies nothing; it cannot slow or stop the writer. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <ticktail/ticktail.h>

struct tick {
	int64_t ts;
	int32_t sym, qty;
	double px;
	uint8_t flags;
};

static void print(const struct tt_view *view)
{
	const struct tick *tick = view->rows;

	for (uint64_t i = 0; i < view->count; i++)
		printf("%" PRId64 ",%" PRId32 ",%" PRId32 ",%.2f,%u\n", tick[i].ts,
		       tick[i].sym, tick[i].qty, tick[i].px, tick[i].flags);
}

/* Until the time is over: 0, or an error. */
static int tail(struct tt_ring_reader *reader, int64_t timeout_ns, struct tt_error *err)
{
	int rc;

	do {
		struct tt_view view;
		uint64_t lost;

		while ((rc = tt_ring_read(reader, 4096, 0, &view, NULL, err)) == 1)
			print(&view);
		if (rc < 0)
			return rc;
		lost = tt_ring_reader_lost(reader);
		if (lost)
			fprintf(stderr, "tail_reader: lost %" PRIu64 " rows\n", lost);
		fflush(stdout);
		rc = tt_ring_wait(reader, TT_WAIT_SLEEP, timeout_ns, err);
	} while (rc == 1);
	return rc;
}

int main(int argc, char **argv)
{
	struct tt_error err = { 0 };
	struct tt_ring_reader *reader;
	int rc;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: tail_reader DIR [SECONDS]\n");
		return 2;
	}
	rc = tt_ring_reader_open(&reader, argv[1], NULL, &err);
	if (rc == 0 && tt_ring_reader_row_bytes(reader) != sizeof(struct tick)) {
		fprintf(stderr, "tail_reader: %s: rows of %s are no ticks\n", argv[1],
			tt_dtype_descr(tt_ring_reader_dtype(reader)));
		tt_ring_reader_close(reader);
		return 1;
	}
	if (rc == 0) {
		rc = tail(reader,
			  argc == 3 ? strtoll(argv[2], NULL, 10) * 1000000000 : -1, &err);
		tt_ring_reader_close(reader);
	}
	if (rc < 0)
		fprintf(stderr, "tail_reader: %s\n", err.text);
	return rc < 0;
}
