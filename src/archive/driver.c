/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, reading and closing.  What a run adds is in chunks.c and commit.c. */
#include "archive/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/driver_state.h"
#include "archive/step.h"

int tti_driver_read_below(struct tti_driver *driver, uint64_t address, void *bytes,
			  size_t n)
{
	char *at = bytes;

	if (address > INT64_MAX || n > INT64_MAX - address)
		return -EOVERFLOW;
	/* a chunk of this run may still be on its way to the file */
	if (driver->io && tti_io_in_flight(driver->io) > 0) {
		int rc = tti_io_drain(driver->io);

		if (rc < 0)
			return rc;
	}
	while (n > 0) {
		ssize_t got = pread(driver->access.fd, at, n, (off_t)address);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		at += got;
		address += (uint64_t)got;
		n -= (size_t)got;
	}
	memset(at, 0, n); /* past the end of the descriptor */
	return TT_OK;
}

static int read_seen(void *ctx, uint64_t address, void *bytes, size_t n)
{
	struct tti_driver *driver = ctx;
	int rc = tti_driver_read_below(driver, address, bytes, n);

	if (rc == TT_OK)
		tti_overlay_lay(&driver->overlay, address, bytes, n);
	return rc;
}

int tti_driver_find_superblock(struct tti_driver *driver, struct tt_error *err)
{
	int rc = tti_superblock_find(&driver->superblock, driver->eof, read_seen, driver,
				     err);

	if (rc < 0)
		return tti_fail_in(err, rc, "%s", driver->access.shown);
	return TT_OK;
}

static int check_length(struct tti_driver *driver, struct tt_error *err)
{
	int rc = tti_driver_find_superblock(driver, err);

	if (rc == TT_OK && driver->superblock.end > driver->eof)
		return tti_fail(
			err, TT_E_DAMAGED,
			"%s: truncated: it has %llu bytes, its HDF5 superblock says %llu",
			driver->access.shown, (unsigned long long)driver->eof,
			(unsigned long long)driver->superblock.end);
	return rc;
}

int tti_driver_open_file(struct tti_driver *driver, unsigned flags, struct tt_error *err)
{
	const char *path = driver->access.path;

	if (driver->access.is_new)
		driver->file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, driver->fapl);
	else
		driver->file = H5Fopen(path, flags, driver->fapl);
	if (driver->file < 0)
		return tti_driver_fail(driver, err, TT_E_DAMAGED, "HDF5");
	return TT_OK;
}

/* The layers under libhdf5, before it comes in. */
static int prepare(struct tti_driver *driver, struct tt_error *err)
{
	struct tti_access *access = &driver->access;
	struct stat st;
	int rc;

	if (fstat(access->fd, &st) < 0)
		return tti_fail_sys(err, -errno, access->shown, "fstat");
	driver->disk_size = driver->eof = (uint64_t)st.st_size;
	if (access->read_through) {
		rc = tti_journal_lay(&access->journal, &driver->overlay);
		if (rc < 0)
			return tti_fail_sys(err, rc, access->shown, "journal");
		driver->eof = access->journal.head.end_after;
	}
	if (access->is_new)
		return TT_OK;
	rc = check_length(driver, err);
	/* what a dead run left past it is nobody's, so no copy needs to carry it on */
	driver->committed_end = driver->eof = driver->superblock.end;
	return rc;
}

static int open_driver(struct tti_driver *driver, const char *path,
		       enum tti_driver_mode mode, struct tt_error *err)
{
	int rc;

	driver->shown = strdup(path);
	if (!driver->shown)
		return tti_fail_sys(err, -ENOMEM, path, NULL);
	rc = tti_access_open(&driver->access, driver->shown, mode, &driver->opts, err);
	if (rc == TT_OK)
		rc = prepare(driver, err);
	if (rc == TT_OK)
		rc = tti_vfd_attach(driver, err);
	if (rc < 0)
		return rc;
	driver->phase = mode == TTI_DRIVER_READ ? TTI_PHASE_READ : TTI_PHASE_RUN;
	return tti_driver_open_file(
		driver, mode == TTI_DRIVER_READ ? H5F_ACC_RDONLY : H5F_ACC_RDWR, err);
}

