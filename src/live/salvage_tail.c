/* SPDX-License-Identifier: Apache-2.0 */
/* How many rows a damaged file has.  Its tail is looked for where the size says, where the
 * header says, and at last anywhere; without one, what is known from outside counts, then the
 * last row with something in it.  Invariant: no row is kept that lies past the file. */
#include "live/salvage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/crc32c.h"
#include "base/fs.h"
#include "base/num.h"
#include "live/words.h"

#define BLOCK (1u << 20)

struct found {
	bool is;
	uint64_t off; /* where it stands */
	struct tti_tail tail;
	uint64_t capacity;
	bool magic, offset; /* which of its constants hold */
};

/* ---- The tail ---- */

/* Words of a tail at off; false when they do not lie in the file or off is no end of rows. */
static bool look_at(const struct tti_salvage *out, int fd, uint64_t off, uint32_t words,
		    struct found *found)
{
	uint64_t at[5], magic;

	if (off < out->data_off || (off - out->data_off) % out->row_bytes != 0 ||
	    off > out->file_bytes || out->file_bytes - off < words * 8u ||
	    tti_pread_all(fd, at, words * 8u, off) < 0)
		return false;
	magic = at[words - 1];
	*found = (struct found){
		.off = off,
		.tail = { .words = words,
			  .start = at[0],
			  .end = at[1],
			  .update_timestamp = words == 5 ? at[2] : 0,
			  .offset = at[words - 2],
			  .superseded = magic == TTI_TAIL_SUPERSEDED },
		.capacity = (off - out->data_off) / out->row_bytes,
		.magic = magic == TTI_TAIL_MAGIC || magic == TTI_TAIL_SUPERSEDED,
		.offset = at[words - 2] == out->data_off,
	};
	found->is = found->magic && found->offset;
	return true;
}

static bool bounds_hold(const struct found *found)
{
	return found->tail.start <= found->tail.end && found->tail.end <= found->capacity;
}

/* At the end of the file, and where the header says. */
static bool look_around(const struct tti_salvage *out, int fd, uint64_t extent,
			struct found *found)
{
	uint64_t off;

	for (uint32_t words = 5; words >= 4; words--)
		if (out->file_bytes >= words * 8u &&
		    look_at(out, fd, out->file_bytes - words * 8u, words, found) &&
		    found->is)
			return true;
	if (extent == TTI_SALVAGE_UNKNOWN ||
	    tti_mul_overflow(extent, out->row_bytes, &off) ||
	    tti_add_overflow(off, out->data_off, &off))
		return false;
	for (uint32_t words = 5; words >= 4; words--)
		if (look_at(out, fd, off, words, found) && found->is)
			return true;
	/* one of the two constants is damaged, but size and header agree on the place */
	for (uint32_t words = 5; words >= 4; words--)
		if (out->file_bytes - off == words * 8u &&
		    look_at(out, fd, off, words, found) &&
		    (found->magic || found->offset) && bounds_hold(found)) {
			found->is = true;
			return true;
		}
	return false;
}

/* Nothing but zeros, known without reading them: a file may claim any size by a hole. */
static bool is_hole(int fd, uint64_t from, size_t n)
{
	off_t data = lseek(fd, (off_t)from, SEEK_DATA);

	return data < 0 ? errno == ENXIO : (uint64_t)data >= from + n;
}

/* The last place in the file with both constants of a tail: the size is wrong, and so may be
 * the header. */
