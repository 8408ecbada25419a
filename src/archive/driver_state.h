/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a driver handle, shared by the files that implement it: vfd.c (what libhdf5
 * calls), driver.c (open, close, read), chunks.c, commit.c.
 *
 * Layers of the file that libhdf5 sees, top down: overlay (changes of the run, or a pending
 * journal's pages), descriptor.  Bytes past `eof` do not exist, bytes past the descriptor's
 * end read as zero. */
#ifndef TTI_DRIVER_STATE_H
#define TTI_DRIVER_STATE_H

#include "archive/access.h"
#include "archive/driver.h"
#include "archive/overlay.h"
#include "archive/superblock.h"

enum tti_driver_phase {
	TTI_PHASE_READ, /* also after the commit */
	TTI_PHASE_RUN,
	TTI_PHASE_DEAD, /* aborted: writes are swallowed, nothing reaches the disk */
};

struct tti_driver {
	char *shown; /* access.shown */
	struct tti_access access;
	enum tti_driver_phase phase;
	struct tti_driver_opts opts;

	hid_t class_id, fapl, file;
	unsigned open_files; /* of libhdf5: it may keep one beyond our close */
	bool orphan;	     /* the handle is closed; the last of them frees */

	struct tti_overlay overlay;
	uint64_t eof;		/* where the file ends for libhdf5 */
	uint64_t committed_end; /* of allocation; 0 in a new file */
	uint64_t disk_size;	/* when the run began: an abort goes back to it */
	uint64_t reserved; /* space is allocated up to here; 0 before the first chunk */
	struct tti_superblock superblock;
	bool applied;

	struct tti_io *io; /* in a run, from the first chunk on */

	/* The pointer by which a chunk of ours is recognised among what libhdf5 reads and
	 * writes; raw data is not enough, since it sends global heaps as raw data too. */
	const void *expected;
	bool seen, in_overlay;
	uint64_t seen_address;
	size_t seen_bytes;

	/* The first failed system call since it was last told; libhdf5 has no room for it. */
	int failed;
	const char *failed_what;
};

/* vfd.c: register the class, make the access property list of this handle. */
int tti_vfd_attach(struct tti_driver *driver, struct tt_error *err);
void tti_vfd_detach(struct tti_driver *driver);

/* driver.c */
int tti_driver_read_below(struct tti_driver *driver, uint64_t address, void *bytes,
			  size_t n);
int tti_driver_find_superblock(struct tti_driver *driver, struct tt_error *err);
int tti_driver_open_file(struct tti_driver *driver, unsigned flags, struct tt_error *err);
/* Give up the run: nothing of it reaches the archive any more. */
void tti_driver_abort(struct tti_driver *driver);
void tti_driver_free(struct tti_driver *driver);

#endif
