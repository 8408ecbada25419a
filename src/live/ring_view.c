/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a reader has open, and views of their rows.  Invariant: a view stays valid
 * until the reader moved on by two files (of tail and head: until the next of them), and no
 * view can be cut by another process: the rows of our files stay, others are read by pread. */
#include "live/ring_cut.h"
#include "live/ring_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "base/clock.h"
#include "base/num.h"

#define UNSURE_NS INT64_C(1000000000) /* a peer that has not finished by then is dead */

void tti_reader_close_file(struct tti_ring_open *file)
{
	if (file->shadow)
		munmap(file->shadow, file->shadow_bytes);
	tti_live_close(&file->live);
	free(file);
}

/* Address space only; pages come with the rows that are read. */
static int make_shadow(struct tti_ring_open *file)
{
	uint64_t bytes = tti_max_u64(file->live.capacity * file->live.row_bytes, 1);
	void *addr = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (addr == MAP_FAILED)
		return -errno;
	file->shadow = addr;
	file->shadow_bytes = (size_t)bytes;
	return TT_OK;
}

/* Mapped are files that were written by us in a ring that still is ours: they are not
 * shortened under a mapping, but for the tails of sealed ones when npyt goes on in the ring. */
static int open_file(struct tt_ring_reader *reader, struct tti_ring_open *file,
		     struct tt_error *err)
{
	bool by_pread, sealed = tti_reader_newest(reader) > file->name;
	uint64_t idx = tti_ring_find_entry(&reader->ring, file->name);
	int rc;

	/* entries that came behind what is mapped of them */
	if (idx == TTI_NO_ENTRY && reader->ring.set.addr) {
		tti_ring_refresh(&reader->ring);
		idx = tti_ring_find_entry(&reader->ring, file->name);
	}
	by_pread = idx == TTI_NO_ENTRY || tti_ring_is_foreign(&reader->ring);
	rc = by_pread ? tti_ring_open_file(&reader->ring, file->name, file->merged,
					   &file->live, err)
		      : tti_ring_map_file(&reader->ring, file->name, file->merged,
					  &file->live, err);
	if (rc < 0)
		return rc;
	/* what was sealed before it was looked at */
	if (sealed && !by_pread)
		file->final_end = file->live.end;
	if (reader->rows.dtype && !tti_ring_same_rows(&reader->rows, &file->live.npy))
		return tti_fail(err, TT_E_MISMATCH,
				"%s: its rows are %s, those of the ring %s",
				file->live.path, tt_dtype_descr(file->live.npy.dtype),
				tt_dtype_descr(reader->rows.dtype));
	if (file->live.npy.fortran_order)
		return tti_fail(err, TT_E_UNSUPPORTED, "%s: rows in Fortran order",
				file->live.path);
	if (by_pread && file->live.row_bytes > 0) {
		rc = make_shadow(file);
		if (rc < 0)
			return tti_fail_sys(err, rc, file->live.path, "mmap");
	}
	file->entry_idx = idx;
	if (idx != TTI_NO_ENTRY)
		file->base = tti_field_load(&tti_ring_entry(&reader->ring, idx)->base);
	return TT_OK;
}

int tti_reader_open_file(struct tt_ring_reader *reader, uint64_t name, bool merged,
			 struct tti_ring_open **out, struct tt_error *err)
{
	struct tti_ring_open *file;
	int rc;

	for (file = reader->open; file; file = file->next)
		if (file->name == name && file->merged == merged) {
			*out = file;
			return TT_OK;
		}
	file = calloc(1, sizeof(*file));
	if (!file)
		return tti_fail_sys(err, -ENOMEM, reader->ring.path, NULL);
	file->live = (struct tti_live)TTI_LIVE_EMPTY;
	file->name = name;
	file->merged = merged;
	file->base = file->final_end = TTI_ROWS_UNKNOWN;
	rc = open_file(reader, file, err);
	if (rc < 0) {
		tti_reader_close_file(file);
		return rc;
	}
	file->next = reader->open;
	reader->open = file;
	*out = file;
	return TT_OK;
}

void tti_reader_stand(struct tt_ring_reader *reader, struct tti_ring_open *file,
		      uint64_t row)
{
	struct tti_ring_open **link = &reader->open;

	while (*link && *link != file)
		link = &(*link)->next;
	if (*link) { /* to the front: the list is in order of last use */
		*link = file->next;
		file->next = reader->open;
		reader->open = file;
	}
	reader->cur = file;
	reader->pos = (struct tt_pos){ file->name, row };
	reader->base = file->base;
	tti_reader_trim(reader);
}

void tti_reader_trim(struct tt_ring_reader *reader)
{
	struct tti_ring_open **link = &reader->open;
	unsigned kept = 0;

	while (*link) {
		struct tti_ring_open *file = *link;

		if (file == reader->cur || file->pinned || kept++ < 2) {
			link = &file->next;
			continue;
		}
		*link = file->next;
		tti_reader_close_file(file);
	}
}