int tti_driver_open(struct tti_driver **out, const char *path, enum tti_driver_mode mode,
		    const struct tti_driver_opts *opts, struct tt_error *err)
{
	tti_auto_driver *driver = calloc(1, sizeof(*driver));
	int rc;
	TTI_H5_QUIET;

	if (!driver)
		return tti_fail_sys(err, -ENOMEM, path, NULL);
	driver->opts = *opts;
	driver->class_id = driver->fapl = driver->file = -1;
	driver->applied = true;
	driver->access = (struct tti_access)TTI_ACCESS_EMPTY;
	rc = open_driver(driver, path, mode, err);
	if (rc == TT_OK)
		*out = tti_steal_ptr(&driver);
	return rc;
}

static void close_file(struct tti_driver *driver)
{
	if (driver->file >= 0 && H5Fclose(driver->file) < 0)
		H5Eclear2(H5E_DEFAULT);
	driver->file = -1;
}

void tti_driver_abort(struct tti_driver *driver)
{
	if (driver->phase != TTI_PHASE_RUN)
		return;
	/* from here libhdf5's last writes go nowhere, so that closing cannot fail */
	driver->phase = TTI_PHASE_DEAD;
	tti_io_close(&driver->io);
	close_file(driver);
	/* give the space back; should that fail, the next run does */
	if (!driver->access.is_new && driver->reserved > driver->disk_size)
		tti_step_truncate(driver->access.fd, driver->disk_size);
}

void tti_driver_free(struct tti_driver *driver)
{
	tti_overlay_clear(&driver->overlay);
	free(driver->shown);
	free(driver);
}

void tti_driver_close(struct tti_driver **handle)
{
	struct tti_driver *driver = *handle;
	TTI_H5_QUIET;

	if (!driver)
		return;
	*handle = NULL;
	tti_driver_abort(driver);
	close_file(driver);
	tti_io_close(&driver->io);
	tti_vfd_detach(driver);
	tti_access_close(&driver->access);
	driver->phase = TTI_PHASE_DEAD;
	/* libhdf5 kept the file after all: it must not find the handle gone */
	driver->orphan = driver->open_files > 0;
	if (!driver->orphan)
		tti_driver_free(driver);
}

hid_t tti_driver_file(const struct tti_driver *driver)
{
	return driver->file;
}

bool tti_driver_is_new(const struct tti_driver *driver)
{
	return driver->access.is_new;
}

const char *tti_driver_notes(const struct tti_driver *driver)
{
	return driver->access.notes;
}

const char *tti_driver_path(const struct tti_driver *driver)
{
	return driver->access.path;
}

bool tti_driver_is_applied(const struct tti_driver *driver)
{
	return driver->applied;
}

int tti_driver_fail(struct tti_driver *driver, struct tt_error *err, int code,
		    const char *what)
{
	int failed = driver->failed;

	driver->failed = TT_OK;
	if (failed == TT_OK)
		return tti_h5_fail(err, code, driver->access.shown, what);
	H5Eclear2(H5E_DEFAULT);
	return tti_fail(err, failed, "%s: %s: %s: %s", driver->access.shown, what,
			driver->failed_what, tt_strerror(failed));
}

int tti_driver_pread(struct tti_driver *driver, uint64_t address, void *bytes, size_t n,
		     struct tt_error *err)
{
	int rc;

	if (address > driver->eof || n > driver->eof - address)
		return tti_fail(
			err, TT_E_DAMAGED,
			"%s: %zu bytes at %llu lie past the end of the file, %llu",
			driver->access.shown, n, (unsigned long long)address,
			(unsigned long long)driver->eof);
	rc = read_seen(driver, address, bytes, n);
	return rc < 0 ? tti_fail_sys(err, rc, driver->access.shown, "read") : TT_OK;
}

int tti_driver_fd(const struct tti_driver *driver)
{
	return driver->access.fd;
}

uint64_t tti_driver_end(const struct tti_driver *driver)
{
	return driver->eof;
}
