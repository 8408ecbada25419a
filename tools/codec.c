/* SPDX-License-Identifier: Apache-2.0 */
/* What the formats share: choosing one, and the order of failures and rows. */
#include "codec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_format_option(const struct cli_ctx *ctx, enum cli_format *out)
{
	static const char *const words[] = { "csv", "jsonl", "npy", "raw", NULL };
	int format = CLI_CSV;

	if (!cli_opt_choice(ctx, "format", words, &format))
		return false;
	*out = (enum cli_format)format;
	return true;
}

/* Stores taken for text are told so, not as a strange name of a column. */
static int refuse_store(struct cli_in *in)
{
	static const struct {
		const char *magic, *words;
	} stores[] = {
		{ "\x93NUMPY", "an .npy file: --format npy reads it" },
		{ "\x89HDF\r\n",
		  "an archive, no text: 'ticktail read ARCHIVE DATASET' gives its rows" },
	};

	/* others must not be waited for */
	if (!in->regular || cli_in_hold(in, 6) != CLI_FILL_MORE)
		return 0;
	for (size_t i = 0; i < CLI_LEN(stores); i++)
		if (memcmp(in->buf + in->from, stores[i].magic, 6) == 0)
			return cli_fail(in->ctx, "%s: is %s", in->name, stores[i].words);
	return 0;
}

int cli_reader_open(struct cli_reader **out, struct cli_in *in,
		    const struct cli_rowtype *type, const struct cli_reader_opts *opts)
{
	struct cli_reader head = {
		.ctx = in->ctx, .type = type, .in = in, .opts = *opts
	};

	*out = NULL;
	if ((opts->format == CLI_CSV || opts->format == CLI_JSONL) && refuse_store(in))
		return CLI_EXIT_FAILED;
	switch (opts->format) {
	case CLI_JSONL: return cli_jsonl_reader(out, &head);
	case CLI_NPY: return cli_npy_reader(out, &head);
	case CLI_RAW: return cli_raw_reader(out, &head);
	default: return cli_csv_reader(out, &head);
	}
}

int cli_reader_next(struct cli_reader *reader, void *rows, uint64_t max, uint64_t *got)
{
	int status;

	*got = 0;
	if (reader->failed)
		return reader->failed;
	status = reader->ops->next(reader, rows, max, got);
	if (status != 0 && *got > 0) {
		reader->failed = status;
		return 0;
	}
	return status;
}

int cli_reader_malformed(struct cli_reader *reader, uint64_t line, const char *reason,
			 bool skippable)
{
	if (skippable && reader->opts.skip_bad) {
		reader->skipped++;
		return 0;
	}
	cli_fail(reader->ctx, "%s: line %llu: %s", reader->in->name,
		 (unsigned long long)line, reason);
	return -1;
}

void cli_reader_close(struct cli_reader *reader)
{
	if (reader)
		reader->ops->close(reader);
}

int cli_writer_open(struct cli_writer *writer, struct cli_out *out,
		    const struct cli_rowtype *type, enum cli_format format,
		    uint64_t total)
{
	static const struct cli_writer_ops *const all[] = {
		&cli_csv_writer, &cli_jsonl_writer, &cli_npy_writer, &cli_raw_writer
	};
	struct tt_error err;

	*writer = (struct cli_writer){ .ops = all[format],
				       .ctx = out->ctx,
				       .type = type,
				       .out = out,
				       .total = total,
				       .spool = -1 };
	if (format == CLI_CSV || format == CLI_JSONL) {
		if (cli_columns_init(&writer->columns, type->row, &err) < 0)
			return cli_fail_error(out->ctx, &err);
		writer->scratch_size = writer->columns.text_max;
		writer->scratch = malloc(writer->scratch_size);
		if (!writer->scratch)
			return cli_fail_memory(out->ctx);
	}
	return writer->ops->begin(writer);
}

int cli_writer_put(struct cli_writer *writer, const void *rows, uint64_t count)
{
	int status = count > 0 ? writer->ops->put(writer, rows, count) : 0;

	writer->done += count;
	return status;
}

int cli_writer_end(struct cli_writer *writer)
{
	return writer->ops->end ? writer->ops->end(writer) : 0;
}

void cli_writer_close(struct cli_writer *writer)
{
	cli_columns_fini(&writer->columns);
	free(writer->scratch);
	if (writer->spool >= 0)
		close(writer->spool);
	writer->scratch = NULL;
	writer->spool = -1;
}
