/* SPDX-License-Identifier: Apache-2.0 */
/* A feed handler: appends ticks to a ring, which it makes when it is not there.
 *
 *	feed_handler DIR COUNT
 *
 * The ticks are made up here; a real handler decodes them from its socket straight into the
 * place that tt_ring_reserve() gives, as this one does. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ticktail/ticktail.h>

/* The C layout of the dtype below: with align, NumPy's rows are this struct. */
struct tick {
	int64_t ts;
	int32_t sym, qty;
	double px;
	uint8_t flags;
};
static const char tick_dtype[] = "ts:i8,sym:i4,qty:i4,px:f8,flags:u1";

static int make_ring(const char *dir, const struct tt_dtype *dtype, struct tt_error *err)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;

	opts.capacity = 4096; /* rows a file; a real feed takes some hours' worth */
	opts.keep = 8;
	return tt_ring_create(dir, dtype, &opts, err);
}

/* The writer of a ring of ticks. */
static int open_ring(struct tt_ring_writer **out, const char *dir, struct tt_error *err)
{
	struct tt_dtype *dtype;
	int rc = tt_dtype_parse(&dtype, tick_dtype, strlen(tick_dtype), true, err);

	if (rc < 0)
		return rc;
	rc = tt_ring_writer_open(out, dir, NULL, err);
	if (rc == -ENOENT) {
		rc = make_ring(dir, dtype, err);
		if (rc == 0)
			rc = tt_ring_writer_open(out, dir, NULL, err);
	}
	/* a ring that was there may have rows of another type: ours would be garbage in it */
	if (rc == 0 && !tt_dtype_equal(tt_ring_writer_dtype(*out), dtype)) {
		rc = err->code = TT_E_MISMATCH;
		snprintf(err->text, sizeof(err->text), "%s: rows of %.300s are no ticks",
			 dir, tt_dtype_descr(tt_ring_writer_dtype(*out)));
		tt_ring_writer_close(*out);
	}
	tt_dtype_unref(dtype);
	return rc;
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* What a socket would have brought: count ticks from number first on. */
static void decode(struct tick *out, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		out[i] = (struct tick){
			.ts = now_ns(),
			.sym = (int32_t)((first + i) % 100),
			.qty = 1,
			.px = 100 + 0.01 * (double)((first + i) % 50),
		};
}

static int feed(struct tt_ring_writer *writer, uint64_t total, struct tt_error *err)
{
	for (uint64_t done = 0; done < total;) {
		uint64_t want = total - done < 16 ? total - done : 16;
		uint64_t got;
		struct tick *ticks = tt_ring_reserve(writer, want, &got, err);
		int rc;

		if (!ticks)
			return err->code;
		decode(ticks, done, got);
		rc = tt_ring_publish(writer, got); /* now every reader sees them */
		if (rc < 0)
			return rc;
		done += got;
		/* a real loop does this whenever the feed is quiet */
		if (done % 1024 < got) {
			rc = tt_ring_writer_idle(writer, err);
			if (rc < 0)
				return rc;
		}
	}
	return TT_OK;
}

int main(int argc, char **argv)
{
	struct tt_error err = { 0 };
	struct tt_ring_writer *writer;
	uint64_t total;
	char *end = NULL;
	int rc;

	total = argc == 3 ? strtoull(argv[2], &end, 10) : 0;
	if (argc != 3 || end == argv[2] || *end) {
		fprintf(stderr, "usage: feed_handler DIR COUNT\n");
		return 2;
	}
	rc = open_ring(&writer, argv[1], &err);
	if (rc < 0) {
		fprintf(stderr, "feed_handler: %s\n", err.text);
		return 1;
	}
	if (*tt_ring_writer_repaired(writer))
		fprintf(stderr, "feed_handler: %s\n", tt_ring_writer_repaired(writer));
	rc = feed(writer, total, &err);
	if (rc < 0)
		fprintf(stderr, "feed_handler: %s\n",
			err.text[0] ? err.text : tt_strerror(rc));
	tt_ring_writer_close(writer);
	if (rc == 0)
		printf("appended %" PRIu64 " rows\n", total);
	return rc < 0;
}
