/* SPDX-License-Identifier: Apache-2.0 */
/* CSV to rows.  libcsv knows the quoting of RFC 4180; what a line is, is decided here: rows end
 * at LF or CRLF, line numbers are physical ones, an empty line is no row (the last may be
 * empty), a byte order mark is skipped, spaces are text.
 *
 * libcsv gets segments that end behind an LF.  It ends rows at CR and at LF and reports empty
 * ones (CSV_REPALL_NL), so CRLF comes as an end and an empty row; a record of ours is
 * everything up to an LF that libcsv takes as an end.  A record that is wrong is noted with its
 * first reason, and the parser starts anew behind it. */
#include <csv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"

#define NAME_MAX_BYTES 65536

struct csv_in {
	struct cli_reader head;
	struct cli_columns columns;
	struct csv_parser parser;
	const struct cli_column **map; /* by field of a line; NULL: dropped */
	size_t map_count;
	char **names; /* of the header line, while it is read */
	size_t name_count;
	bool header_done, bom_done;
	char *row;
	uint64_t line;	      /* of the next byte */
	uint64_t record_line; /* where the record began */
	uint64_t blank_line;  /* an empty line that may be the last, or 0 */
	size_t field;	      /* fields of the record so far */
	bool in_record, after_cr, complete;
	bool skipping; /* the rest of a broken line is passed over */
	bool bad;
	char reason[256];
};

static void note_bad(struct csv_in *csv, const char *reason)
{
	if (!csv->bad)
		snprintf(csv->reason, sizeof(csv->reason), "%s", reason);
	csv->bad = true;
}

static void note_value(struct csv_in *csv, const char *column, const char *text,
		       size_t len, const char *wrong)
{
	char shown[CLI_SHOWN];

	if (csv->bad)
		return;
	csv->bad = true;
	if (len == 0) {
		snprintf(
			csv->reason, sizeof(csv->reason),
			"column '%.60s' is empty: a missing float is nan, a missing time "
			"NaT, other types have no such value",
			column);
		return;
	}
	snprintf(csv->reason, sizeof(csv->reason), "column '%.60s': '%s' %s", column,
		 cli_show(text, len, shown), wrong);
}

/* ---- What libcsv reports ---- */

static void take_name(struct csv_in *csv, const char *text, size_t len)
{
	char **names = realloc(csv->names, (csv->name_count + 1) * sizeof(*names));
	char *name = names ? strndup(text, len) : NULL;

	if (names)
		csv->names = names;
	if (!name) {
		note_bad(csv, "does not fit into memory");
		return;
	}
	if (strlen(name) != len)
		note_bad(csv, "a column name holds a NUL byte");
	csv->names[csv->name_count++] = name;
}

static void on_field(void *text, size_t len, void *arg)
{
	struct csv_in *csv = arg;
	size_t at = csv->field++;
	const struct cli_column *column;
	char no_text[1] = "";
	const char *wrong;

	if (csv->after_cr)
		note_bad(csv, "a carriage return outside quotes");
	if (!text)
		text = no_text;
	if (!csv->header_done)
		take_name(csv, text, len);
	if (!csv->header_done || csv->bad || at >= csv->map_count || !csv->map[at])
		return;
	column = csv->map[at];
	wrong = column->value->parse(column->value, text, len, csv->row + column->offset);
	if (wrong)
		note_value(csv, column->name, text, len, wrong);
}

static void on_row_end(int end, void *arg)
{
	struct csv_in *csv = arg;

	if (end == '\r') {
		if (csv->after_cr)
			note_bad(csv, "a carriage return outside quotes");
		csv->after_cr = true;
		return;
	}
	csv->complete = true;
}

static int no_space(unsigned char c)
{
	(void)c;
	return 0;
}

static void reset_parser(struct csv_in *csv)
{
	csv_free(&csv->parser);
	csv_init(&csv->parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL);
	csv_set_space_func(&csv->parser, no_space);
	csv_set_blk_size(&csv->parser, 1024);
}

/* ---- Columns ---- */

static int bad_header(struct csv_in *csv, const char *name, const char *what)
{
	char where[64];

	if (csv->head.opts.columns)
		snprintf(where, sizeof(where), "--columns");
	else
		snprintf(where, sizeof(where), "line %llu",
			 (unsigned long long)csv->record_line);
	return cli_fail(csv->head.ctx, "%s: %s: column '%.100s' %s", csv->head.in->name,
			where, name, what);
}

