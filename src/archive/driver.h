/* SPDX-License-Identifier: Apache-2.0 */
/* The archive file: who may open it, how it is read, and how a run's changes become one
 * commit.  All else in the room sees an HDF5 file identifier and these calls.
 *
 * libhdf5 runs on a file driver of ours.  In a run every write lands in an overlay of pages in
 * memory, except the chunks given to tti_driver_put_chunk(), which go to unused space past the
 * committed end.  tti_driver_commit() makes all of it durable through a redo journal; closing
 * without it leaves the archive as it was.  The protocol: docs/CONCURRENCY.md; the journal's
 * bytes: docs/FORMAT.md.
 *
 * A handle belongs to one thread, but tti_driver_pread() of a READ handle may be called from
 * any number at a time.  Not across fork. */
#ifndef TTI_DRIVER_H
#define TTI_DRIVER_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ticktail/archive.h"
#include "base/error.h"
#include "archive/h5.h"
#include "archive/io.h"

struct tti_driver;

enum tti_driver_mode {
	TTI_DRIVER_READ,   /* LOCK_SH for the life of the handle */
	TTI_DRIVER_WRITE,  /* a run on an archive that is there: -ENOENT when it is not */
	TTI_DRIVER_CREATE, /* the same, but a missing archive is made by the commit */
};

struct tti_driver_opts {
	int64_t apply_wait_ns; /* how long to wait for another process; < 0 for ever */
	bool force_network_fs;
	enum tt_archive_io io;
	unsigned io_depth; /* 0: default */
};

/* Errors: TT_E_FORMAT (not HDF5), TT_E_BUSY "PATH: being written by pid N", TT_E_DAMAGED (a
 * bad journal, a truncated file), TT_E_UNSUPPORTED (a network file system, an engine that is
 * refused), negated errno. */
int tti_driver_open(struct tti_driver **out, const char *path, enum tti_driver_mode mode,
		    const struct tti_driver_opts *opts, struct tt_error *err);
/* Without a commit: abort.  Closes identifiers that are still open in the file.  Accepts NULL
 * inside. */
void tti_driver_close(struct tti_driver **driver);
#define tti_auto_driver TTI_CLEANUP(tti_driver_close) struct tti_driver

/* The file's identifier: the driver's, do not close it.  After tti_driver_commit() it is
 * another one, read only, of the committed state. */
hid_t tti_driver_file(const struct tti_driver *driver);
/* true: CREATE found no archive, the file is new and empty. */
bool tti_driver_is_new(const struct tti_driver *driver);
/* What opening and committing mended, set aside or left pending, in words; "" for nothing. */
const char *tti_driver_notes(const struct tti_driver *driver);
const char *tti_driver_path(const struct tti_driver *driver); /* real path */

/* path: what: the reason, from the driver if a system call of its own failed during the last
 * libhdf5 call (then its code), else from libhdf5 (then code). */
int tti_driver_fail(struct tti_driver *driver, struct tt_error *err, int code,
		    const char *what);

/* ---- A run ---- */

struct tti_driver_chunk {
	hid_t dataset;
	const hsize_t *offset; /* of the chunk, in elements; inside the extent */
	uint32_t filter_mask;
	const void *bytes; /* as they stand in the file, filters applied */
	size_t n;
	tti_io_done_fn
		*done; /* bytes are free again; may be NULL; may run before the return */
	void *ctx;
};
/* Where the chunk lies in the file is returned by *address_out (may be NULL).  On an error the
 * callback is not called. */
int tti_driver_put_chunk(struct tti_driver *driver, const struct tti_driver_chunk *chunk,
			 uint64_t *address_out, struct tt_error *err);
/* Run callbacks of chunks that are written; wait for one when wait.  See tti_io_reap(). */
int tti_driver_reap(struct tti_driver *driver, bool wait);
int tti_driver_drain(struct tti_driver *driver, struct tt_error *err);
enum tt_archive_io tti_driver_io_kind(const struct tti_driver *driver);

/* Always journal the page at this address (relative to the HDF5 base address, as H5Oget_info
 * tells it): a page that every commit rewrites, also a foreign program's, so that a commit
 * made between a crash and the replay is noticed. */
int tti_driver_watch(struct tti_driver *driver, haddr_t address, struct tt_error *err);

/* All identifiers but the file's must be closed (TT_E_MISUSE).  TT_OK: durable, and visible to
 * all who open the archive from now on.  -EEXIST: a new archive, but another process made one
 * of that name meanwhile; nothing of this run is left, start over.  Any other error: nothing is
 * committed, unless the text says that the outcome is unknown.  The handle can only read and
 * be closed afterwards. */
int tti_driver_commit(struct tti_driver *driver, struct tt_error *err);
/* false after a commit whose journal is durable but could not be applied to the file yet (the
 * notes say why): sources must not be deleted then. */
bool tti_driver_is_applied(const struct tti_driver *driver);

/* ---- Reading around libhdf5 ---- */

struct tti_chunk_place {
	uint64_t
		address; /* in the file; TTI_NO_ADDRESS: not stored, reads as fill value */
	uint64_t n;
	uint32_t filter_mask;
};
#define TTI_NO_ADDRESS UINT64_MAX
/* Where a chunk lies, without reading it: 0.4 us whatever the number of chunks. */
int tti_driver_probe(struct tti_driver *driver, hid_t dataset, const hsize_t *offset,
		     struct tti_chunk_place *out, struct tt_error *err);

/* n bytes of the file as the handle sees it (a pending journal or the run's own changes over
 * what is on disk).  TT_E_DAMAGED when they lie past the end. */
int tti_driver_pread(struct tti_driver *driver, uint64_t address, void *bytes, size_t n,
		     struct tt_error *err);
int tti_driver_fd(const struct tti_driver *driver);
/* Length of the file as the handle sees it. */
uint64_t tti_driver_end(const struct tti_driver *driver);

#endif
