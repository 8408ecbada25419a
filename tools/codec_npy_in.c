/* SPDX-License-Identifier: Apache-2.0 */
/* An .npy or live file to rows.  A regular file is opened as the library does, which knows
 * start and end; a pipe is read as it comes, unless only its end can tell which rows are valid
 * (a live file) or its order is not C: then it is kept in an unlinked file first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ticktail/file.h>
#include <ticktail/npy.h>
#include <unistd.h>

#include "codec.h"
#include "convert.h"
#include "source.h"
#include "spool.h"

struct npy_in {
	struct cli_reader head;
	struct cli_rowtype from;
	struct cli_convert convert;
	struct tt_file *file; /* NULL: a stream */
	uint64_t next, end;   /* rows */
	char *buf;	      /* one batch in the input's type */
	uint64_t buf_rows;
	int spool;
};

static int set_type(struct npy_in *npy, const struct tt_dtype *dtype, uint32_t rank,
		    const uint64_t *shape)
{
	const struct cli_ctx *ctx = npy->head.ctx;
	const char *name = npy->head.in->name;
	struct tt_error err;

	if (cli_rowtype_init(&npy->from, dtype, rank, shape, &err) < 0)
		return cli_fail_error(ctx, &err);
	if (cli_convert_init(&npy->convert, &npy->from, npy->head.type, &err) < 0)
		return cli_fail(ctx, "%s: dtype %s does not fit %s: %s", name,
				tt_dtype_descr(npy->from.row),
				tt_dtype_descr(npy->head.type->row), err.text);
	npy->buf_rows = 65536 / npy->from.bytes + 1;
	npy->buf = malloc((size_t)npy->buf_rows * npy->from.bytes);
	return npy->buf ? 0 : cli_fail_memory(ctx);
}

static int open_file(struct npy_in *npy, int fd)
{
	struct tt_file_info info;
	struct tt_error err;
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = cli_file_open(&npy->file, &info, path, &err);
	if (rc < 0) {
		cli_fail(npy->head.ctx, "%s: %s", npy->head.in->name,
			 strncmp(err.text, path, strlen(path)) == 0
				 ? err.text + strlen(path) + 2
				 : err.text);
		return rc == TT_E_DAMAGED ? CLI_EXIT_DAMAGE : CLI_EXIT_FAILED;
	}
	npy->end = info.end - info.start;
	return set_type(npy, info.dtype, info.row_rank, info.row_shape);
}

/* ---- Streams ---- */

static int keep_aside(struct npy_in *npy)
{
	struct cli_in *in = npy->head.in;
	int status = cli_spool_open(npy->head.ctx, &npy->spool);
	enum cli_fill fill = CLI_FILL_MORE;

	while (status == 0 && fill == CLI_FILL_MORE) {
		status = cli_spool_put(npy->head.ctx, npy->spool, in->buf + in->from,
				       cli_in_held(in));
		in->from = in->to;
		if (status == 0)
			fill = cli_in_fill(in, true);
	}
	if (status)
		return status;
	return fill == CLI_FILL_END ? open_file(npy, npy->spool) : CLI_EXIT_FAILED;
}

static int open_stream(struct npy_in *npy)
{
	struct cli_in *in = npy->head.in;
	struct tt_npy_header header;
	struct tt_error err;
	uint64_t len;
	int status;

	cli_in_hold(in, TT_NPY_PREFIX);
	if (tt_npy_header_length(in->buf + in->from, cli_in_held(in), in->name, &len,
				 &err) < 0)
		return cli_fail_error(npy->head.ctx, &err);
	if (cli_in_hold(in, (size_t)len) != CLI_FILL_MORE)
		return cli_fail(npy->head.ctx, "%s: ends inside the .npy header",
				in->name);
	if (tt_npy_header_parse(&header, in->buf + in->from, (size_t)len, in->name,
				&err) < 0)
		return cli_fail_error(npy->head.ctx, &err);
	if (header.rank == 0) {
		status =
			cli_fail(npy->head.ctx, "%s: a single value, not rows", in->name);
	} else if (header.wide || header.fortran_order) {
		status = keep_aside(npy);
	} else {
		in->from += (size_t)len;
		npy->end = header.shape[0];
		status = set_type(npy, header.dtype, header.rank - 1, header.shape + 1);
	}
	tt_npy_header_fini(&header);
	return status;
}

static int stream_rows(struct npy_in *npy, void *rows, uint64_t max, uint64_t *got)
{
	struct cli_in *in = npy->head.in;
	enum cli_fill fill = cli_in_hold(in, npy->from.bytes);
	uint64_t whole;

	if (fill == CLI_FILL_FAILED)
		return CLI_EXIT_FAILED;
	if (fill == CLI_FILL_END)
		return cli_fail(npy->head.ctx,
				"%s: ends after %llu of %llu rows; those before are in",
				in->name, (unsigned long long)npy->next,
				(unsigned long long)npy->end);
	if (fill != CLI_FILL_MORE)
		return 0;
	whole = cli_in_held(in) / npy->from.bytes;
	*got = whole < max ? whole : max;
	cli_convert_rows(&npy->convert, in->buf + in->from, *got, rows);
	in->from += (size_t)*got * npy->from.bytes;
	return 0;
}

/* ---- Reading ---- */

static int file_rows(struct npy_in *npy, void *rows, uint64_t max, uint64_t *got)
{
	struct tt_error err;

	*got = max < npy->buf_rows ? max : npy->buf_rows;
	if (tt_file_copy(npy->file, npy->next, *got, npy->buf, &err) < 0) {
		*got = 0;
		return cli_fail_error(npy->head.ctx, &err);
	}
	cli_convert_rows(&npy->convert, npy->buf, *got, rows);
	return 0;
}

static int npy_next(struct cli_reader *reader, void *rows, uint64_t max, uint64_t *got)
{
	struct npy_in *npy = (struct npy_in *)reader;
	uint64_t left = npy->end - npy->next;
	int status;

	if (left == 0)
		return 0;
	if (max > left)
		max = left;
	status = npy->file ? file_rows(npy, rows, max, got)
			   : stream_rows(npy, rows, max, got);
	npy->next += *got;
	return status;
}

static void npy_close(struct cli_reader *reader)
{
	struct npy_in *npy = (struct npy_in *)reader;

	tt_file_close(npy->file);
	cli_convert_fini(&npy->convert);
	cli_rowtype_fini(&npy->from);
	if (npy->spool >= 0)
		close(npy->spool);
	free(npy->buf);
	free(npy);
}

static const struct cli_reader_ops npy_reader_ops = { npy_next, npy_close };

int cli_npy_reader(struct cli_reader **out, const struct cli_reader *head)
{
	struct npy_in *npy = calloc(1, sizeof(*npy));
	int status = 0;

	if (!npy)
		return cli_fail_memory(head->ctx);
	npy->head = *head;
	npy->head.ops = &npy_reader_ops;
	npy->spool = -1;
	if (head->in->regular && lseek(head->in->fd, 0, SEEK_CUR) == 0) {
		/* nothing at all is no rows, in every format */
		if (lseek(head->in->fd, 0, SEEK_END) > 0)
			status = open_file(npy, head->in->fd);
	} else if (cli_in_hold(head->in, 1) == CLI_FILL_MORE) {
		status = open_stream(npy);
	}
	if (status)
		npy_close(&npy->head);
	else
		*out = &npy->head;
	return status;
}
