/* SPDX-License-Identifier: Apache-2.0 */
/* <ring>/.ticktail: settings and shared words of a ring.  The map is permanent; byte for byte
 * in docs/FORMAT.md.  Lines of 64 bytes, little-endian:
 *
 *   0x0000  header, 128 bytes: magic, version, offset and length of each region, CRC
 *   0x0080  settings copy 0 and copy 1, 128 bytes each: the valid one with the higher
 *           sequence counts
 *   0x0180  words, one writer each, a line each: writer, wake, request, answer
 *   0x0300  marks of durability, two of 64 bytes
 *   0x0400  counters, 3 KiB
 *   0x1000  reader slots, 4 KiB
 *   0x2000  entries, 128 bytes a file, to the end of the file; grows, never shrinks
 *
 * npyt ignores the file; readers map it read-only and work without it. */
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
#define TTI_SETTINGS_MIN_BYTES 0x4000 /* header to 64 entries */
#define TTI_ENTRIES_OFF 0x2000

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
	uint64_t sequence; /* 0: never written */
	uint8_t ring_id[16]; /* random, at create; all zero only in foreign rings */
	uint64_t capacity; /* rows a file */
	uint64_t keep; /* files in the queue */
	uint64_t max_bytes; /* 0: no limit */
	int64_t sync_ms; /* -1 none, 0 each append, else every so many ms */
	int32_t roll_at_s; /* second of the day, -1 none */
	uint32_t zone; /* 0 = UTC, the only one */
	uint32_t flags; /* TTI_SETTINGS_* */
	uint32_t zero0;
	uint64_t zero1[6];
	uint32_t zero2;
	uint32_t crc; /* CRC-32C of the copy with this field 0 */
};
#define TTI_SETTINGS_BATCHES_WHOLE 1u

/* The words; each line has one writer. */
struct tti_words {
	_Atomic(uint32_t) writer_pid; /* 0: none known; liveness is the lock, not this */
	uint32_t zero0[15];
	_Atomic(uint32_t) wake; /* counts events; what readers sleep on */
	_Atomic(uint32_t) wake_policy; /* 0 unknown, 1 each, 2 by period, 3 never */
	uint32_t zero1[14];
	_Atomic(uint64_t) request; /* seal requests made, added to by requesters */
	uint64_t zero2[7];
	_Atomic(uint64_t) answer; /* seal requests served, stored by the writer */
	uint64_t zero3[7];
};

/* What is known to be on disk. */
struct tti_mark {
	uint64_t sequence; /* 0: none */
	uint64_t file; /* name; 0 in FILE.mark */
	uint64_t from, end; /* rows from 0 of the file */
	uint64_t update_timestamp; /* the CRC holds only while the file's is equal */
	uint8_t boot_id[16];
	uint32_t rows_crc; /* CRC-32C of the rows [from, end) */
	uint32_t crc; /* CRC-32C of the mark with this field 0 */
};

/* One file of the ring, 128 bytes.  An entry is free when name is 0; it is filled with the
 * fields first and the name last (release).  It is reused when its file is gone and no merged
 * file holds its rows. */
struct tti_entry {
	_Atomic(uint64_t) name;
	_Atomic(int64_t) first_row_ns; /* wall clock of its first row; INT64_MIN none yet */
	_Atomic(uint64_t) rows; /* at seal; UINT64_MAX until then */
	_Atomic(int64_t) time_min, time_max; /* of the time field; min > max: unknown */
	_Atomic(uint64_t) cut_at; /* first row cut after a power loss; UINT64_MAX none */
	_Atomic(uint64_t) merged_into; /* name of the file that holds its rows now, or 0 */
	_Atomic(uint64_t) merged_row; /* its first row there */
	uint64_t zero0[8];
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
TTI_AT(tti_settings, crc, 124);
static_assert(sizeof(struct tti_words) == 256, "words changed size");
TTI_AT(tti_words, wake, 64);
TTI_AT(tti_words, request, 128);
TTI_AT(tti_words, answer, 192);
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
static_assert(sizeof(_Atomic(uint64_t)) == 8 && ATOMIC_LLONG_LOCK_FREE == 2,
	      "readers map PROT_READ: loads must be plain 8-byte loads");

/* A whole new file of TTI_SETTINGS_MIN_BYTES: header, both copies (sequence 1 and 0), words,
 * marks and counters zero, entries free. */
void tti_settings_format(uint8_t out[TTI_SETTINGS_MIN_BYTES],
			 const struct tti_settings *settings);

/* Check a header (first 128 bytes) against the file's size: regions inside, in the places of
 * this version.  TT_E_DAMAGED, or TT_E_UNSUPPORTED for another version or incompat bits. */
int tti_settings_check(const void *bytes, uint64_t file_bytes, const char *path,
		       struct tt_error *err);

/* The valid copy with the higher sequence of the two (256 bytes at 0x80) -> *out; values out
 * of their ranges make a copy invalid.  TT_E_DAMAGED when neither is valid. */
int tti_settings_pick(const void *copies, struct tti_settings *out, const char *path,
		      struct tt_error *err);
/* Seal a copy: its CRC. */
void tti_settings_seal(struct tti_settings *settings);

/* Marks: the valid one with the higher sequence; 1 found, 0 none. */
int tti_mark_pick(const void *marks, struct tti_mark *out);
void tti_mark_seal(struct tti_mark *mark);

#endif
