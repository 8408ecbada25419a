/* SPDX-License-Identifier: Apache-2.0 */
/* <ring>/.ticktail: settings and shared words of a ring.  The map is permanent; byte for byte
 * in docs/FORMAT.md.  Little-endian; what changes all the time shares no page with what must
 * survive, and the two copies of a thing never share a sector:
 *
 *   0x0000  header, 128 bytes: magic, version, offset and length of each region, CRC
 *   0x0200  settings copy 0; copy 1 at 0x0400; 128 bytes each.  The valid one with the
 *           higher sequence counts
 *   0x1000  words, 1 KiB: writer, wake, request, answer, on lines of their own
 *   0x1400  counters, 3 KiB
 *   0x2000  marks of durability: slot 0; slot 1 at 0x2200; 64 bytes each
 *   0x3000  reader slots, 128 bytes each, 64 of them
 *   0x5000  entries, 128 bytes a file, to the end of the file; grows, never shrinks
 *
 * All bytes not named are zero.  npyt ignores the file; readers map it read-only and work
 * without it. */
#ifndef TTI_SETTINGS_H
#define TTI_SETTINGS_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ticktail/error.h"

#define TTI_SETTINGS_NAME ".ticktail"
#define TTI_SETTINGS_MAGIC UINT64_C(0x314c494154544b54) /* "TKTTAIL1" */
#define TTI_SETTINGS_VERSION 1
#define TTI_SETTINGS_OFF 0x200
#define TTI_SETTINGS_STRIDE \
	0x200 /* from copy 0 to copy 1, from mark 0 to mark 1: a sector */
#define TTI_SETTINGS_COPIES 2
#define TTI_SETTINGS_FIRST 2 /* sequence of the older copy in a new file */
#define TTI_WORDS_OFF 0x1000
#define TTI_COUNTERS_OFF 0x1400
#define TTI_MARKS_OFF 0x2000
#define TTI_MARK_SLOTS 2
#define TTI_READERS_OFF 0x3000
#define TTI_READER_SLOTS 64
#define TTI_ENTRIES_OFF 0x5000
#define TTI_ENTRIES_FIRST 64 /* entries of a new file; more by growing */
#define TTI_SETTINGS_MIN_BYTES (TTI_ENTRIES_OFF + TTI_ENTRIES_FIRST * 128)
#define TTI_ENTRIES_MAX (1u << 20)
#define TTI_SETTINGS_MAX_BYTES (TTI_ENTRIES_OFF + UINT64_C(128) * TTI_ENTRIES_MAX)

/* A reader slot i belongs to whoever holds an OFD write lock on this byte of the file. */
#define TTI_LOCK_READER_SLOT(i) (((int64_t)1 << 62) + 16 + (i))

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* no hidden bytes on disk */

struct tti_region {
	uint32_t off, bytes;
};

struct tti_settings_header { /* 128 bytes */
	uint64_t magic;
	uint32_t version;
	uint32_t incompat; /* an unknown bit set: refuse to write, read without */
	struct tti_region settings, words, marks, counters, readers;
	uint32_t entries_off, entry_bytes; /* to the end of the file */
	uint32_t zero0[15];
	uint32_t crc; /* CRC-32C of the header with this field 0 */
};

/* One copy of the settings, 128 bytes. */
struct tti_settings {
	uint64_t sequence;   /* 0: never written */
	uint8_t ring_id[16]; /* random, at create; all zero only in foreign rings */
	uint64_t capacity;   /* rows a file, rounded already unless EXACT */
	uint64_t keep;	     /* files in the queue */
	uint64_t max_bytes;  /* 0: no limit */
	int64_t sync_ms;     /* -1 none, 0 each append, else every so many ms */
	int32_t roll_at_s;   /* second of the day, -1 none */
	uint32_t zone;	     /* of that day: 0 = UTC, the only one */
	uint32_t flags;	     /* TTI_SETTINGS_* */
	uint32_t tail_words; /* of new files: 5, or 4 in a ring that npyt 0.3 must read */
	int64_t created_ns;  /* wall clock at which ring_id was made */
	uint32_t
		time_leaf; /* the time field is leaf n - 1 of a row; 0: by the default rule */
	uint32_t zero0;
	uint64_t zero1[4];
	uint32_t zero2;
	uint32_t crc; /* CRC-32C of the copy with this field 0 */
};
#define TTI_SETTINGS_BATCHES_WHOLE 1u
#define TTI_SETTINGS_EXACT 2u /* capacity was not rounded up for an aligned tail */
#define TTI_SETTINGS_FLAGS (TTI_SETTINGS_BATCHES_WHOLE | TTI_SETTINGS_EXACT)
#define TTI_SYNC_MS_MAX 86400000
#define TTI_WAKE_US_MAX 1000000

