/* SPDX-License-Identifier: Apache-2.0 */
/* From a run's changes to a commit.  The order is the whole point; docs/CONCURRENCY.md says
 * why each step comes where it does. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/num.h"
#include "archive/driver_state.h"
#include "archive/step.h"

/* libhdf5 puts all that it holds into the overlay and lets go of the file; an open file would
 * leave its marks in it (newer superblocks say "open for writing"). */
static int finish_hdf5(struct tti_driver *driver, struct tt_error *err)
{
	ssize_t open = H5Fget_obj_count(driver->file, H5F_OBJ_ALL | H5F_OBJ_LOCAL);
	hid_t file = driver->file;

	if (open > 1)
		return tti_fail(err, TT_E_MISUSE,
				"%s: %zd HDF5 identifiers are still open at the commit",
				driver->access.shown, open - 1);
	if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
		return tti_driver_fail(driver, err, TT_E_DAMAGED, "flush");
	driver->file = -1;
	if (H5Fclose(file) < 0)
		return tti_driver_fail(driver, err, TT_E_DAMAGED, "close");
	if (driver->failed < 0)
		return tti_driver_fail(driver, err, driver->failed, "flush");
	return TT_OK;
}

/* The file as long as it will be, with space for every page: applying must not meet a full
 * disk.  Existing pages may be holes (a sparse copy), so they are asked for too. */
static int extend(struct tti_driver *driver, const struct tti_journal *journal,
		  struct tt_error *err)
{
	uint64_t end = journal->head.end_after, missing = 0;
	int fd = driver->access.fd, rc = TT_OK;

	for (uint64_t i = 0; i < journal->head.pages && rc == TT_OK; i++) {
		uint64_t address = journal->pages[i].number * TTI_PAGE;

		missing += TTI_PAGE;
		if (fallocate(fd, 0, (off_t)address,
			      (off_t)tti_min_u64(TTI_PAGE, end - address)) < 0 &&
		    errno != EOPNOTSUPP)
			rc = -errno;
	}
	if (rc == TT_OK)
		rc = tti_step_truncate(fd, tti_max_u64(end, driver->disk_size));
	return rc < 0 ? tti_fail_space(err, rc, driver->access.shown, fd, missing)
		      : TT_OK;
}

/* All bytes of chunks on disk, then the pages of the overlay over them, composed. */
static int compose(struct tti_driver *driver, struct tti_journal *journal,
		   struct tt_error *err)
{
	int rc = tti_driver_drain(driver, err);

	tti_io_close(&driver->io);
	tti_lock_put_pid(
		driver->access.fd); /* the engine's second descriptor took it along */
	if (rc == TT_OK)
		rc = tti_driver_find_superblock(driver, err);
	if (rc == TT_OK)
		rc = tti_driver_watch(driver, 0, err); /* page of the superblock */
	if (rc < 0)
		return rc;
	journal->head.base_length = driver->disk_size;
	journal->head.end_before = driver->committed_end;
	journal->head.end_after = driver->superblock.end;
	return tti_journal_compose(journal, &driver->access.place, &driver->overlay, err);
}

/* Nobody can see a new file yet: it needs no journal. */
static int commit_new(struct tti_driver *driver, struct tti_journal *journal,
		      struct tt_error *err)
{
	struct tti_access *access = &driver->access;
	int rc = tti_journal_apply(journal, &access->place, err);

	if (rc < 0)
		return rc;
	rc = tti_step_fsync(access->fd);
	if (rc < 0)
		return tti_fail_sys(err, rc, access->shown, "fsync");
	TTI_FAILPOINT("archive.new.synced");
	driver->reserved = 0; /* in place it is not to be cut, whatever fails then */
	return tti_access_put_in_place(access, err);
}

/* From here the commit is durable; what goes wrong delays only its way into the file. */
static void apply(struct tti_driver *driver, const struct tti_journal *journal)
{
	struct tti_access *access = &driver->access;
	struct tt_error why = { .code = TT_OK };
	int rc = tti_journal_apply(journal, &access->place, &why);

	driver->applied = rc == TT_OK;
	if (rc < 0) {
		tti_access_note(
			access,
			"committed, but not applied to the file yet, which the next "
			"command does (%s)",
			why.text);
		return;
	}
	if (tti_journal_finish(&access->place, &why) < 0)
		tti_access_note(access, "committed; its journal is still there (%s)",
				why.text);
}

static int commit_old(struct tti_driver *driver, struct tti_journal *journal,
		      struct tt_error *err)
{
	struct tti_access *access = &driver->access;
	bool visible;
	int rc = extend(driver, journal, err);

	if (rc < 0)
		return rc;
	rc = tti_step_fdatasync(access->fd);
	if (rc < 0)
		return tti_fail_sys(err, rc, access->shown, "writing the chunks to disk");
	TTI_FAILPOINT("archive.chunks.durable");
	rc = tti_journal_write(journal, &access->place, &visible, err);
	if (rc < 0 && !visible)
		return rc;
	/* the file must keep what the journal may need */
	driver->disk_size = journal->head.end_after;
	driver->reserved = 0;
	if (rc < 0)
		return tti_fail_in(
			err, rc,
			"the outcome of the commit is unknown, the next command that "
			"opens the archive tells");
	apply(driver, journal);
	return TT_OK;
}

/* Reading goes on from the file, or through the journal where it could not be applied. */
static void reopen(struct tti_driver *driver, struct tti_journal *journal)
{
	struct tt_error why = { .code = TT_OK };
	int rc = TT_OK;

	driver->phase = TTI_PHASE_READ;
	driver->committed_end = driver->eof = journal->head.end_after;
	tti_overlay_clear(&driver->overlay);
	if (!driver->applied)
		rc = tti_journal_lay(journal, &driver->overlay);
	if (rc == TT_OK)
		rc = tti_driver_open_file(driver, H5F_ACC_RDONLY, &why);
	if (rc < 0)
		tti_access_note(&driver->access,
				"committed, but it cannot be read back (%s)",
				why.code ? why.text : tt_strerror(rc));
}

int tti_driver_commit(struct tti_driver *driver, struct tt_error *err)
{
	tti_auto_journal journal = TTI_JOURNAL_EMPTY;
	int rc;
	TTI_H5_QUIET;

	if (driver->phase != TTI_PHASE_RUN)
		return tti_fail(err, TT_E_MISUSE, "%s: not in a run",
				driver->access.shown);
	rc = finish_hdf5(driver, err);
	if (rc == TT_E_MISUSE)
		return rc;
	if (rc == TT_OK)
		rc = compose(driver, &journal, err);
	if (rc == TT_OK)
		rc = driver->access.is_new ? commit_new(driver, &journal, err)
					   : commit_old(driver, &journal, err);
	if (rc < 0) {
		tti_driver_abort(driver);
		return rc;
	}
	reopen(driver, &journal);
	return TT_OK;
}
