/* SPDX-License-Identifier: Apache-2.0 */
/* Calls at random, legal and not, on one file by a writer, readers that come and go and whoever
 * works on the path; each is judged by a model.
 *
 * The model: a file is the rows that were appended to it, as they were updated since, padding
 * zeroed.  While the path names a reader's file, that file gets what the writer does; once
 * another has taken the name, it stays as it was then, or empty when it was cleared.  A handle
 * shows the rows of its file, all and no others; a call that is not allowed says so by the right
 * code, and changes nothing. */
#include "lib/tmpdir.h"
#include "live/file_helpers.h"
#include "prop_calls_file.h"
#include "ticktail/recover.h"

#define MOST_BYTES (2u << 20) /* of rows in the model */
#define MOST_ROWS 8000

/* ---- The model ---- */

struct image *image_new(const struct play *play)
{
	struct image *image = calloc(1, sizeof(*image));

	image->refs = 1;
	image->rows = malloc(play->most * play->type->bytes);
	return image;
}

void image_drop(struct image *image)
{
	if (--image->refs > 0)
		return;
	free(image->rows);
	free(image);
}

void remember(struct play *play, uint64_t index, const void *rows, uint64_t count)
{
	size_t bytes = play->type->bytes;
	unsigned char *to = play->now->rows + index * bytes;

	memcpy(to, rows, count * bytes);
	for (size_t i = 0; play->type->padding >> i != 0; i++)
		for (uint64_t row = 0; (play->type->padding >> i & 1) && row < count;
		     row++)
			to[row * bytes + i] = 0;
	if (index + count > play->now->count)
		play->now->count = index + count;
}

bool look_at_path(struct play *play)
{
	struct image *old = play->now;
	struct stat st;

	MUST(play, stat("f", &st) == 0);
	if (st.st_ino == play->inode)
		return false;
	play->inode = st.st_ino;
	play->now = image_new(play);
	remember(play, 0, old->rows, old->count);
	image_drop(old);
	return true;
}

void shows(struct play *play, const struct image *image, const struct tt_view *view,
	   uint64_t index)
{
	size_t bytes = play->type->bytes;

	MUST(play, index <= image->count && view->count <= image->count - index);
	MUST(play, view->count == 0 || memcmp(view->rows, image->rows + index * bytes,
					      view->count * bytes) == 0);
}

/* ---- Whoever works on the path ---- */

/* While a writer has the file, what changes it is refused; what looks is not. */
static int allowed(const struct play *play)
{
	return play->writer ? TT_E_BUSY : TT_OK;
}

static void open_second(struct play *play)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;
	struct tt_file *second = play->writer;

	CALL(play, "open to write, twice");
	opts.access = TT_WRITE;
	if (!play->writer)
		return;
	MUST(play, tt_file_open(&second, "f", &opts, &play->calls.err) == TT_E_BUSY);
	MUST(play, !second);
}

static void resize(struct play *play)
{
	uint64_t all = play->now->count;
	uint64_t capacity = some(play, 3) ? all + 1 + some(play, 50) : odd(play, 100);
	int want = capacity < all || capacity == 0 || capacity > MOST_ROWS * 2
			   ? TT_E_RANGE
			   : TT_OK;
	int rc = tt_file_resize("f", capacity, &play->calls.err);

	CALL(play, "resize");
	MUST(play, rc == (play->writer && capacity > 0 ? TT_E_BUSY : want));
	look_at_path(play);
}

static void trim(struct play *play)
{
	CALL(play, "trim");
	MUST(play, tt_file_trim("f", &play->calls.err) == allowed(play));
	look_at_path(play);
}

static void clear(struct play *play)
{
	uint64_t all = play->now->count;

	CALL(play, "clear");
	MUST(play, tt_file_clear("f", &play->calls.err) == allowed(play));
	if (play->writer)
		return;
	play->now->count = 0; /* the old file is emptied, too */
	MUST(play, look_at_path(play) || all == 0);
}

static void verify(struct play *play, const char *path)
{
	uint64_t found = UINT64_MAX;

	MUST(play, tt_file_verify(path, NULL, NULL, &found, &play->calls.err) == TT_OK);
	MUST(play, found == 0);
}

static void merge(struct play *play)
{
	uint64_t all = play->now->count;

	CALL(play, "merge");
	if (all > play->most - all)
		return;
	MUST(play, tt_file_merge("f", "g", &play->calls.err) == allowed(play));
	look_at_path(play);
	if (!play->writer)
		remember(play, all, play->now->rows, all);
}

