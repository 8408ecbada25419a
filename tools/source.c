/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of rows: which kind a path is, and the two live kinds. */
#include "source.h"

#include <errno.h>
#include <stdlib.h>

int cli_source_open(struct cli_source **out, const struct cli_ctx *ctx, const char *path,
		    const struct cli_source_opts *opts)
{
	struct cli_source head = { .ctx = ctx, .path = path };
	enum tt_path_kind kind;
	struct tt_error err;

	*out = NULL;
	if (tt_path_kind(path, &kind, &err) < 0)
		return cli_fail_error(ctx, &err);
	if (kind == TT_PATH_ARCHIVE)
		return cli_archive_source(out, &head, opts);
	if (opts->dataset)
		return cli_usage(ctx, "unexpected argument '%s': %s is no archive",
				 opts->dataset, path);
	if (opts->version || opts->as_of)
		return cli_usage(ctx, "--%s is for archives: %s is none",
				 opts->version ? "version" : "as-of", path);
	if (kind == TT_PATH_NPY8)
		return cli_ring_source(out, &head, opts->queued);
	return cli_file_source(out, &head);
}

int cli_source_get(struct cli_source *source, uint64_t first, uint64_t max,
		   const void **rows, uint64_t *count)
{
	if (max > source->total - first)
		max = source->total - first;
	return source->ops->get(source, first, max, rows, count);
}

void cli_source_close(struct cli_source *source)
{
	if (source)
		source->ops->close(source);
}

/* ---- One file, live or plain ---- */

/* Rows are copied by pread: whoever cuts the file meanwhile causes an error, not a signal. */
struct file_source {
	struct cli_source head;
	struct cli_rowtype type;
	struct tt_file *file;
	void *buf;
	uint64_t buf_rows;
};

static int file_get(struct cli_source *source, uint64_t first, uint64_t max,
		    const void **rows, uint64_t *count)
{
	struct file_source *f = (struct file_source *)source;
	struct tt_error err;

	*count = max < f->buf_rows ? max : f->buf_rows;
	*rows = f->buf;
	if (tt_file_copy(f->file, first, *count, f->buf, &err) < 0)
		return cli_fail_error(source->ctx, &err);
	return 0;
}

static void file_close(struct cli_source *source)
{
	struct file_source *f = (struct file_source *)source;

	tt_file_close(f->file);
	cli_rowtype_fini(&f->type);
	free(f->buf);
	free(f);
}

static const struct cli_source_ops file_ops = { file_get, file_close };

int cli_file_open(struct tt_file **file, struct tt_file_info *info, const char *path,
		  struct tt_error *err)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	int rc;

	opts.plain = opts.by_pread = true;
	rc = tt_file_open(file, path, &opts, err);
	if (rc == TT_OK)
		rc = tt_file_info(*file, info, err);
	if (rc < 0) {
		tt_file_close(*file);
		*file = NULL;
	}
	return rc;
}

static int file_start(struct file_source *f)
{
	struct tt_file_info info;
	struct tt_error err;

	if (cli_file_open(&f->file, &info, f->head.path, &err) < 0 ||
	    cli_rowtype_init(&f->type, info.dtype, info.row_rank, info.row_shape, &err) <
		    0)
		return cli_fail_error(f->head.ctx, &err);
	f->head.type = &f->type;
	f->head.total = info.end - info.start;
	f->buf_rows = f->head.batch_rows = CLI_BATCH_BYTES / f->type.bytes + 1;
	f->buf = malloc((size_t)f->buf_rows * f->type.bytes);
	return f->buf ? 0 : cli_fail_memory(f->head.ctx);
}

int cli_file_source(struct cli_source **out, const struct cli_source *head)
{
	struct file_source *f = calloc(1, sizeof(*f));
	int status;

	if (!f)
		return cli_fail_memory(head->ctx);
	f->head = *head;
	f->head.ops = &file_ops;
	status = file_start(f);
	if (status)
		file_close(&f->head);
	else
		*out = &f->head;
	return status;
}

/* ---- A ring, across its files ---- */

struct ring_part {
	uint64_t name, start;  /* of its first row */
	uint64_t before, rows; /* rows in older files, rows in it */
};

struct ring_source {
	struct cli_source head;
	struct cli_rowtype type;
	struct tt_ring_reader *reader;
	struct ring_part *parts;
	size_t part_count, at;
	uint64_t next; /* row that the reader stands at; UINT64_MAX: nowhere known */
	bool damaged;  /* a file has no part: the reader must not look for it */
};

static const struct ring_part *find_part(struct ring_source *r, uint64_t row)
{
	if (r->at < r->part_count && row < r->parts[r->at].before)
		r->at = 0;
	while (row >= r->parts[r->at].before + r->parts[r->at].rows)
		r->at++;
	return &r->parts[r->at];
}

