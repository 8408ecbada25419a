/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to a file or a ring. */
#include "live.h"

#include <errno.h>
#include <stdio.h>

#include "progress.h"

/* As --sync takes it. */
static const char *sync_word(int64_t ms, char out[24])
{
	if (ms <= 0)
		return ms < 0 ? "none" : "each";
	snprintf(out, 24, "%lld", (long long)ms);
	return out;
}

static int open_ring(struct cli_live *live)
{
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_info info;
	struct tt_error err;
	char given[24], own[24];
	int status = 0;

	opts.sync_ms = live->opts.sync_ms;
	opts.wake_us = live->opts.wake_us;
	opts.force_network_fs = live->opts.force_network_fs;
	if (tt_ring_writer_open(&live->ring, live->path, &opts, &err) < 0)
		return cli_fail_error(live->ctx, &err);
	if (*tt_ring_writer_repaired(live->ring))
		cli_note(live->ctx, "%s: %s", live->path,
			 tt_ring_writer_repaired(live->ring));
	if (tt_ring_info(live->path, &info, &err) < 0)
		return cli_fail_error(live->ctx, &err);
	if (live->opts.sync_ms != INT64_MIN && live->opts.sync_ms != info.opts.sync_ms)
		cli_note(live->ctx,
			 "warning: --sync %s for this run instead of the ring's own %s; "
			 "create --rolling --set --sync replaces that one",
			 sync_word(live->opts.sync_ms, given),
			 sync_word(info.opts.sync_ms, own));
	if (cli_rowtype_init(&live->type, info.dtype, info.row_rank, info.row_shape,
			     &err) < 0)
		status = cli_fail_error(live->ctx, &err);
	tt_ring_info_free(&info);
	return status;
}

static int open_file(struct cli_live *live)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file_info info;
	struct tt_error err;

	opts.access = TT_WRITE;
	opts.wake_us = live->opts.wake_us;
	opts.sync_ms =
		live->opts.sync_ms == INT64_MIN ? TT_SYNC_NONE : live->opts.sync_ms;
	opts.force_network_fs = live->opts.force_network_fs;
	if (tt_file_open(&live->file, live->path, &opts, &err) < 0 ||
	    tt_file_info(live->file, &info, &err) < 0 ||
	    cli_rowtype_init(&live->type, info.dtype, info.row_rank, info.row_shape,
			     &err) < 0)
		return cli_fail_error(live->ctx, &err);
	if (*tt_file_repaired(live->file))
		cli_note(live->ctx, "%s: %s", live->path, tt_file_repaired(live->file));
	live->syncs_itself = !info.aligned_tail && live->opts.sync_ms > 0;
	live->synced_ns = cli_now_ns();
	return 0;
}

int cli_live_open(struct cli_live *live, const struct cli_ctx *ctx, const char *path,
		  const struct cli_live_opts *opts)
{
	enum tt_path_kind kind;
	struct tt_error err;
	int status;

	*live = (struct cli_live){ .ctx = ctx, .path = path, .opts = *opts };
	if (tt_path_kind(path, &kind, &err) < 0)
		return err.code == -ENOENT
			       ? cli_fail(ctx,
					  "%s; 'ticktail create' makes a ring or file",
					  err.text)
			       : cli_fail_error(ctx, &err);
	switch (kind) {
	case TT_PATH_NPY8: status = open_ring(live); break;
	case TT_PATH_NPY: /* refused there, with what makes a live file of it */
	case TT_PATH_NPYT: status = open_file(live); break;
	default:
		return cli_fail(ctx, "%s: an archive takes rows by 'ticktail archive'",
				path);
	}
	if (status)
		cli_live_close(live);
	return status;
}

void cli_live_close(struct cli_live *live)
{
	tt_file_close(live->file);
	if (live->ring)
		tt_ring_writer_close(live->ring);
	cli_rowtype_fini(&live->type);
	live->file = NULL;
	live->ring = NULL;
}

static int append_file(struct cli_live *live, const void *rows, uint64_t count,
		       uint64_t *done)
{
	uint64_t room = tt_file_room(live->file);
	struct tt_error err;
	int rc;

	if (room < count && live->opts.grow) {
		/* at least by half, or a long feed would copy itself again and again */
		uint64_t more = tt_file_size(live->file) / 2;

		rc = tt_file_grow(live->file, more > count ? more : count, &err);
		/* what room there is gets filled first: the next call fails */
		if (rc < 0 && room == 0)
			return cli_fail_error(live->ctx, &err);
		room = tt_file_room(live->file);
	}
	if (count > room)
		count = room;
	if (count == 0)
		return 0;
	rc = tt_file_append(live->file, rows, count);
	if (rc < 0)
		return cli_fail_code(live->ctx, live->path, rc);
	*done = count;
	live->dirty = true;
	return 0;
}

int cli_live_append(struct cli_live *live, const void *rows, uint64_t count,
		    uint64_t *done)
{
	struct tt_error err;
	int status;

	*done = 0;
	if (live->ring)
		return tt_ring_append(live->ring, rows, count, done, &err) < 0
			       ? cli_fail_error(live->ctx, &err)
			       : 0;
	status = append_file(live, rows, count, done);
	return status ? status : cli_live_idle(live);
}

int cli_live_idle(struct cli_live *live)
{
	struct tt_error err;

	if (live->ring)
		return tt_ring_writer_idle(live->ring, &err) < 0
			       ? cli_fail_error(live->ctx, &err)
			       : 0;
	if (!live->syncs_itself || !live->dirty ||
	    cli_now_ns() - live->synced_ns < live->opts.sync_ms * 1000000)
		return 0;
	return cli_live_sync(live);
}

int cli_live_sync(struct cli_live *live)
{
	struct tt_error err;
	int rc = live->ring ? tt_ring_sync(live->ring, &err)
			    : tt_file_sync(live->file, &err);

	live->synced_ns = cli_now_ns();
	live->dirty = false;
	return rc < 0 ? cli_fail_error(live->ctx, &err) : 0;
}