static int unknown_column(struct csv_in *csv, const char *name)
{
	char what[320] = "is unknown; there are ";
	size_t n = strlen(what);

	if (strpbrk(name, "\t;"))
		return bad_header(csv, name,
				  "is unknown; are these several? Only commas separate");
	for (size_t i = 0; i < csv->columns.count && n < sizeof(what); i++)
		n += (size_t)snprintf(what + n, sizeof(what) - n, "%s%s", i ? "," : "",
				      csv->columns.items[i].name);
	if (n >= sizeof(what))
		memcpy(what + sizeof(what) - 4, "...", 4);
	else if (!csv->head.opts.columns && n < sizeof(what) - 64)
		snprintf(what + n, sizeof(what) - n,
			 "; --columns names them where no header line does");
	return bad_header(csv, name, what);
}

static bool add_to_map(struct csv_in *csv, const struct cli_column *column)
{
	const struct cli_column **map =
		realloc(csv->map, (csv->map_count + 1) * sizeof(*csv->map));

	if (!map)
		return false;
	csv->map = map;
	csv->map[csv->map_count++] = column;
	return true;
}

/* A column by its name, or with whole a sub-array or nested struct by its own. */
static int map_name(struct csv_in *csv, const char *name, bool whole, bool *used)
{
	size_t len = strlen(name), hits = 0;

	for (size_t i = 0; i < csv->columns.count; i++) {
		const struct cli_column *column = &csv->columns.items[i];
		bool same = strcmp(column->name, name) == 0;

		if (!same && !(whole && strncmp(column->name, name, len) == 0 &&
			       (column->name[len] == '[' || column->name[len] == '.')))
			continue;
		if (used[i])
			return bad_header(csv, column->name, "is there twice");
		used[i] = true;
		hits++;
		if (!add_to_map(csv, column))
			return cli_fail_memory(csv->head.ctx);
		if (same)
			break;
	}
	return hits ? 0 : unknown_column(csv, name);
}

static int map_names(struct csv_in *csv, const char *const *names, size_t count,
		     bool whole)
{
	bool *used = calloc(csv->columns.count + 1, sizeof(*used));
	int status = used ? 0 : cli_fail_memory(csv->head.ctx);

	for (size_t i = 0; i < count && status == 0; i++) {
		if (whole && strcmp(names[i], "-") == 0) {
			if (!add_to_map(csv, NULL))
				status = cli_fail_memory(csv->head.ctx);
		} else {
			status = map_name(csv, names[i], whole, used);
		}
	}
	for (size_t i = 0; i < csv->columns.count && status == 0; i++)
		if (!used[i])
			status =
				bad_header(csv, csv->columns.items[i].name, "is missing");
	free(used);
	return status;
}

static int map_option(struct csv_in *csv)
{
	struct cli_list list;
	int status;

	if (!cli_list_parse(&list, csv->head.opts.columns)) {
		cli_list_free(&list);
		return cli_usage(csv->head.ctx, "--columns: quotes do not match");
	}
	status = map_names(csv, list.items, list.count, true);
	cli_list_free(&list);
	csv->header_done = true;
	return status;
}

/* ---- Records ---- */

/* A header that is malformed leaves no rows to go on with. */
static int malformed(struct csv_in *csv, uint64_t line, const char *reason)
{
	return cli_reader_malformed(&csv->head, line, reason, csv->header_done);
}

static void start_record(struct csv_in *csv)
{
	csv->in_record = csv->after_cr = csv->complete = csv->bad = csv->skipping = false;
	csv->field = 0;
}

/* A whole record lies behind us: 1 it is a row, 0 it is none, < 0 failed (said). */
static int end_record(struct csv_in *csv)
{
	size_t fields = csv->field;
	bool bad = csv->bad;
	char reason[96];

	start_record(csv);
	if (!bad && fields == 0) {
		csv->blank_line = csv->record_line;
		return 0;
	}
	if (bad)
		return malformed(csv, csv->record_line, csv->reason);
	if (!csv->header_done) {
		if (map_names(csv, (const char *const *)csv->names, csv->name_count,
			      false))
			return -1;
		csv->header_done = true;
		return 0;
	}
	if (fields == csv->map_count)
		return 1;
	snprintf(reason, sizeof(reason), "%zu fields instead of %zu", fields,
		 csv->map_count);
	return malformed(csv, csv->record_line, reason);
}

static void parse_bytes(struct csv_in *csv, const char *bytes, size_t n)
{
	size_t limit = csv->header_done ? NAME_MAX_BYTES + 2 * csv->columns.text_max
					: NAME_MAX_BYTES;

	if (csv->skipping)
		return;
	if (csv_parse(&csv->parser, bytes, n, on_field, on_row_end, csv) < n)
		note_bad(csv, csv_error(&csv->parser) == CSV_EPARSE
				      ? "a quote where RFC 4180 allows none"
				      : csv_strerror(csv_error(&csv->parser)));
	else if (csv->parser.entry_pos > limit)
		note_bad(csv, "a field without end (a quote that is never closed?)");
	else
		return;
	reset_parser(csv);
	csv->skipping = true;
}

