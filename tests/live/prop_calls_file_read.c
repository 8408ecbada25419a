/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader of the file calls.  Invariant: its cursor is known here as exactly as the rows. */
#include "prop_calls_file.h"

static void open_to_read(struct play *play, struct reader *reader)
{
	struct tt_file_open_opts opts = TT_FILE_OPEN_OPTS_INIT;

	CALL(play, "open to read");
	opts.by_pread = some(play, 4) == 0;
	*reader = (struct reader){ .image = play->now, .by_pread = opts.by_pread };
	play->now->refs++;
	MUST(play, tt_file_open(&reader->file, "f", &opts, &play->calls.err) == TT_OK);
}

void close_reader(struct play *play, struct reader *reader)
{
	CALL(play, "close reader");
	MUST(play, tt_file_close(reader->file) == TT_OK);
	image_drop(reader->image);
	reader->file = NULL;
}

static void view(struct play *play, struct reader *reader)
{
	uint64_t all = reader->image->count, index = odd(play, all + 2);
	uint64_t count = odd(play, 40);
	struct tt_view view = { 0 };
	int rc = tt_file_view(reader->file, index, count, &view);

	CALL(play, "view");
	if (reader->by_pread || index > all) {
		MUST(play, rc == (reader->by_pread ? TT_E_UNSUPPORTED : TT_E_RANGE));
		return;
	}
	MUST(play, rc == TT_OK && view.count == least(count, all - index));
	shows(play, reader->image, &view, index);
}

static void head_or_tail(struct play *play, struct reader *reader)
{
	uint64_t all = reader->image->count, count = odd(play, 50);
	bool tail = some(play, 2);
	struct tt_view view = { 0 };
	int rc = tail ? tt_file_tail(reader->file, count, &view)
		      : tt_file_head(reader->file, count, &view);

	CALL(play, tail ? "tail" : "head");
	if (reader->by_pread) {
		MUST(play, rc == TT_E_UNSUPPORTED);
		return;
	}
	MUST(play, rc == TT_OK && view.count == least(count, all));
	shows(play, reader->image, &view, tail ? all - view.count : 0);
}

static struct tt_file_info info_of(struct play *play, struct tt_file *file)
{
	struct tt_file_info info = { 0 };

	MUST(play, tt_file_info(file, &info, &play->calls.err) == TT_OK);
	return info;
}

static void copy(struct play *play, struct reader *reader)
{
	struct tt_file_info info = info_of(play, reader->file);
	uint64_t all = reader->image->count, index = odd(play, all + 2);
	uint64_t count = some(play, 4) ? some(play, 40) : odd(play, 40);
	struct tt_view copied = { play->buffer, count };
	bool untorn = some(play, 2), can = info.tail_words == 5 && info.aligned_tail &&
					   info.row_bytes % 8 == 0 && !reader->by_pread;
	int rc, want = TT_OK;

	CALL(play, untorn ? "copy untorn" : "copy");
	if (index > all || count > all - index)
		want = TT_E_RANGE;
	else if (untorn && !can)
		want = TT_E_UNSUPPORTED;
	else if (count > FEW)
		return;
	rc = untorn ? tt_file_copy_untorn(reader->file, index, count, play->buffer,
					  &play->calls.err)
		    : tt_file_copy(reader->file, index, count, play->buffer,
				   &play->calls.err);
	MUST(play, rc == want);
	if (rc == TT_OK)
		shows(play, reader->image, &copied, index);
}

static void at(struct play *play, struct reader *reader)
{
	uint64_t all = reader->image->count, from = odd(play, all + 3);
	int64_t index = (int64_t)(some(play, 2) ? from : 0 - from);
	uint64_t row = index < 0 ? all + (uint64_t)index : (uint64_t)index;
	bool there = index < 0 ? 0 - (uint64_t)index <= all : (uint64_t)index < all;
	struct tt_view one = { tt_file_at(reader->file, index), 1 };

	CALL(play, "at");
	MUST(play, (one.rows != NULL) == (there && !reader->by_pread));
	if (one.rows)
		shows(play, reader->image, &one, row);
}