static int look_everywhere(const struct tti_salvage *out, int fd, struct found *found)
{
	tti_auto_free uint8_t *buf = malloc(BLOCK + 8);
	uint64_t end = out->file_bytes;

	found->is = false;
	if (!buf)
		return -ENOMEM;
	while (end > out->data_off + 16) {
		uint64_t from = end > BLOCK ? end - BLOCK : 0;
		size_t n = (size_t)(end - from);
		bool hole = is_hole(fd, from, n);
		int rc = hole ? TT_OK : tti_pread_all(fd, buf, n, from);

		if (rc < 0)
			return rc;
		for (size_t i = hole || n < 16 ? 0 : n - 15; i-- > 0;) {
			uint64_t pair[2];

			memcpy(pair, buf + i, sizeof(pair));
			if (pair[0] != out->data_off ||
			    (pair[1] | 1) != (TTI_TAIL_MAGIC | 1))
				continue;
			for (uint32_t words = 5; words >= 4; words--)
				if (from + i + 16 >= words * 8u &&
				    look_at(out, fd, from + i + 16 - words * 8u, words,
					    found) &&
				    found->is)
					return TT_OK;
		}
		if (from == 0)
			break;
		end = from + 15; /* a pair may lie across */
	}
	found->is = false;
	return TT_OK;
}

/* ---- Rows ---- */

int tti_salvage_last_byte(int fd, uint64_t from, uint64_t to, uint64_t *out)
{
	tti_auto_free uint8_t *buf = malloc(BLOCK);

	*out = from;
	if (!buf)
		return -ENOMEM;
	while (to > from) {
		size_t n = (size_t)tti_min_u64(BLOCK, to - from);
		bool hole = is_hole(fd, to - n, n);
		int rc = hole ? TT_OK : tti_pread_all(fd, buf, n, to - n);

		if (rc < 0)
			return rc;
		for (size_t i = hole ? 0 : n; i > 0; i--)
			if (buf[i - 1] != 0) {
				*out = to - n + i;
				return TT_OK;
			}
		to -= n;
	}
	return TT_OK;
}

static uint64_t row_off(const struct tti_salvage *out, uint64_t row)
{
	return out->data_off + row * out->row_bytes;
}

/* Rows that a mark proves, of those that are there. */
static int rows_by_mark(const struct tti_salvage *out, int fd,
			const struct tti_mark *mark, uint64_t there, uint64_t *rows_out)
{
	tti_auto_free uint8_t *buf = NULL;
	uint64_t at, to;
	uint32_t crc = 0;

	*rows_out = 0;
	if (!mark || mark->end > there || mark->from > mark->end)
		return TT_OK;
	buf = malloc(BLOCK);
	if (!buf)
		return -ENOMEM;
	at = row_off(out, mark->from);
	to = row_off(out, mark->end);
	while (at < to) {
		size_t n = (size_t)tti_min_u64(BLOCK, to - at);
		int rc = tti_pread_all(fd, buf, n, at);

		if (rc < 0)
			return rc;
		crc = tti_crc32c(crc, buf, n);
		at += n;
	}
	if (crc == mark->rows_crc)
		*rows_out = mark->end;
	return TT_OK;
}

/* Nothing tells where the rows end: up to the last one with something in it. */
static int guess_end(struct tti_salvage *out, int fd,
		     const struct tti_salvage_hints *hints, uint64_t there)
{
	uint64_t last, proven = 0;
	int rc = tti_salvage_last_byte(fd, out->data_off, row_off(out, there), &last);

	if (rc == TT_OK)
		rc = rows_by_mark(out, fd, hints->mark, there, &proven);
	if (rc < 0)
		return rc;
	out->end = (last - out->data_off + out->row_bytes - 1) / out->row_bytes;
	out->end = tti_max_u64(out->end, proven);
	out->certain = proven;
	return TT_OK;
}

/* A file that was cut inside its tail may still have the words that count. */
static bool end_from_stump(struct tti_salvage *out, int fd, uint64_t extent, bool live)
{
	uint64_t words[2], last, off;

	if (extent == TTI_SALVAGE_UNKNOWN ||
	    tti_mul_overflow(extent, out->row_bytes, &off) ||
	    tti_add_overflow(off, out->data_off, &off) ||
	    out->file_bytes < off + sizeof(words) || out->file_bytes >= off + 40 ||
	    tti_pread_all(fd, words, sizeof(words), off) < 0 || words[0] > words[1] ||
	    words[1] > extent || tti_salvage_last_byte(fd, out->data_off, off, &last) < 0)
		return false;
	if (words[1] == 0 && last > out->data_off)
		return false;
	out->start = live ? 0 : words[0];
	out->end = out->certain = words[1];
	out->end_known = true;
	return true;
}

