/* SPDX-License-Identifier: Apache-2.0 */
/* gen: ticks that look like a feed's.  Bursts of rows within microseconds, pauses of tens of
 * milliseconds, rows that share a stamp, rows that come late, prices walking on a grid of 0.01.
 * The same seed gives the same rows, on every machine. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codec.h"
#include "commands.h"
#include "progress.h"
#include "signals.h"

#define DTYPE "ts:i8,sym:i4,qty:i4,px:f8,flags:u1"
#define FIRST_NS INT64_C(1704205800000000000) /* 2024-01-02T14:30:00Z */
#define BATCH 1024

static const struct cli_option options[] = {
	{ 0, "rows", "N", "so many rows (1M; with --rate without end)" },
	{ 0, "rate", "R", "so many rows a second (as fast as they are taken)" },
	{ 0, "symbols", "K", "symbols 0 to K-1 (100)" },
	{ 0, "seed", "S", "what the rows follow from (1)" },
	{ 0, "format", "F", "csv, jsonl, npy or raw" },
	{ 'o', "output", "FILE", "write to FILE, which appears whole or not at all" },
	{ 0, NULL, NULL, NULL },
};

struct tick {
	int64_t ts;
	int32_t sym, qty;
	double px;
	uint8_t flags;
};

struct gen_job {
	const struct cli_ctx *ctx;
	uint64_t rows, rate, symbols, random;
	int64_t *cents; /* price of each symbol */
	int64_t now_ns;
	struct cli_rowtype type;
};