static void read_on(struct play *play, struct reader *reader)
{
	uint64_t all = reader->image->count, count = odd(play, 30);
	uint64_t before = odd(play, 20), fresh = least(count, all - reader->cursor);
	struct tt_view view = { 0 };
	int rc = tt_file_read(reader->file, count, before, &view);

	CALL(play, "read");
	if (reader->by_pread || fresh == 0) {
		MUST(play, rc == (reader->by_pread ? TT_E_UNSUPPORTED : 0));
		return;
	}
	MUST(play, rc == 1);
	MUST(play, view.count == least(before, reader->cursor) + fresh);
	reader->cursor += fresh;
	shows(play, reader->image, &view, reader->cursor - view.count);
	MUST(play, tt_file_tell(reader->file) == reader->cursor);
}

static void seek(struct play *play, struct reader *reader)
{
	uint64_t all = reader->image->count, far = odd(play, all + 3);
	int64_t offset = (int64_t)(some(play, 2) ? far : 0 - far);
	enum tt_whence whence = (enum tt_whence)some(play, 3);
	uint64_t base = whence == TT_SEEK_SET	? 0
			: whence == TT_SEEK_CUR ? reader->cursor
						: all;

	CALL(play, "seek");
	reader->cursor = offset < 0 ? base - least(0 - (uint64_t)offset, base)
				    : base + least((uint64_t)offset, all - base);
	MUST(play, tt_file_seek(reader->file, offset, whence) == reader->cursor);
	if (some(play, 4) == 0) {
		tt_file_rewind(reader->file);
		reader->cursor = 0;
	}
	MUST(play, tt_file_tell(reader->file) == reader->cursor);
}

/* How long it may take is too short for anything to happen meanwhile. */
static void wait_for_more(struct play *play, struct reader *reader)
{
	struct tt_file_info info = info_of(play, reader->file);
	uint64_t all = reader->image->count,
		 seen = some(play, 2) ? all : odd(play, all + 2);
	enum tt_wait how = (enum tt_wait)some(play, 3);
	int64_t timeout = some(play, 2) ? 0 : (int64_t)some(play, 3000);
	int rc = tt_file_wait(reader->file, seen, how, timeout);

	CALL(play, "wait");
	if (seen != all)
		MUST(play, rc == (all > seen ? 1 : TT_E_DAMAGED));
	else if (!info.aligned_tail)
		MUST(play, rc == TT_E_UNSUPPORTED);
	else if (reader->image == play->now)
		MUST(play, rc == 0);
	else
		MUST(play, rc == 0 || rc == TT_E_SUPERSEDED || rc == TT_E_CHANGED);
}

static void write_by_reader(struct play *play, struct reader *reader)
{
	uint64_t count = some(play, 4) ? 1 + some(play, 4) : odd(play, FEW);
	struct tt_file *file = reader->file;
	struct tt_error *err = &play->calls.err;

	CALL(play, "write through a handle for reading");
	MUST(play, tt_file_append(file, play->buffer, count) == TT_E_MISUSE);
	MUST(play, count == 0 || !tt_file_reserve(file, count));
	MUST(play, tt_file_publish(file, count) == TT_E_MISUSE);
	MUST(play, tt_file_update(file, 0, play->buffer, count, err) == TT_E_MISUSE);
	MUST(play, tt_file_grow(file, count, err) == TT_E_MISUSE);
	MUST(play, tt_file_sync(file, err) == TT_E_MISUSE);
	MUST(play, tt_file_size(file) == reader->image->count);
}

void call_reader(struct play *play, struct reader *reader)
{
	if (!reader->file) {
		open_to_read(play, reader);
		return;
	}
	reader->cursor = least(reader->cursor, reader->image->count); /* cleared */
	switch (some(play, 12)) {
	case 0: close_reader(play, reader); break;
	case 1: view(play, reader); break;
	case 2:
	case 3: copy(play, reader); break;
	case 4: head_or_tail(play, reader); break;
	case 5: at(play, reader); break;
	case 6:
	case 7: read_on(play, reader); break;
	case 8: seek(play, reader); break;
	case 9: wait_for_more(play, reader); break;
	default: write_by_reader(play, reader);
	}
}