uint64_t tti_reader_start(const struct tti_ring_open *file)
{
	uint64_t start = 0, end;

	/* a foreign file that was cut keeps its rows; its start does not move */
	return tti_live_bounds(&file->live, &start, &end, NULL) == TT_OK ? start : 0;
}

/* A newer file is named, so the end of this one is final.  It is asked for by pread: npyt cuts
 * off the tail of a file that leaves its queue. */
static int settle_end(struct tti_ring_open *file, struct tt_error *err)
{
	struct tti_live look = file->live;
	int rc;

	look.tail = NULL; /* through the same descriptor */
	look.map = (struct tti_map){ 0 };
	rc = tti_live_look(&look, err);
	if (rc == TT_OK)
		file->final_end = tti_min_u64(look.end, file->live.capacity);
	return rc;
}

static bool has_later_entry(const struct tti_ring *ring, uint64_t name)
{
	for (uint64_t i = tti_ring_entry_count(ring); i > 0; i--)
		if (tti_entry_name(tti_ring_entry(ring, i - 1)) > name)
			return true;
	return false;
}

bool tti_reader_is_ahead(const struct tt_ring_reader *reader,
			 const struct tti_ring_open *file)
{
	return tti_reader_takes_rows(reader, file) &&
	       !has_later_entry(&reader->ring, file->name) &&
	       tti_lock_is_held(reader->ring.set_fd, TTI_LOCK_WRITER) == 1;
}

/* No row of it comes any more. */
static bool is_final(struct tt_ring_reader *reader, const struct tti_ring_open *file)
{
	return tti_reader_newest(reader) > file->name &&
	       !tti_reader_is_ahead(reader, file);
}

uint64_t tti_reader_end(struct tt_ring_reader *reader, struct tti_ring_open *file)
{
	uint64_t end = tti_reader_newest_end(reader, file);

	if (end != TTI_ROWS_UNKNOWN)
		return file->live.end = end;
	if (file->final_end != TTI_ROWS_UNKNOWN)
		return file->final_end;
	if (file->shadow) {
		tti_live_look(&file->live, NULL); /* else what was seen last */
		return tti_min_u64(file->live.end,
				   file->shadow_bytes / file->live.row_bytes);
	}
	if (is_final(reader, file))
		return settle_end(file, NULL) == TT_OK ? file->final_end : file->live.end;
	if (TTI_UNLIKELY(file->live.shown !=
			 UINT64_MAX)) /* a writer may have settled it */
		tti_ring_limit_file(&reader->ring, file->name, file->merged, &file->live);
	file->live.end = tti_min_u64(tti_live_end(&file->live), file->live.capacity);
	return file->live.end;
}

static int look_at_end(struct tt_ring_reader *reader, struct tti_ring_open *file,
		       struct tt_error *err)
{
	int rc;

	if (file->final_end != TTI_ROWS_UNKNOWN)
		return TT_OK;
	if (!file->shadow)
		return is_final(reader, file) ? settle_end(file, err) : TT_OK;
	rc = tti_live_look(&file->live, err);
	if (rc == TT_OK && file->live.end > file->shadow_bytes / file->live.row_bytes)
		rc = tti_fail(err, TT_E_CHANGED,
			      "%s: was made longer in place: open the ring again",
			      file->live.path);
	return rc;
}

/* npyt cuts a file that leaves the queue by writing header, tail and size one after the other,
 * and may die between. */
int tti_reader_is_sure(struct tt_ring_reader *reader, struct tti_ring_open *file,
		       struct tt_error *err)
{
	int64_t now;
	int rc = look_at_end(reader, file, err);

	if (rc == TT_OK) {
		file->unsure_ns = 0;
		return 1;
	}
	now = tti_clock_monotonic_ns();
	if (file->unsure_ns == 0)
		file->unsure_ns = now;
	return now - file->unsure_ns < UNSURE_NS ? 0 : rc;
}

static int fill_shadow(struct tti_ring_open *file, uint64_t from, uint64_t to,
		       struct tt_error *err)
{
	uint64_t row_bytes = file->live.row_bytes;
	int rc = TT_OK;

	if (file->have_from == file->have_to || from > file->have_to ||
	    to < file->have_from)
		file->have_from = file->have_to = from;
	if (from < file->have_from)
		rc = tti_live_copy(&file->live, from, file->have_from - from,
				   file->shadow + from * row_bytes, err);
	if (rc == TT_OK && from < file->have_from)
		file->have_from = from;
	if (rc == TT_OK && to > file->have_to) {
		rc = tti_live_copy(&file->live, file->have_to, to - file->have_to,
				   file->shadow + file->have_to * row_bytes, err);
		if (rc == TT_OK)
			file->have_to = to;
	}
	return rc;
}

int tti_reader_view(struct tti_ring_open *file, uint64_t from, uint64_t to,
		    struct tt_view *out, struct tt_error *err)
{
	const unsigned char *rows = file->shadow ? file->shadow : file->live.rows;
	int rc = file->shadow ? fill_shadow(file, from, to, err) : TT_OK;

	if (rc < 0)
		return rc;
	*out = (struct tt_view){ rows + from * file->live.row_bytes, to - from };
	return TT_OK;
}