static void note_size(struct tti_salvage *out, uint64_t extent)
{
	uint64_t want;

	if (extent == TTI_SALVAGE_UNKNOWN ||
	    tti_mul_overflow(extent, out->row_bytes, &want) ||
	    tti_add_overflow(want, out->data_off, &want))
		return;
	if (out->file_bytes < want)
		tti_salvage_note(out,
				 "cut short at byte %" PRIu64
				 ": its header asks for %" PRIu64 " rows of %" PRIu64
				 " bytes",
				 out->file_bytes, extent, out->row_bytes);
	else if (out->file_bytes > want + TTI_TAIL_MAX_BYTES)
		tti_salvage_note(out, "%" PRIu64 " bytes too long",
				 out->file_bytes - want);
}

/* ---- What is not kept ---- */

/* From the end of the kept rows to the last byte that is not zero, and what follows the tail. */
static int find_cut(struct tti_salvage *out, int fd, const struct found *found,
		    uint64_t rows_end)
{
	uint64_t from = row_off(out, out->end), to = tti_max_u64(from, rows_end), last,
		 behind;
	int rc;

	if (from > out->file_bytes)
		return TT_OK;
	behind = found->is ? found->off + found->tail.words * 8u : to;
	rc = tti_salvage_last_byte(fd, from, tti_min_u64(to, out->file_bytes), &last);
	if (rc < 0)
		return rc;
	/* of a row that was cut in the middle all is kept, also zeros */
	if (!found->is && out->file_bytes - from < out->row_bytes)
		last = out->file_bytes;
	out->cut[0] = (struct tti_piece){ from, last };
	out->cut_rows = (last - from) / out->row_bytes;
	/* what little follows rows without a tail is what is left of it */
	if (out->file_bytes > behind &&
	    (found->is || out->file_bytes - behind > TTI_TAIL_MAX_BYTES)) {
		rc = tti_salvage_last_byte(fd, behind, out->file_bytes, &last);
		if (rc < 0)
			return rc;
		out->cut[1] = (struct tti_piece){ behind, last };
	}
	for (int i = 0; i < 2; i++)
		out->cut_bytes += out->cut[i].to - out->cut[i].from;
	return TT_OK;
}

/* ---- Putting it together ---- */

static void take_tail(struct tti_salvage *out, const struct found *found, uint64_t extent,
		      bool live)
{
	out->capacity = found->capacity;
	out->tail_words = found->tail.words;
	out->stamp = found->tail.update_timestamp;
	out->half_changed = found->tail.words == 5 && tti_stamp_is_changing(out->stamp);
	if (!found->magic)
		tti_salvage_note(out, "the magic number of its tail is damaged");
	if (!found->offset)
		tti_salvage_note(out,
				 "the offset in its tail is %" PRIu64 ", not %" PRIu64,
				 found->tail.offset, out->data_off);
	if (extent != TTI_SALVAGE_UNKNOWN && extent != found->capacity)
		tti_salvage_note(out,
				 "its header says %" PRIu64
				 " rows, its tail stands behind %" PRIu64,
				 extent, found->capacity);
	if (found->tail.end > found->capacity) {
		tti_salvage_note(out,
				 "its end, %" PRIu64 ", lies past its %" PRIu64 " rows",
				 found->tail.end, found->capacity);
		return;
	}
	out->end = out->certain = found->tail.end;
	out->end_known = true;
	if (live && found->tail.start != 0)
		tti_salvage_note(out,
				 "its start is %" PRIu64 ", and no row is ever taken off "
				 "the beginning of a ring's file",
				 found->tail.start);
	else if (found->tail.start <= found->tail.end)
		out->start = found->tail.start;
	else
		tti_salvage_note(out,
				 "its start, %" PRIu64 ", lies past its end, %" PRIu64,
				 found->tail.start, found->tail.end);
}