static void backup(struct play *play)
{
	struct tt_file *file = NULL;
	struct tt_view view;

	CALL(play, "backup");
	MUST(play, tt_file_backup("f", "g", &play->calls.err) == TT_OK);
	verify(play, "g");
	MUST(play, tt_file_open(&file, "g", NULL, &play->calls.err) == TT_OK);
	MUST(play, tt_file_data(file, &view) == TT_OK && view.count == play->now->count);
	shows(play, play->now, &view, 0);
	MUST(play, tt_file_close(file) == TT_OK);
	if (some(play, 3) == 0)
		merge(play);
	CALL(play, "remove");
	MUST(play, tt_file_remove("g", &play->calls.err) == TT_OK);
	MUST(play, access("g", F_OK) < 0);
}

static void recover(struct play *play)
{
	struct tt_recover_report report;

	CALL(play, "recover");
	MUST(play,
	     tt_file_recover("f", NULL, &report, &play->calls.err) == allowed(play));
	for (size_t i = 0; i < report.item_count; i++)
		printf("# %s: %s\n", report.items[i].path, report.items[i].what);
	MUST(play, report.item_count == 0 && report.rows_lost == 0);
	MUST(play, play->writer || report.rows_kept == play->now->count);
	tt_recover_report_free(&report);
}

static void rename_it(struct play *play)
{
	CALL(play, "rename");
	MUST(play, tt_file_rename("f", "h", &play->calls.err) == allowed(play));
	if (!play->writer)
		MUST(play, tt_file_rename("h", "f", &play->calls.err) == TT_OK);
	MUST(play, !look_at_path(play));
}

static void call_path(struct play *play)
{
	switch (some(play, 8)) {
	case 0: open_second(play); break;
	case 1: resize(play); break;
	case 2: trim(play); break;
	case 3: /* more often when the model is getting full */
		if (some(play, 6) == 0 || play->now->count > play->most / 2)
			clear(play);
		break;
	case 4: backup(play); break;
	case 5:
		CALL(play, "verify");
		verify(play, "f");
		break;
	case 6: recover(play); break;
	default: rename_it(play);
	}
}

/* ---- The play ---- */

static void make_it(struct play *play)
{
	static const int64_t syncs[] = { TT_SYNC_NONE, TT_SYNC_NONE, TT_SYNC_EACH, 5,
					 1000 };
	struct tt_file_create_opts opts = TT_FILE_CREATE_OPTS_INIT;
	struct stat st;

	play->type = any_row_type(&play->calls);
	play->most = least(MOST_ROWS, MOST_BYTES / play->type->bytes);
	play->sync_ms = syncs[some(play, sizeof(syncs) / sizeof(*syncs))];
	play->buffer = calloc(FEW, play->type->bytes);
	play->now = image_new(play);
	opts.capacity = 1 + some(play, 40);
	opts.exact = some(play, 2);
	opts.tail_words = some(play, 4) == 0 ? 4 : 0;
	opts.row_count = some(play, 2) ? some(play, opts.capacity + 1) : 0;
	opts.rows = play->buffer;
	for (uint64_t i = 0; i < opts.row_count * play->type->bytes; i++)
		play->buffer[i] = (unsigned char)some(play, 256);
	make_file_opts("f", play->type->descr, &opts);
	MUST(play, stat("f", &st) == 0);
	play->inode = st.st_ino;
	remember(play, 0, play->buffer, opts.row_count);
	printf("# TT_SEED=%" PRIu64 ": %s, capacity %" PRIu64 "%s, tail %" PRIu32
	       ", sync %" PRId64 "\n",
	       play->calls.seed, play->type->descr, opts.capacity,
	       opts.exact ? " exactly" : "", opts.tail_words, play->sync_ms);
	fflush(stdout);
}

static void run(uint64_t seed, uint64_t steps)
{
	struct play play = { 0 };

	calls_begin(&play.calls, seed);
	make_it(&play);
	for (play.calls.step = 0; play.calls.step < steps; play.calls.step++) {
		uint64_t who = some(&play, 20);

		if (who < 9)
			call_writer(&play);
		else if (who < 18)
			call_reader(&play, &play.readers[some(&play, READERS)]);
		else
			call_path(&play);
	}
	for (int i = 0; i < READERS; i++)
		if (play.readers[i].file)
			close_reader(&play, &play.readers[i]);
	if (play.writer)
		close_writer(&play);
	image_drop(play.now);
	free(play.buffer);
}

START_TEST(every_call_on_a_file_is_right)
{
	calls_run(run, 12);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { every_call_on_a_file_is_right };

	return run_suite(&(struct suite){ .name = "calls on a file",
					  .enter = tmpdir_enter_memory,
					  .leave = tmpdir_leave,
					  .timeout_s = 3600,
					  .tests = tests,
					  .count = 1 });
}
