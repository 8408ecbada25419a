/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks whose bytes do not pass through libhdf5.  It is called for the metadata; which place
 * it chose is seen when it hands the driver our own pointer. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/num.h"
#include "archive/driver_state.h"
#include "archive/step.h"

#define RESERVE_STEP (UINT64_C(64) << 20)

static int start_io(struct tti_driver *driver, struct tt_error *err)
{
	struct tti_io_opts opts = { .kind = driver->opts.io,
				    .depth = driver->opts.io_depth,
				    .direct = true };
	struct tti_access *access = &driver->access;
	int rc;

	if (driver->io)
		return TT_OK;
	/* what a run that died left past the committed end */
	if (driver->disk_size > driver->committed_end && !access->is_new) {
		rc = tti_step_truncate(access->fd, driver->committed_end);
		if (rc < 0)
			return tti_fail_sys(err, rc, access->shown, "cutting leftovers");
		driver->disk_size = driver->committed_end;
	}
	driver->reserved = driver->disk_size;
	return tti_io_open(&driver->io, access->fd, access->shown, &opts, err);
}

enum tt_archive_io tti_driver_io_kind(const struct tti_driver *driver)
{
	return driver->io ? tti_io_kind(driver->io) : driver->opts.io;
}

/* Space ahead of the chunks: a full disk is told before the write, and direct writes need not
 * lengthen the file, which would make them wait for each other. */
static int reserve(struct tti_driver *driver, uint64_t end, struct tt_error *err)
{
	uint64_t ahead = tti_round_up(end, RESERVE_STEP);
	int fd = driver->access.fd, rc;

	if (end <= driver->reserved)
		return TT_OK;
	rc = fallocate(fd, 0, (off_t)driver->reserved, (off_t)(ahead - driver->reserved));
	if (rc < 0 && (errno == ENOSPC || errno == EFBIG)) {
		ahead = end;
		rc = fallocate(fd, 0, (off_t)driver->reserved,
			       (off_t)(end - driver->reserved));
	}
	if (rc < 0 && errno != EOPNOTSUPP)
		return tti_fail_space(err, -errno, driver->access.shown, fd,
				      end - driver->reserved);
	driver->reserved = rc < 0 ? end : ahead;
	return TT_OK;
}

static int hand_over(struct tti_driver *driver, const struct tti_driver_chunk *chunk,
		     struct tt_error *err)
{
	/* the engine only reads from it */
	struct tti_io_block block = { .bytes = (void *)(uintptr_t)chunk->bytes,
				      .n = chunk->n,
				      .offset = driver->seen_address,
				      .done = chunk->done,
				      .ctx = chunk->ctx };
	int rc;

	if (driver->in_overlay) {
		if (chunk->done)
			chunk->done(chunk->ctx, TT_OK);
		return TT_OK;
	}
	rc = reserve(driver, block.offset + block.n, err);
	if (rc < 0)
		return rc;
	rc = tti_io_write(driver->io, &block);
	return rc < 0 ? tti_fail_space(err, rc, driver->access.shown, driver->access.fd,
				       block.n)
		      : TT_OK;
}

int tti_driver_put_chunk(struct tti_driver *driver, const struct tti_driver_chunk *chunk,
			 uint64_t *address_out, struct tt_error *err)
{
	herr_t wrote;
	int rc;
	TTI_H5_QUIET;

	if (driver->phase != TTI_PHASE_RUN)
		return tti_fail(err, TT_E_MISUSE, "%s: not in a run",
				driver->access.shown);
	rc = start_io(driver, err);
	if (rc < 0)
		return rc;
	driver->expected = chunk->bytes;
	driver->seen = driver->in_overlay = false;
	wrote = H5Dwrite_chunk(chunk->dataset, H5P_DEFAULT, chunk->filter_mask,
			       chunk->offset, chunk->n, chunk->bytes);
	driver->expected = NULL;
	if (wrote < 0)
		return tti_driver_fail(driver, err, TT_E_DAMAGED, "chunk");
	if (!driver->seen || driver->seen_bytes != chunk->n)
		return tti_fail(
			err, TT_E_MISUSE,
			"%s: libhdf5 did not write the chunk's %zu bytes as they are",
			driver->access.shown, chunk->n);
	if (address_out)
		*address_out = driver->seen_address;
	return hand_over(driver, chunk, err);
}

int tti_driver_reap(struct tti_driver *driver, bool wait)
{
	return driver->io ? tti_io_reap(driver->io, wait) : 0;
}

int tti_driver_drain(struct tti_driver *driver, struct tt_error *err)
{
	int rc = driver->io ? tti_io_drain(driver->io) : TT_OK;

	return rc < 0 ? tti_fail_space(err, rc, driver->access.shown, driver->access.fd,
				       0)
		      : TT_OK;
}

int tti_driver_watch(struct tti_driver *driver, haddr_t address, struct tt_error *err)
{
	int rc;

	if (driver->phase != TTI_PHASE_RUN)
		return tti_fail(err, TT_E_MISUSE, "%s: not in a run",
				driver->access.shown);
	rc = tti_overlay_watch(&driver->overlay, address + driver->superblock.address);
	return rc < 0 ? tti_fail_sys(err, rc, driver->access.shown, NULL) : TT_OK;
}

static herr_t read_chunk(hid_t dataset, const hsize_t *offset, uint32_t *mask,
			 void *bytes)
{
#if H5_VERSION_GE(2, 0, 0)
	size_t room = SIZE_MAX; /* the driver writes nothing there */

	return H5Dread_chunk2(dataset, H5P_DEFAULT, offset, mask, bytes, &room);
#else
	return H5Dread_chunk(dataset, H5P_DEFAULT, offset, mask, bytes);
#endif
}

/* libhdf5 refuses to read a chunk that is not stored; this call, too slow for every chunk,
 * tells that from damage. */
static bool is_not_stored(hid_t dataset, const hsize_t *offset)
{
	unsigned mask;
	haddr_t address = 0;
	hsize_t n;

	H5Eclear2(H5E_DEFAULT);
	return H5Dget_chunk_info_by_coord(dataset, offset, &mask, &address, &n) >= 0 &&
	       address == HADDR_UNDEF;
}

int tti_driver_probe(struct tti_driver *driver, hid_t dataset, const hsize_t *offset,
		     struct tti_chunk_place *out, struct tt_error *err)
{
	uint32_t mask = 0;
	herr_t got;
	TTI_H5_QUIET;

	driver->expected = driver;
	driver->seen = false;
	got = read_chunk(dataset, offset, &mask, driver);
	driver->expected = NULL;
	if (got >= 0 && driver->seen) {
		*out = (struct tti_chunk_place){ .address = driver->seen_address,
						 .n = driver->seen_bytes,
						 .filter_mask = mask };
		return TT_OK;
	}
	if (driver->failed == TT_OK && is_not_stored(dataset, offset)) {
		*out = (struct tti_chunk_place){ .address = TTI_NO_ADDRESS };
		return TT_OK;
	}
	return tti_driver_fail(driver, err, TT_E_DAMAGED, "looking up a chunk");
}
