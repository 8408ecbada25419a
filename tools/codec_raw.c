/* SPDX-License-Identifier: Apache-2.0 */
/* Format raw: the bytes of the rows and nothing else. */
#include <stdlib.h>
#include <string.h>

#include "codec.h"

static int raw_next(struct cli_reader *reader, void *rows, uint64_t max, uint64_t *got)
{
	struct cli_in *in = reader->in;
	size_t row = reader->type->bytes;
	enum cli_fill fill = cli_in_hold(in, row);
	uint64_t whole;

	if (fill == CLI_FILL_FAILED)
		return CLI_EXIT_FAILED;
	if (fill == CLI_FILL_END && cli_in_held(in) > 0)
		return cli_fail(reader->ctx,
				"%s: ends with %zu bytes, a part of a row of %zu bytes; "
				"the rows before it are in",
				in->name, cli_in_held(in), row);
	if (fill != CLI_FILL_MORE)
		return 0;
	whole = cli_in_held(in) / row;
	*got = whole < max ? whole : max;
	memcpy(rows, in->buf + in->from, (size_t)*got * row);
	in->from += (size_t)*got * row;
	return 0;
}

static void raw_close(struct cli_reader *reader)
{
	free(reader);
}

static const struct cli_reader_ops raw_reader_ops = { raw_next, raw_close };

int cli_raw_reader(struct cli_reader **out, const struct cli_reader *head)
{
	struct cli_reader *reader = malloc(sizeof(*reader));

	if (!reader)
		return cli_fail_memory(head->ctx);
	*reader = *head;
	reader->ops = &raw_reader_ops;
	*out = reader;
	return 0;
}

static int raw_begin(struct cli_writer *writer)
{
	return writer->out->status;
}

static int raw_put(struct cli_writer *writer, const void *rows, uint64_t count)
{
	cli_out_put(writer->out, rows, (size_t)count * writer->type->bytes);
	return writer->out->status;
}

const struct cli_writer_ops cli_raw_writer = { raw_begin, raw_put, NULL };