static uint64_t next_random(struct gen_job *job)
{
	uint64_t z = job->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint64_t below(struct gen_job *job, uint64_t n)
{
	return (uint64_t)((unsigned __int128)next_random(job) * n >> 64);
}

/* Half of all rows come within a burst, a third of those with the stamp before. */
static void advance_clock(struct gen_job *job)
{
	uint64_t dice = below(job, 1000);

	if (dice < 350)
		return;
	if (dice < 850)
		job->now_ns += 200 + (int64_t)below(job, 20000);
	else if (dice < 990)
		job->now_ns += 50000 + (int64_t)below(job, 5000000);
	else
		job->now_ns += 5000000 + (int64_t)below(job, 80000000);
}

static struct tick make_tick(struct gen_job *job)
{
	struct tick tick = { 0 };
	int64_t *cents;

	advance_clock(job);
	tick.ts = job->now_ns;
	if (below(job, 100) == 0) /* late */
		tick.ts -= (int64_t)below(job, 1000000000);
	/* few symbols trade much, many little */
	tick.sym = (int32_t)below(job, 1 + below(job, job->symbols));
	cents = &job->cents[tick.sym];
	*cents += (int64_t)below(job, 5) - 2;
	if (*cents < 100)
		*cents = 100;
	tick.px = (double)*cents / 100;
	tick.qty = (int32_t)(below(job, 10) < 7 ? 100 * (1 + below(job, 10))
						: 1 + below(job, 99));
	tick.flags = (uint8_t)(below(job, 20) == 0 ? 1 << below(job, 4) : 0);
	return tick;
}

/* Packed, in the order of DTYPE. */
static void put_tick(const struct tick *tick, char *row)
{
	memcpy(row, &tick->ts, 8);
	memcpy(row + 8, &tick->sym, 4);
	memcpy(row + 12, &tick->qty, 4);
	memcpy(row + 16, &tick->px, 8);
	row[24] = (char)tick->flags;
}

/* Rows due by now: from the intended rate, so that a pause is made up for. */
static uint64_t rows_due(const struct gen_job *job, int64_t started_ns)
{
	unsigned __int128 ns = (unsigned __int128)(cli_now_ns() - started_ns);

	return job->rate ? (uint64_t)(ns * job->rate / 1000000000) + 1 : UINT64_MAX;
}

static void nap(const struct gen_job *job)
{
	int64_t ns = 1000000000 / (int64_t)(job->rate < 1000000 ? job->rate : 1000000);
	struct timespec pause = { 0, ns < 1000000     ? 1000000
				     : ns < 100000000 ? ns
						      : 100000000 };

	nanosleep(&pause, NULL);
}

static int emit(struct gen_job *job, struct cli_writer *writer)
{
	int64_t started_ns = cli_now_ns();
	struct cli_progress progress;
	char rows[BATCH * 25];
	uint64_t done = 0;
	int status = 0;

	cli_progress_init(&progress, job->ctx, job->rows == UINT64_MAX ? 0 : job->rows,
			  "rows");
	while (done < job->rows && status == 0 && !cli_signals_seen()) {
		uint64_t due = rows_due(job, started_ns), n = 0;

		for (; n < BATCH && done < job->rows && done < due; n++, done++) {
			struct tick tick = make_tick(job);

			put_tick(&tick, rows + n * job->type.bytes);
		}
		status = cli_writer_put(writer, rows, n);
		if (job->rate && status == 0)
			status = cli_out_flush(writer->out);
		if (job->rate && done >= due)
			nap(job);
		cli_progress_show(&progress, done);
	}
	cli_progress_end(&progress, done);
	return status;
}

static int generate(struct gen_job *job, enum cli_format format)
{
	struct cli_writer writer;
	struct cli_out out;
	int status = cli_out_open(&out, job->ctx, cli_opt_text(job->ctx, "output"));

	if (status)
		return status;
	status = cli_writer_open(&writer, &out, &job->type, format, job->rows);
	if (job->rate)
		cli_signals_catch();
	if (status == 0)
		status = emit(job, &writer);
	if (status == 0)
		status = cli_writer_end(&writer);
	cli_writer_close(&writer);
	if (status == 0)
		status = cli_out_close(&out);
	else
		cli_out_abort(&out);
	return status;
}

static int prepare(struct gen_job *job)
{
	struct tt_dtype *dtype;
	struct tt_error err;
	int rc = tt_dtype_parse(&dtype, DTYPE, strlen(DTYPE), false, &err);

	if (rc == TT_OK) {
		rc = cli_rowtype_init(&job->type, dtype, 0, NULL, &err);
		tt_dtype_unref(dtype);
	}
	if (rc < 0)
		return cli_fail_error(job->ctx, &err);
	job->cents = calloc((size_t)job->symbols, sizeof(*job->cents));
	if (!job->cents)
		return cli_fail_memory(job->ctx);
	for (uint64_t i = 0; i < job->symbols; i++)
		job->cents[i] = 500 + (int64_t)below(job, 50000);
	return 0;
}

static int run(struct cli_ctx *ctx)
{
	struct gen_job job = {
		.ctx = ctx, .symbols = 100, .random = 1, .now_ns = FIRST_NS
	};
	enum cli_format format;
	int status;

	if (!cli_opt_count(ctx, "rate", &job.rate))
		return CLI_EXIT_USAGE;
	job.rows = job.rate ? UINT64_MAX : 1000000;
	if (!cli_opt_count(ctx, "rows", &job.rows) ||
	    !cli_opt_count(ctx, "symbols", &job.symbols) ||
	    !cli_opt_count(ctx, "seed", &job.random) || !cli_format_option(ctx, &format))
		return CLI_EXIT_USAGE;
	if (job.symbols == 0 || job.symbols > INT32_MAX)
		return cli_usage(ctx, "--symbols: 1 to %d", INT32_MAX);
	if (cli_opt_given(ctx, "rate") && job.rate == 0)
		return cli_usage(ctx, "--rate: at least 1 row a second");
	if (format == CLI_NPY && job.rows == UINT64_MAX)
		return cli_usage(ctx, "npy needs --rows: its header holds their number");
	status = prepare(&job);
	if (status == 0)
		status = generate(&job, format);
	cli_rowtype_fini(&job.type);
	free(job.cents);
	return status;
}

const struct cli_cmd cli_cmd_gen = {
	.name = "gen",
	.args = "[OPTIONS]",
	.brief = "make a stream of ticks for trials",
	.more = "Columns " DTYPE ": bursts, pauses, equal and late stamps, prices on a\n"
		"grid of 0.01.  The same seed gives the same rows.",
	.options = options,
	.min_args = 0,
	.max_args = 0,
	.run = run,
};
