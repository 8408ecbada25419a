/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of a ring: its place (ring_reader.c, ring_next.c, ring_seek.c), its views
 * (ring_view.c), its sleep (ring_wait.c).
 *
 * Invariant: every row below (cur, row) was given, skipped by a seek or counted as lost; cur
 * is never left before its end was loaded once more after the manifest showed a newer file. */
#ifndef TTI_RING_READER_H
#define TTI_RING_READER_H

#include "base/num.h"
#include "live/ring.h"

/* A file that the reader has open.  Rows are given from the mapping, or, where a foreign
 * writer may cut the file, from shadow: private memory that is filled by pread. */
struct tti_ring_open {
	struct tti_ring_open *next;
	struct tti_live live;
	uint64_t name;
	bool merged;
	bool pinned;	       /* the last tail or head gave views of it */
	uint64_t base;	       /* rows of the ring before it, or unknown */
	uint64_t entry_idx;    /* of its entry, or TTI_NO_ENTRY */
	unsigned char *shadow; /* NULL: mapped */
	size_t shadow_bytes;
	uint64_t have_from, have_to; /* rows that are in shadow */
	uint64_t final_end; /* rows, once a newer file is named; before: unknown */
	int64_t unsure_ns;  /* since when its end cannot be told, 0: it can */
};

struct tt_ring_reader {
	struct tti_ring ring;
	bool queued_only, seal_only;
	struct tti_npy rows;	    /* what a row is */
	struct tti_ring_open *open; /* newest use first; cur is among them, or NULL */
	struct tti_ring_open *cur;
	struct tt_pos pos; /* what stands before the next row; file 0: before the first */
	uint64_t base;	   /* rows of the ring before pos.file, or unknown */
	uint64_t lost;
	uint64_t cut;	      /* rows past a cut that a position was taken back by */
	bool lost_more;	      /* lost is what is known of: it may be more */
	uint64_t passed_file; /* the damaged file of which words were noted last */
	uint64_t doubt_file;  /* that may be being written; since when */
	int64_t doubt_ns;
	char passed[768], told[768]; /* words on files that were passed over */
	uint64_t newest_slot;	     /* of the manifest, where the newest name was seen */
	struct tti_items
		seen; /* the files at the last look: a reader far behind goes by it */
	int64_t looked_ns; /* when the settings file was looked for last */
	bool not_woken; /* rows came without a wake in a whole sleep: poll for a while */
	struct tti_registered *registered; /* owned; NULL: nobody sees it */
};

/* Open a file of the ring; views of it stay until two more files were moved on to. */
int tti_reader_open_file(struct tt_ring_reader *reader, uint64_t name, bool merged,
			 struct tti_ring_open **out, struct tt_error *err);
void tti_reader_close_file(struct tti_ring_open *file);
/* Make file the current one, at row. */
void tti_reader_stand(struct tt_ring_reader *reader, struct tti_ring_open *file,
		      uint64_t row);
/* Close what is neither current, pinned, nor one of the two before. */
void tti_reader_trim(struct tt_ring_reader *reader);

/* The newest name by the manifest (acquire), 0 for none: a load or two, however many slots
 * there are. */
uint64_t tti_reader_newest(struct tt_ring_reader *reader);

/* The newest name still is this file's, where it was seen last. */
static inline bool tti_reader_is_newest(const struct tt_ring_reader *reader,
					const struct tti_ring_open *file)
{
	const struct tti_ring *ring = &reader->ring;
	uint64_t at = reader->newest_slot;

	return ring->lock.addr && at < ring->slots &&
	       tti_slot_load(tti_ring_slots(ring), at) == file->name &&
	       (at + 1 == ring->slots ||
		tti_slot_load(tti_ring_slots(ring), at + 1) == 0);
}

/* tti_reader_end() as it is nearly always told, in a few loads, or TTI_ROWS_UNKNOWN.  Who polls
 * asks for nothing else. */
static inline uint64_t tti_reader_newest_end(const struct tt_ring_reader *reader,
					     const struct tti_ring_open *file)
{
	if (file->shadow || file->final_end != TTI_ROWS_UNKNOWN || !file->live.tail ||
	    file->live.shown != UINT64_MAX || !tti_reader_is_newest(reader, file))
		return TTI_ROWS_UNKNOWN;
	return tti_min_u64(tti_end_load(file->live.tail), file->live.capacity);
}

/* Published rows of an open file now.  The tail of a mapped file is touched only while the
 * file is the newest: npyt may cut it off later. */
uint64_t tti_reader_end(struct tt_ring_reader *reader, struct tti_ring_open *file);
/* Of an open file: the writer notes its rows before it names the next one, and did not yet. */
static inline bool tti_reader_takes_rows(const struct tt_ring_reader *reader,
					 const struct tti_ring_open *file)
{
	const struct tti_entry *entry;

	if (file->entry_idx >= tti_ring_entry_count(&reader->ring))
		return false;
	entry = tti_ring_entry(&reader->ring, file->entry_idx);
	return tti_entry_name(entry) == file->name &&
	       tti_field_load(&entry->rows) == TTI_ROWS_UNKNOWN;
}

/* The same, and its writer lives and entered no later file: one that the manifest names is not
 * its own doing.  npyt, making a manifest again, names all files that there are, also the one
 * that a writer has ready for its roll. */
bool tti_reader_is_ahead(const struct tt_ring_reader *reader,
			 const struct tti_ring_open *file);
/* 1: tti_reader_end() is what it was or became; 0: it cannot be told now; < 0: not for long. */
int tti_reader_is_sure(struct tt_ring_reader *reader, struct tti_ring_open *file,
		       struct tt_error *err);
uint64_t tti_reader_start(const struct tti_ring_open *file);
/* Rows [from, to) of an open file as a view; all of them are published. */
int tti_reader_view(struct tti_ring_open *file, uint64_t from, uint64_t to,
		    struct tt_view *out, struct tt_error *err);

/* Rows were found: the first is on its way to this processor while the caller is told of it. */
static inline void tti_reader_fetch_row(const struct tt_ring_reader *reader)
{
	const struct tti_live *live = &reader->cur->live;

	if (live->rows)
		__builtin_prefetch(live->rows + reader->pos.row * live->row_bytes);
}

/* There are rows at the reader's place.  false: or in a file behind it. */
bool tti_reader_has_rows(struct tt_ring_reader *reader);
/* 1: there are rows at the reader's place, moving on as needed; 0: nothing new. */
int tti_reader_advance(struct tt_ring_reader *reader, struct tt_error *err);

/* Words on a damaged file, once. */
void tti_reader_note_damage(struct tt_ring_reader *reader, uint64_t name,
			    const struct tt_error *why);
/* Go on behind a damaged file: -EAGAIN, look for the next; 0: wait, it is the newest, or somebody
 * may be writing it. */
int tti_reader_pass(struct tt_ring_reader *reader, uint64_t name, bool newest,
		    const struct tt_error *why);

/* Stand in the file after the current one: 1; 0 there is none yet. */
int tti_reader_next_file(struct tt_ring_reader *reader, struct tt_error *err);
/* Rows of the ring before a file, or unknown. */
uint64_t tti_reader_base_of(const struct tt_ring_reader *reader, uint64_t name);

/* Where a row of a file that was merged is now; false when it was not. */
bool tti_reader_map_merged(const struct tt_ring_reader *reader,
			   const struct tti_items *items, struct tt_pos *pos);
/* The files the reader may see, ascending. */
int tti_reader_items(struct tt_ring_reader *reader, struct tti_items *out,
		     struct tt_error *err);

#endif