static int ring_gone(const struct ring_source *r, uint64_t row)
{
	uint64_t cut = tt_ring_reader_cut(r->reader);

	if (cut > 0)
		return cli_fail(r->head.ctx,
				"%s: %llu rows were cut after the power loss, row %llu "
				"is gone",
				r->head.path, (unsigned long long)cut,
				(unsigned long long)row);
	return cli_fail(r->head.ctx,
			"%s: row %llu is gone: its file was removed meanwhile",
			r->head.path, (unsigned long long)row);
}

static int ring_get(struct cli_source *source, uint64_t first, uint64_t max,
		    const void **rows, uint64_t *count)
{
	struct ring_source *r = (struct ring_source *)source;
	const struct ring_part *part = find_part(r, first);
	uint64_t left = part->before + part->rows - first;
	struct tt_pos pos = { 0, 0 };
	struct tt_view view;
	struct tt_error err;
	int rc = TT_OK;

	if (max > left)
		max = left;
	if (max > source->batch_rows)
		max = source->batch_rows;
	if (r->next != first || (r->damaged && first == part->before))
		rc = tt_ring_seek(
			r->reader,
			(struct tt_pos){ part->name, part->start + first - part->before },
			&err);
	r->next = UINT64_MAX;
	if (rc == TT_OK)
		rc = tt_ring_read(r->reader, max, 0, &view, &pos, &err);
	if (rc < 0)
		return cli_fail_error(source->ctx, &err);
	/* what damage took from between two files is lost, and yet this is the row */
	if (rc == 0 ||
	    (tt_ring_reader_lost(r->reader) > 0 &&
	     (pos.file != part->name || pos.row != part->start + first - part->before)))
		return ring_gone(r, first);
	*rows = view.rows;
	*count = view.count;
	r->next = first + view.count;
	return 0;
}

static void ring_close(struct cli_source *source)
{
	struct ring_source *r = (struct ring_source *)source;

	tt_ring_reader_close(r->reader);
	cli_rowtype_fini(&r->type);
	free(r->parts);
	free(r);
}

static const struct cli_source_ops ring_ops = { ring_get, ring_close };

static int list_parts(struct ring_source *r, const struct tt_ring_info *info, bool queued)
{
	r->parts = calloc(info->file_count + 1, sizeof(*r->parts));
	if (!r->parts)
		return cli_fail_memory(r->head.ctx);
	for (size_t i = 0; i < info->file_count; i++) {
		const struct tt_ring_file *file = &info->files[i];
		struct ring_part *part = &r->parts[r->part_count];

		r->damaged = r->damaged || file->damaged;
		if (file->damaged && (file->queued || !queued))
			cli_fail(
				r->head.ctx,
				"%s/%s: damaged, passed over; ticktail recover %s brings "
				"back what can be read",
				r->head.path, file->file_name, r->head.path);
		if ((queued && !file->queued) || file->start == file->end)
			continue;
		*part = (struct ring_part){ file->name, file->start, r->head.total,
					    file->end - file->start };
		r->head.total += part->rows;
		r->part_count++;
	}
	return 0;
}

static int ring_start(struct ring_source *r, bool queued)
{
	struct tt_ring_reader_opts opts = TT_RING_READER_OPTS_INIT;
	struct tt_ring_info info = { 0 };
	struct tt_error err;
	int status = 0;

	/* the reader first: what it holds open stays readable */
	opts.queued_only = queued;
	if (tt_ring_reader_open(&r->reader, r->head.path, &opts, &err) < 0 ||
	    tt_ring_info(r->head.path, &info, &err) < 0)
		return cli_fail_error(r->head.ctx, &err);
	if (cli_rowtype_init(&r->type, info.dtype, info.row_rank, info.row_shape, &err) <
	    0)
		status = cli_fail_error(r->head.ctx, &err);
	else
		status = list_parts(r, &info, queued);
	r->head.type = &r->type;
	r->head.batch_rows = status == 0 ? CLI_BATCH_BYTES / r->type.bytes + 1 : 0;
	r->next = UINT64_MAX;
	tt_ring_info_free(&info);
	return status;
}

int cli_ring_source(struct cli_source **out, const struct cli_source *head, bool queued)
{
	struct ring_source *r = calloc(1, sizeof(*r));
	int status;

	if (!r)
		return cli_fail_memory(head->ctx);
	r->head = *head;
	r->head.ops = &ring_ops;
	status = ring_start(r, queued);
	if (status)
		ring_close(&r->head);
	else
		*out = &r->head;
	return status;
}