/* Pass on what is held up to the next LF: 1 a row, 0 no row yet, < 0 failed. */
static int take_segment(struct csv_in *csv)
{
	struct cli_in *in = csv->head.in;
	const char *bytes = in->buf + in->from;
	const char *lf = memchr(bytes, '\n', cli_in_held(in));
	size_t n = lf ? (size_t)(lf - bytes) + 1 : cli_in_held(in);

	if (csv->blank_line) {
		uint64_t line = csv->blank_line;

		csv->blank_line = 0;
		if (malformed(csv, line, "is empty"))
			return -1;
	}
	if (!csv->in_record)
		csv->record_line = csv->line;
	csv->in_record = true;
	parse_bytes(csv, bytes, n);
	in->from += n;
	csv->line += lf != NULL;
	/* what is skipped ends at its line */
	if (csv->complete || (csv->skipping && lf))
		return end_record(csv);
	return 0;
}

/* The end of the input ends the last record. */
static int finish(struct csv_in *csv)
{
	if (!csv->in_record)
		return 0;
	if (!csv->skipping && csv_fini(&csv->parser, on_field, on_row_end, csv) != 0) {
		note_bad(csv, "a quoted field without end");
		reset_parser(csv);
	}
	return end_record(csv);
}

static enum cli_fill skip_bom(struct csv_in *csv)
{
	struct cli_in *in = csv->head.in;
	enum cli_fill fill = CLI_FILL_MORE;

	while (fill == CLI_FILL_MORE && cli_in_held(in) < 3 &&
	       memcmp(in->buf + in->from, "\xef\xbb\xbf", cli_in_held(in)) == 0)
		fill = cli_in_fill(in, true);
	if (cli_in_held(in) >= 3 && memcmp(in->buf + in->from, "\xef\xbb\xbf", 3) == 0)
		in->from += 3;
	csv->bom_done = true;
	return fill;
}

static int csv_next(struct cli_reader *reader, void *rows, uint64_t max, uint64_t *got)
{
	struct csv_in *csv = (struct csv_in *)reader;
	size_t row_bytes = reader->type->bytes;
	int is_row;

	if (!csv->bom_done && skip_bom(csv) == CLI_FILL_FAILED)
		return CLI_EXIT_FAILED;
	while (*got < max) {
		enum cli_fill fill = CLI_FILL_MORE;

		if (cli_in_held(reader->in) == 0)
			fill = cli_in_fill(reader->in, *got == 0);
		if (fill == CLI_FILL_NONE || fill == CLI_FILL_STOPPED)
			return 0;
		if (fill == CLI_FILL_FAILED)
			return CLI_EXIT_FAILED;
		is_row = fill == CLI_FILL_END ? finish(csv) : take_segment(csv);
		if (is_row < 0)
			return CLI_EXIT_FAILED;
		if (is_row > 0)
			memcpy((char *)rows + (*got)++ * row_bytes, csv->row, row_bytes);
		if (fill == CLI_FILL_END)
			return 0;
	}
	return 0;
}

static void csv_close(struct cli_reader *reader)
{
	struct csv_in *csv = (struct csv_in *)reader;

	for (size_t i = 0; i < csv->name_count; i++)
		free(csv->names[i]);
	free(csv->names);
	free(csv->map);
	free(csv->row);
	csv_free(&csv->parser);
	cli_columns_fini(&csv->columns);
	free(csv);
}

static const struct cli_reader_ops csv_reader_ops = { csv_next, csv_close };

int cli_csv_reader(struct cli_reader **out, const struct cli_reader *head)
{
	struct csv_in *csv = calloc(1, sizeof(*csv));
	struct tt_error err;
	int status = 0;

	if (!csv)
		return cli_fail_memory(head->ctx);
	csv->head = *head;
	csv->head.ops = &csv_reader_ops;
	csv->line = csv->record_line = 1;
	csv->row = calloc(1, head->type->bytes); /* padding stays zero */
	reset_parser(csv);
	if (!csv->row)
		status = cli_fail_memory(head->ctx);
	else if (cli_columns_init(&csv->columns, head->type->row, &err) < 0)
		status = cli_fail_error(head->ctx, &err);
	else if (head->opts.columns)
		status = map_option(csv);
	if (status)
		csv_close(&csv->head);
	else
		*out = &csv->head;
	return status;
}