/* The words.  Words of different writers, and the one that readers poll, are 128 bytes apart. */
struct tti_words {
	_Atomic(uint32_t) writer_pid; /* 0: none known; liveness is the lock, not this */
	uint32_t zero0[31];
	_Atomic(uint32_t) wake; /* counts events; what readers sleep on */
	_Atomic(uint32_t)
		wake_policy; /* enum tti_wake_policy, stored by the writer at open */
	uint32_t zero1[30];
	_Atomic(uint64_t) request; /* seal requests made, added to by requesters */
	uint64_t zero2[15];
	_Atomic(uint64_t) answer; /* seal requests served, stored by the writer */
	uint64_t zero3[15];
	uint64_t zero4[64];
};
enum tti_wake_policy {
	TTI_WAKE_UNKNOWN = 0,
	TTI_WAKE_EACH,
	TTI_WAKE_PERIOD,
	TTI_WAKE_NEVER
};

/* Counters, for those who watch; nothing depends on them.  Relaxed loads and stores; those of
 * the writer's thread and those of its helper are 128 bytes apart. */
struct tti_counters {
	_Atomic(uint64_t) rows, bytes, appends; /* since the ring was made */
	_Atomic(uint64_t) rolls;
	_Atomic(int64_t) last_write_ns; /* wall clock */
	_Atomic(int64_t) opened_ns;	/* wall clock at which the last writer opened */
	uint64_t zero0[10];
	_Atomic(uint64_t) wakes, syncs, sync_failures;
	_Atomic(int64_t) last_sync_ns;
	_Atomic(uint64_t) synced_file, synced_end; /* position known to be on disk */
	_Atomic(uint64_t) prepared;		   /* next files made ahead */
	uint64_t zero1[9];
	_Atomic(uint64_t) clock_steps;	/* wall clock found behind the newest name */
	_Atomic(int64_t) clock_step_ns; /* the last one: by how much */
	_Atomic(uint64_t) repairs;	/* opens that found something half done */
	uint64_t zero2[12];
	_Atomic(uint64_t)
		error_rows; /* what rows says once all before the last error count */
	_Atomic(uint64_t) errors; /* stored after the fields of the last one (release) */
	_Atomic(int64_t) error_ns;
	_Atomic(int64_t) error_code; /* as the calls return it */
	uint8_t error_tag[24];	     /* DISK_FULL, ...; NUL-padded */
	uint8_t error_text[80];	     /* NUL-padded */
	/* bucket i: calls that took [2^i, 2^(i+1)) ns */
	_Atomic(uint64_t) append_ns[64], roll_ns[64], sync_ns[64], wake_ns[64];
	uint64_t zero3[64];
};

/* Written by a reader that registers, for lag; see TTI_LOCK_READER_SLOT. */
struct tti_reader_slot {
	_Atomic(uint32_t) pid; /* 0: free */
	uint32_t zero0;
	_Atomic(int64_t) seen_ns;    /* wall clock of its last store here */
	_Atomic(uint64_t) file, row; /* its position */
	_Atomic(uint64_t) lost;	     /* rows it was told that it lost */
	uint8_t name[64];	     /* who, NUL-padded UTF-8 */
	_Atomic(int64_t)
		all_read_ns; /* wall clock at which it last had read all; 0 never */
	uint64_t zero1[2];
};

