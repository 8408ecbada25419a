/* SPDX-License-Identifier: Apache-2.0 */
/* What those call who keep the ring: merge, prune, verify, recover, ...  Invariant: gone counts
 * the rows that a call says it removed. */
#include <dirent.h>
#include <errno.h>

#include "prop_calls_ring.h"
#include "ticktail/recover.h"
#include "ticktail/status.h"

#define COPY "copy"
#define MANY_FILES 100
#define SEAL_NS 1000000

/* A helper that keeps a ring under its limit may be at it at this instant, or have been. */
static bool done(const struct play *play, int rc)
{
	return rc == TT_OK ||
	       (play->limited && play->writer && (rc == TT_E_BUSY || rc == -ENOENT));
}

static bool allow(void *ctx, const struct tt_ring_file *file)
{
	struct play *play = ctx;

	MUST(play, !file->queued);
	return some(play, 4) != 0;
}

static void merge(struct play *play)
{
	uint64_t merged = 0, batch = some(play, 3) ? 2 + some(play, 3) : 0;
	bool ask = some(play, 2), tell = some(play, 2);

	CALL(play, "merge");
	MUST(play, done(play, tt_ring_merge(RING, batch, ask ? allow : NULL, play,
					    tell ? &merged : NULL, &play->calls.err)));
	look_at_ring(play);
}

/* all: what left the queue. */
static void prune(struct play *play, bool all)
{
	struct tt_ring_prune_opts opts = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_pruned pruned = { 0 };

	CALL(play, "prune");
	if (!all) {
		opts.keep_bytes = some(play, 3) ? some(play, 60000) : UINT64_MAX;
		opts.dry_run = some(play, 2);
	}
	MUST(play, done(play, tt_ring_prune(RING, &opts, &pruned, &play->calls.err)));
	MUST(play, pruned.failed == 0 && pruned.refused == 0);
	if (!opts.dry_run)
		play->gone += pruned.rows;
	look_at_ring(play);
}

/* The oldest file may go when it left the queue, the newest may not. */
static void remove_file(struct play *play)
{
	struct tt_ring_info info;
	const struct tt_ring_file *oldest, *newest;

	CALL(play, "remove a file");
	MUST(play, tt_ring_info(RING, &info, &play->calls.err) == TT_OK);
	MUST(play, info.file_count > 0);
	oldest = &info.files[0];
	newest = &info.files[info.file_count - 1];
	if (!oldest->queued && some(play, 3) == 0) {
		MUST(play, done(play, tt_ring_remove_file(RING, oldest->name,
							  &play->calls.err)));
		play->gone += oldest->end - oldest->start;
	} else {
		MUST(play, tt_ring_remove_file(RING, newest->name, &play->calls.err) < 0);
	}
	tt_ring_info_free(&info);
	look_at_ring(play);
}

static void parts(struct play *play)
{
	struct tt_ring_info info;

	CALL(play, "parts");
	MUST(play, tt_ring_info(RING, &info, &play->calls.err) == TT_OK);
	for (size_t i = 0; i < info.file_count; i++) {
		const struct tt_ring_file *file = &info.files[i];
		struct tt_ring_part *of = NULL;
		uint64_t rows = 0;
		size_t n = 0;
		int rc = tt_ring_parts(RING, file->name, &of, &n, &play->calls.err);

		MUST(play, done(play, rc));
		if (rc < 0)
			continue;
		for (size_t k = 0; k < n; rows += of[k++].rows)
			MUST(play, of[k].row == rows);
		MUST(play, file->merged == (n > 0));
		MUST(play, n == 0 || rows == file->end - file->start);
		free(of);
	}
	tt_ring_info_free(&info);
}

static void status(struct play *play)
{
	struct tt_ring_status status;

	CALL(play, "status");
	MUST(play, tt_ring_status(RING, &status, &play->calls.err) == TT_OK);
	MUST(play, status.rows_total == play->total);
	MUST(play, play->limited || status.rows == play->total - play->gone);
	MUST(play, status.writer == (play->writer ? TT_WRITER_ALIVE : TT_WRITER_NONE));
	MUST(play, status.damage_count == 0 && status.errors == 0);
	tt_ring_status_free(&status);
}

static void verify(struct play *play, const char *dir)
{
	uint64_t found = UINT64_MAX;

	MUST(play, tt_ring_verify(dir, NULL, NULL, &found, &play->calls.err) == TT_OK);
	MUST(play, found == 0);
}

static void remove_copy(struct play *play)
{
	DIR *dir = opendir(COPY);

	MUST(play, dir);
	for (const struct dirent *entry; (entry = readdir(dir));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			MUST(play, unlinkat(dirfd(dir), entry->d_name, 0) == 0);
	closedir(dir);
	MUST(play, rmdir(COPY) == 0);
}

static void backup(struct play *play)
{
	struct tt_ring_info info;

	CALL(play, "backup");
	MUST(play, tt_ring_backup(RING, COPY, &play->calls.err) == TT_OK);
	verify(play, COPY);
	MUST(play, tt_ring_info(COPY, &info, &play->calls.err) == TT_OK);
	MUST(play, play->limited || info.rows == play->total - play->gone);
	tt_ring_info_free(&info);
	remove_copy(play);
}

/* Who has the writer may answer by a helper, in time or not. */
static void seal(struct play *play)
{
	bool sealed;
	int rc;

	CALL(play, "seal");
	if (play->writer && some(play, 3))
		return;
	rc = tt_ring_seal(RING, play->writer ? SEAL_NS : 0,
			  some(play, 2) ? &sealed : NULL, &play->calls.err);
	MUST(play, rc == TT_OK || (play->writer && rc == TT_E_TIMEOUT));
}

static void recover(struct play *play)
{
	struct tt_recover_report report;
	int rc;

	CALL(play, "recover");
	rc = tt_ring_recover(RING, NULL, &report, &play->calls.err);
	for (size_t i = 0; i < report.item_count; i++)
		printf("# %s: %s\n", report.items[i].path, report.items[i].what);
	MUST(play, rc == (play->writer ? TT_E_BUSY : TT_OK));
	MUST(play,
	     report.item_count == 0 && report.rows_lost == 0 && report.rows_cut == 0);
	tt_recover_report_free(&report);
}

void call_keeper(struct play *play)
{
	if (look_at_ring(play) > MANY_FILES) {
		prune(play, true);
		return;
	}
	switch (some(play, 9)) {
	case 0: merge(play); break;
	case 1: prune(play, false); break;
	case 2: parts(play); break;
	case 3: status(play); break;
	case 4:
		CALL(play, "verify");
		verify(play, RING);
		break;
	case 5:
		if (some(play, 4) == 0)
			backup(play);
		break;
	case 6: remove_file(play); break;
	case 7: seal(play); break;
	default: recover(play);
	}
}
