/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from and to the four formats: csv, jsonl, npy, raw.  A pair of files a format. */
#ifndef CLI_CODEC_H
#define CLI_CODEC_H

#include "cmd.h"
#include "input.h"
#include "output.h"
#include "rowtype.h"

enum cli_format { CLI_CSV = 0, CLI_JSONL, CLI_NPY, CLI_RAW };
/* --format of the command, csv by default; false: said, exit 2. */
bool cli_format_option(const struct cli_ctx *ctx, enum cli_format *out);

/* ---- Rows in ---- */

struct cli_reader_opts {
	enum cli_format format;
	const char *columns; /* --columns, or NULL: the first line names them (csv) */
	bool skip_bad;
};

struct cli_reader;
struct cli_reader_ops {
	int (*next)(struct cli_reader *reader, void *rows, uint64_t max, uint64_t *got);
	void (*close)(struct cli_reader *reader);
};

/* The head of each format's own reader. */
struct cli_reader {
	const struct cli_reader_ops *ops;
	const struct cli_ctx *ctx;
	const struct cli_rowtype *type;
	struct cli_in *in;
	struct cli_reader_opts opts;
	uint64_t skipped; /* malformed ones, with skip_bad */
	int failed; /* exit status of a failure already said, given after the rows before it */
};

/* in and type must outlive the reader.  An exit status. */
int cli_reader_open(struct cli_reader **out, struct cli_in *in,
		    const struct cli_rowtype *type, const struct cli_reader_opts *opts);
/* 1 to max rows that are complete and at hand, waiting only for the first of them; *got 0: the
 * end.  An exit status; rows before a malformed one are given first. */
int cli_reader_next(struct cli_reader *reader, void *rows, uint64_t max, uint64_t *got);
/* A record that is no row: counted where it may be skipped, else said.  0, or -1 said. */
int cli_reader_malformed(struct cli_reader *reader, uint64_t line, const char *reason,
			 bool skippable);
void cli_reader_close(struct cli_reader *reader); /* accepts NULL */

int cli_csv_reader(struct cli_reader **out, const struct cli_reader *head);
int cli_jsonl_reader(struct cli_reader **out, const struct cli_reader *head);
int cli_npy_reader(struct cli_reader **out, const struct cli_reader *head);
int cli_raw_reader(struct cli_reader **out, const struct cli_reader *head);

/* ---- Rows out ---- */

#define CLI_ROWS_UNKNOWN UINT64_MAX

struct cli_writer;
struct cli_writer_ops {
	int (*begin)(struct cli_writer *writer); /* header */
	int (*put)(struct cli_writer *writer, const void *rows, uint64_t count);
	int (*end)(struct cli_writer *writer); /* may be NULL */
};

struct cli_writer {
	const struct cli_writer_ops *ops;
	const struct cli_ctx *ctx;
	const struct cli_rowtype *type;
	struct cli_out *out;
	struct cli_columns columns; /* csv, jsonl */
	uint64_t
		total; /* rows to come, or CLI_ROWS_UNKNOWN (npy keeps them aside then) */
	uint64_t done;
	int spool; /* descriptor of the rows kept aside, or -1 */
	char *scratch;
	size_t scratch_size;
};

/* type and out must outlive the writer; the header is written at once.  An exit status. */
int cli_writer_open(struct cli_writer *writer, struct cli_out *out,
		    const struct cli_rowtype *type, enum cli_format format,
		    uint64_t total);
int cli_writer_put(struct cli_writer *writer, const void *rows, uint64_t count);
int cli_writer_end(struct cli_writer *writer); /* what must follow the rows */
void cli_writer_close(struct cli_writer *writer);

extern const struct cli_writer_ops cli_csv_writer, cli_jsonl_writer, cli_npy_writer,
	cli_raw_writer;

#endif
