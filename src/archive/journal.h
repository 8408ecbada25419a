/* SPDX-License-Identifier: Apache-2.0 */
/* The redo journal: the pages of one commit, on disk as a whole before any of them is written
 * to the archive.  docs/FORMAT.md describes the bytes, docs/CONCURRENCY.md the protocol.
 *
 * File "<archive>-journal", all integers little-endian:
 *	struct tti_journal_head		one sector
 *	struct tti_journal_page	[pages]	ascending by number
 *	uint32_t			CRC-32C of everything before it
 *	uint32_t			0
 * A sector (512 bytes) is taken to be written whole or not at all. */
#ifndef TTI_JOURNAL_H
#define TTI_JOURNAL_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/error.h"
#include "archive/overlay.h"

#define TTI_JOURNAL_MAGIC UINT64_C(0x0a314c4e524a5454) /* "TTJRNL1\n" */
#define TTI_JOURNAL_VERSION 1u
#define TTI_SECTOR 512u

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"
struct tti_journal_head {
	uint64_t magic;
	uint32_t version;
	uint32_t head_bytes;   /* 512 */
	uint32_t page_bytes;   /* 4096 */
	uint32_t sector_bytes; /* 512 */
	uint64_t inode;	       /* of the archive */
	uint64_t base_length;  /* of the file before the run */
	uint64_t end_before;   /* superblock's end of allocation */
	uint64_t
		end_after; /* the file is at least this long before the journal is there */
	uint64_t pages;
	int64_t written_ns; /* UTC since 1970, for messages */
	uint8_t zero[440];
};
struct tti_journal_page {
	uint64_t number;     /* address / 4096 */
	uint32_t old_crc[8]; /* CRC-32C of each sector as it was; bytes at and past
				 * end_after count as zero, old and new */
	unsigned char bytes[TTI_PAGE];
};
#pragma GCC diagnostic pop
#define TTI_AT(type, field, off) \
	static_assert(offsetof(struct type, field) == (off), #type "." #field " moved")
static_assert(sizeof(struct tti_journal_head) == TTI_SECTOR, "head changed size");
static_assert(sizeof(struct tti_journal_page) == 4136, "page record changed size");
TTI_AT(tti_journal_head, magic, 0);
TTI_AT(tti_journal_head, version, 8);
TTI_AT(tti_journal_head, head_bytes, 12);
TTI_AT(tti_journal_head, page_bytes, 16);
TTI_AT(tti_journal_head, sector_bytes, 20);
TTI_AT(tti_journal_head, inode, 24);
TTI_AT(tti_journal_head, base_length, 32);
TTI_AT(tti_journal_head, end_before, 40);
TTI_AT(tti_journal_head, end_after, 48);
TTI_AT(tti_journal_head, pages, 56);
TTI_AT(tti_journal_head, written_ns, 64);
TTI_AT(tti_journal_page, old_crc, 8);
TTI_AT(tti_journal_page, bytes, 40);

/* In memory; fd -1 when it was made here and is not on disk yet. */
struct tti_journal {
	struct tti_journal_head head;
	struct tti_journal_page *pages;
	int fd;
};
void tti_journal_free(struct tti_journal *journal); /* accepts an empty one */
#define TTI_JOURNAL_EMPTY \
	{ \
		.fd = -1 \
	}
#define tti_auto_journal TTI_CLEANUP(tti_journal_free) struct tti_journal

/* The archive and the names of its journal, all in one directory. */
struct tti_journal_place {
	int dir;
	int archive;			/* descriptor, may be read only unless said */
	const char *path;		/* of the archive, for messages */
	char name[256], temporary[256]; /* "<archive>-journal", "-journal.tmp" */
};
/* From the archive's name in its directory; the other fields are the caller's. */
int tti_journal_name(struct tti_journal_place *place, const char *name,
		     struct tt_error *err);

/* From the overlay, over what the archive holds now, as the file will be: end_after bytes.
 * head.base_length, end_before and end_after are the caller's. */
int tti_journal_compose(struct tti_journal *journal,
			const struct tti_journal_place *place,
			const struct tti_overlay *overlay, struct tt_error *err);
/* To disk and into place.  *visible_out: the rename was tried, so that an error leaves the
 * outcome unknown; otherwise nothing is left of it. */
int tti_journal_write(struct tti_journal *journal, const struct tti_journal_place *place,
		      bool *visible_out, struct tt_error *err);

enum tti_journal_state {
	TTI_JOURNAL_NONE,
	TTI_JOURNAL_FINISHED, /* header zeroed: only the unlink is missing */
	TTI_JOURNAL_PENDING,  /* to be applied, or read through */
	TTI_JOURNAL_STALE,    /* the archive was changed by someone else since */
};
/* Read the journal if there is one and compare it with the archive.  The state, or TT_E_DAMAGED
 * (it is left in place), negated errno. */
int tti_journal_load(struct tti_journal *journal, const struct tti_journal_place *place,
		     struct tt_error *err);

/* These need both locks and a writable archive descriptor. */
int tti_journal_apply(const struct tti_journal *journal,
		      const struct tti_journal_place *place, struct tt_error *err);
int tti_journal_finish(const struct tti_journal_place *place, struct tt_error *err);
/* Rename to "-journal.stale-<time>"; the new name in name_out. */
int tti_journal_set_aside(const struct tti_journal_place *place, char name_out[300],
			  struct tt_error *err);

/* All pages of a pending journal into an overlay, to read through it. */
int tti_journal_lay(const struct tti_journal *journal, struct tti_overlay *overlay);

#endif
