/* SPDX-License-Identifier: Apache-2.0 */
/* Rows to CSV: one header line, LF, quotes only where RFC 4180 needs them.  A row whose whole
 * line would be empty (one column, an empty text) is quoted too: an empty line is no row. */
#include <string.h>

#include "codec.h"

static bool needs_quotes(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == ',' || text[i] == '"' || text[i] == '\r' ||
		    text[i] == '\n')
			return true;
	return false;
}

static void put_quoted(struct cli_out *out, const char *text, size_t len)
{
	cli_out_put(out, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			cli_out_put(out, "\"", 1);
		cli_out_put(out, text + i, 1);
	}
	cli_out_put(out, "\"", 1);
}

static void put_field(struct cli_out *out, const char *text, size_t len, bool only)
{
	if (needs_quotes(text, len) || (only && len == 0))
		put_quoted(out, text, len);
	else
		cli_out_put(out, text, len);
}

static int csv_begin(struct cli_writer *writer)
{
	const struct cli_columns *columns = &writer->columns;

	for (size_t i = 0; i < columns->count; i++) {
		const char *name = columns->items[i].name;

		if (i > 0)
			cli_out_put(writer->out, ",", 1);
		put_field(writer->out, name, strlen(name), columns->count == 1);
	}
	cli_out_put(writer->out, "\n", 1);
	return writer->out->status;
}

/* Numbers and times never need quotes: straight into the buffer. */
static bool is_plain(const struct cli_value *value)
{
	return value->kind != TT_BYTES && value->kind != TT_STR;
}

static void put_row(struct cli_writer *writer, const char *row)
{
	const struct cli_columns *columns = &writer->columns;
	struct cli_out *out = writer->out;

	for (size_t i = 0; i < columns->count; i++) {
		const struct cli_column *column = &columns->items[i];
		const struct cli_value *value = column->value;
		size_t len;

		if (is_plain(value) && value->text_max < CLI_OUT_ROOM) {
			len = value->print(value, row + column->offset,
					   cli_out_room(out, value->text_max + 1));
			cli_out_took(out, len);
		} else {
			len = value->print(value, row + column->offset, writer->scratch);
			put_field(out, writer->scratch, len, columns->count == 1);
		}
		cli_out_put(out, i + 1 < columns->count ? "," : "\n", 1);
	}
}

static int csv_put(struct cli_writer *writer, const void *rows, uint64_t count)
{
	const char *row = rows;

	for (; count > 0 && writer->out->status == 0; count--, row += writer->type->bytes)
		put_row(writer, row);
	return writer->out->status;
}

const struct cli_writer_ops cli_csv_writer = { csv_begin, csv_put, NULL };