/* What an entry noted when the file was sealed. */
static void take_known(struct tti_salvage *out, uint64_t rows)
{
	if (rows == TTI_SALVAGE_UNKNOWN)
		return;
	if (out->end_known && out->end != rows)
		tti_salvage_note(out,
				 "its end is %" PRIu64
				 ", when it was sealed it had %" PRIu64 " rows",
				 out->end, rows);
	out->end = out->certain = rows;
	out->end_known = true;
}

static int plain_rows(struct tti_salvage *out, uint64_t there)
{
	uint64_t extent = out->npy.rank ? out->npy.shape[0] : 1;

	out->end = tti_min_u64(extent, there);
	out->certain = out->end;
	out->lost = extent - out->end;
	out->end_known = true;
	out->capacity = out->end;
	return TT_OK;
}

/* Only an entry says where the rows end: those behind the last byte may have been zeroed. */
static int doubt_zeros(struct tti_salvage *out, int fd)
{
	uint64_t last;
	int rc = tti_salvage_last_byte(fd, out->data_off, row_off(out, out->end), &last);

	if (rc == TT_OK)
		out->certain = tti_min_u64(out->certain,
					   (last - out->data_off + out->row_bytes - 1) /
						   out->row_bytes);
	return rc;
}

/* There are no more rows than fit the file; those that were published and do not are lost. */
static int count_rows(struct tti_salvage *out, int fd,
		      const struct tti_salvage_hints *hints, uint64_t there,
		      bool has_tail)
{
	int rc = TT_OK;

	if (!out->end_known) {
		tti_salvage_note(out, "where its rows end is not known");
		rc = guess_end(out, fd, hints, there);
	}
	if (out->data_off > out->file_bytes)
		there = 0;
	if (rc == TT_OK && out->end > there) {
		out->lost = out->end - there;
		out->end = out->certain = there;
	}
	if (rc == TT_OK && !has_tail)
		rc = doubt_zeros(out, fd);
	if (hints->cut_unproven)
		out->end = out->certain;
	out->start = tti_min_u64(out->start, out->end);
	return rc;
}

int tti_salvage_rows(struct tti_salvage *out, int fd,
		     const struct tti_salvage_hints *hints)
{
	uint64_t extent = out->has_header && out->npy.rank ? out->npy.shape[0]
							   : TTI_SALVAGE_UNKNOWN;
	uint64_t there = out->file_bytes > out->data_off
				 ? (out->file_bytes - out->data_off) / out->row_bytes
				 : 0;
	struct found found = { 0 };
	int rc = TT_OK;

	if (!look_around(out, fd, extent, &found))
		rc = look_everywhere(out, fd, &found);
	if (rc < 0)
		return rc;
	if (found.is) {
		if (found.off + found.tail.words * 8u < out->file_bytes)
			tti_salvage_note(out, "%" PRIu64 " bytes follow its tail",
					 out->file_bytes - found.off -
						 found.tail.words * 8u);
		take_tail(out, &found, extent, hints->live);
		there = found.capacity;
	} else {
		note_size(out, extent);
		out->capacity = extent;
		there = tti_min_u64(there, extent);
		if (out->has_header && !hints->live &&
		    out->npy.extent_width < TTI_NPY_EXTENT_WIDTH) {
			plain_rows(out, there);
			return find_cut(out, fd, &found, row_off(out, there));
		}
		tti_salvage_note(out, "its tail is gone");
		out->tail_words = 5;
		end_from_stump(out, fd, extent, hints->live);
	}
	take_known(out, hints->rows);
	rc = count_rows(out, fd, hints, there, found.is);
	if (out->half_changed)
		tti_salvage_note(out, "an update was cut off: some rows may be half old");
	return rc < 0 ? rc : find_cut(out, fd, &found, row_off(out, there));
}