/* What is known to be on disk. */
struct tti_mark {
	uint64_t sequence;	   /* 0: none */
	uint64_t file;		   /* name; 0 in FILE.mark */
	uint64_t from, end;	   /* rows from 0 of the file */
	uint64_t update_timestamp; /* the CRC holds only while the file's is equal */
	uint8_t boot_id[16];
	uint32_t rows_crc; /* CRC-32C of the rows [from, end) */
	uint32_t crc;	   /* CRC-32C of the mark with this field 0 */
};

/* One file of the ring, 128 bytes.  An entry is free when claim is 0: claimed by
 * compare-and-swap, filled with the fields first and the name last (release), emptied name
 * first.  It is reused when its file is gone and no merged file holds its rows, and then not
 * before 64 other entries of files that are gone: they tell readers how many rows they
 * lost. */
struct tti_entry {
	_Atomic(uint64_t) name;
	_Atomic(int64_t)
		first_row_ns;	/* wall clock of its first row; INT64_MIN none yet */
	_Atomic(uint64_t) rows; /* at seal; UINT64_MAX until then */
	_Atomic(int64_t) time_min, time_max; /* of the time field; min > max: unknown */
	_Atomic(uint64_t) cut_at; /* first row cut after a power loss; UINT64_MAX none */
	_Atomic(uint64_t)
		merged_into;	      /* name of the file that holds its rows now, or 0 */
	_Atomic(uint64_t) merged_row; /* its first row there */
	_Atomic(uint64_t)
		base; /* rows the ring ever had before this file's; UINT64_MAX unknown */
	_Atomic(uint64_t) claim; /* not 0: somebody fills it or name holds a file */
	uint64_t zero0[6];
};

#pragma GCC diagnostic pop

#define TTI_AT(type, field, at) \
	static_assert(offsetof(struct type, field) == (at), #type "." #field " moved")
static_assert(sizeof(struct tti_settings_header) == 128, "settings header changed size");
TTI_AT(tti_settings_header, settings, 16);
TTI_AT(tti_settings_header, entries_off, 56);
TTI_AT(tti_settings_header, crc, 124);
static_assert(sizeof(struct tti_settings) == 128, "settings changed size");
TTI_AT(tti_settings, ring_id, 8);
TTI_AT(tti_settings, capacity, 24);
TTI_AT(tti_settings, keep, 32);
TTI_AT(tti_settings, max_bytes, 40);
TTI_AT(tti_settings, sync_ms, 48);
TTI_AT(tti_settings, roll_at_s, 56);
TTI_AT(tti_settings, zone, 60);
TTI_AT(tti_settings, flags, 64);
TTI_AT(tti_settings, tail_words, 68);
TTI_AT(tti_settings, created_ns, 72);
TTI_AT(tti_settings, time_leaf, 80);
TTI_AT(tti_settings, crc, 124);
static_assert(sizeof(struct tti_words) == 1024, "words changed size");
TTI_AT(tti_words, wake, 128);
TTI_AT(tti_words, wake_policy, 132);
TTI_AT(tti_words, request, 256);
TTI_AT(tti_words, answer, 384);
static_assert(sizeof(struct tti_counters) == 3072, "counters changed size");
TTI_AT(tti_counters, rolls, 24);
TTI_AT(tti_counters, last_write_ns, 32);
TTI_AT(tti_counters, wakes, 128);
TTI_AT(tti_counters, last_sync_ns, 152);
TTI_AT(tti_counters, synced_file, 160);
TTI_AT(tti_counters, clock_steps, 256);
TTI_AT(tti_counters, error_rows, 376);
TTI_AT(tti_counters, errors, 384);
TTI_AT(tti_counters, error_tag, 408);
TTI_AT(tti_counters, error_text, 432);
TTI_AT(tti_counters, append_ns, 512);
TTI_AT(tti_counters, roll_ns, 1024);
TTI_AT(tti_counters, sync_ns, 1536);
TTI_AT(tti_counters, wake_ns, 2048);
static_assert(sizeof(struct tti_reader_slot) == 128, "reader slot changed size");
TTI_AT(tti_reader_slot, seen_ns, 8);
TTI_AT(tti_reader_slot, file, 16);
TTI_AT(tti_reader_slot, lost, 32);
TTI_AT(tti_reader_slot, name, 40);
TTI_AT(tti_reader_slot, all_read_ns, 104);
static_assert(sizeof(struct tti_mark) == 64, "mark changed size");
TTI_AT(tti_mark, update_timestamp, 32);
TTI_AT(tti_mark, boot_id, 40);
TTI_AT(tti_mark, rows_crc, 56);
static_assert(sizeof(struct tti_entry) == 128, "entry changed size");
TTI_AT(tti_entry, first_row_ns, 8);
TTI_AT(tti_entry, rows, 16);
TTI_AT(tti_entry, time_min, 24);
TTI_AT(tti_entry, cut_at, 40);
TTI_AT(tti_entry, merged_into, 48);
TTI_AT(tti_entry, merged_row, 56);
TTI_AT(tti_entry, base, 64);
TTI_AT(tti_entry, claim, 72);
static_assert(TTI_READERS_OFF + TTI_READER_SLOTS * sizeof(struct tti_reader_slot) ==
		      TTI_ENTRIES_OFF,
	      "regions follow each other");
static_assert(sizeof(_Atomic(uint64_t)) == 8 && ATOMIC_LLONG_LOCK_FREE == 2,
	      "readers map PROT_READ: loads must be plain 8-byte loads");

/* A whole new file of TTI_SETTINGS_MIN_BYTES: header, both copies, the first one newer, all
 * else zero. */
void tti_settings_format(uint8_t out[TTI_SETTINGS_MIN_BYTES],
			 const struct tti_settings *settings);

/* Check a header (first 128 bytes) against the file's size: regions inside, in the places of
 * this version.  TT_E_DAMAGED, or TT_E_UNSUPPORTED for another version or incompat bits. */
int tti_settings_check(const void *bytes, uint64_t file_bytes, const char *path,
		       struct tt_error *err);

/* The valid copy with the higher sequence -> *out; file points to the file's first
 * TTI_WORDS_OFF bytes.  Values out of their ranges make a copy invalid.  TT_E_DAMAGED when
 * neither is valid.  *which_out (may be NULL): the number of the copy. */
int tti_settings_pick(const void *file, struct tti_settings *out, unsigned *which_out,
		      const char *path, struct tt_error *err);
/* How many copies are not valid, nor empty as the second one of a file that was made with one
 * is until its first change; file as above. */
unsigned tti_settings_bad_copies(const void *file);
/* Bytes between header and words that must be zero and are not. */
bool tti_settings_has_dirt(const void *file);
/* Seal a copy: its CRC. */
void tti_settings_seal(struct tti_settings *settings);
/* TT_E_RANGE naming the first value that no ring can have. */
int tti_settings_judge(const struct tti_settings *settings, struct tt_error *err);

/* Marks: the valid one with the higher sequence; 1 found, 0 none.  marks points to
 * TTI_MARK_SLOTS slots, TTI_SETTINGS_STRIDE apart. */
int tti_mark_pick(const void *marks, struct tti_mark *out);
/* Slot i is neither valid nor empty, or not the neighbour that the other one was stored beside:
 * only a first mark that says nothing stands alone. */
bool tti_mark_is_damaged(const void *marks, unsigned i);
void tti_mark_seal(struct tti_mark *mark);

/* Slots of entries in a file of that size. */
static inline uint64_t tti_settings_entries(uint64_t file_bytes)
{
	uint64_t count;

	if (file_bytes <= TTI_ENTRIES_OFF)
		return 0;
	count = (file_bytes - TTI_ENTRIES_OFF) / sizeof(struct tti_entry);
	return count < TTI_ENTRIES_MAX ? count : TTI_ENTRIES_MAX;
}

#endif
