/* SPDX-License-Identifier: Apache-2.0 */
/* Invariant: a journal under its final name is complete and durable, and is never changed but
 * for zeroing its head after it has been applied. */
#include "archive/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/failpoint.h"
#include "base/fs.h"
#include "base/num.h"
#include "archive/step.h"

#define TRAILER_BYTES 8u

void tti_journal_free(struct tti_journal *journal)
{
	free(journal->pages);
	journal->pages = NULL;
	tti_close_fd(&journal->fd);
}

int tti_journal_name(struct tti_journal_place *place, const char *name,
		     struct tt_error *err)
{
	/* of the longest that is made of it, "<name>-journal.stale-<ns since 1970>" */
	const size_t added = sizeof("-journal.stale-9223372036854775807") - 1;

	if (strlen(name) + added > NAME_MAX)
		return tti_fail(
			err, -ENAMETOOLONG,
			"%s: the name is too long: its journal's would exceed %d bytes",
			place->path, NAME_MAX);
	snprintf(place->name, sizeof(place->name), "%s-journal", name);
	snprintf(place->temporary, sizeof(place->temporary), "%s-journal.tmp", name);
	return TT_OK;
}

/* A page of the archive as it is on disk; what lies past the file's or the commit's end is
 * zero. */
static int read_page(int fd, uint64_t number, uint64_t end, unsigned char *out)
{
	uint64_t address = number * TTI_PAGE;
	size_t want = (size_t)tti_min_u64(TTI_PAGE, end - address), got = 0;

	memset(out, 0, TTI_PAGE);
	while (got < want) {
		ssize_t n = pread(fd, out + got, want - got, (off_t)(address + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return TT_OK;
}

static uint32_t sector_crc(const unsigned char *page, unsigned i)
{
	return tti_crc32c(0, page + i * TTI_SECTOR, TTI_SECTOR);
}

static int compose_page(struct tti_journal_page *out, const struct tti_journal *journal,
			int archive, const struct tti_overlay *overlay)
{
	uint64_t end = journal->head.end_after;
	int rc = read_page(archive, out->number, end, out->bytes);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < TTI_LEN(out->old_crc); i++)
		out->old_crc[i] = sector_crc(out->bytes, i);
	tti_overlay_lay(overlay, out->number * TTI_PAGE, out->bytes,
			(size_t)tti_min_u64(TTI_PAGE, end - out->number * TTI_PAGE));
	return TT_OK;
}

int tti_journal_compose(struct tti_journal *journal,
			const struct tti_journal_place *place,
			const struct tti_overlay *overlay, struct tt_error *err)
{
	tti_auto_free uint64_t *numbers = NULL;
	struct stat st;
	size_t count;
	int rc;

	if (fstat(place->archive, &st) < 0)
		return tti_fail_sys(err, -errno, place->path, "fstat");
	rc = tti_overlay_list(overlay, journal->head.end_after, &numbers, &count);
	if (rc < 0)
		return tti_fail_sys(err, rc, place->path, "journal");
	journal->pages = calloc(count + 1, sizeof(*journal->pages));
	if (!journal->pages)
		return tti_fail_sys(err, -ENOMEM, place->path, "journal");
	for (size_t i = 0; i < count && rc == TT_OK; i++) {
		journal->pages[i].number = numbers[i];
		rc = compose_page(&journal->pages[i], journal, place->archive, overlay);
	}
	if (rc < 0)
		return tti_fail_sys(err, rc, place->path,
				    "reading the pages of a commit");
	journal->head.magic = TTI_JOURNAL_MAGIC;
	journal->head.version = TTI_JOURNAL_VERSION;
	journal->head.head_bytes = sizeof(journal->head);
	journal->head.page_bytes = TTI_PAGE;
	journal->head.sector_bytes = TTI_SECTOR;
	journal->head.inode = st.st_ino;
	journal->head.pages = count;
	journal->head.written_ns = tti_clock_realtime_ns();
	return TT_OK;
}

static int write_content(const struct tti_journal *journal, int fd)
{
	uint64_t n = journal->head.pages * sizeof(*journal->pages);
	uint32_t trailer[2] = { 0 };
	int rc;

	trailer[0] = tti_crc32c(0, &journal->head, sizeof(journal->head));
	trailer[0] = tti_crc32c(trailer[0], journal->pages, n);
	rc = tti_step_pwrite(fd, &journal->head, sizeof(journal->head), 0);
	if (rc == TT_OK)
		rc = tti_step_pwrite(fd, journal->pages, n, sizeof(journal->head));
	if (rc == TT_OK)
		rc = tti_step_pwrite(fd, trailer, sizeof(trailer),
				     sizeof(journal->head) + n);
	return rc < 0 ? rc : tti_step_fdatasync(fd);
}

static int fail_journal(const struct tti_journal_place *place, const char *name, int code,
			struct tt_error *err)
{
	char what[NAME_MAX + 16];

	snprintf(what, sizeof(what), "journal %s", name);
	return tti_fail_sys(err, code, place->path, what);
}

/* Whoever may read or write the archive may do so with its journal. */
static int create_like_archive(const struct tti_journal_place *place,
			       struct tt_error *err)
{
	tti_auto_fd fd = -1;
	struct stat st;

	if (fstat(place->archive, &st) < 0)
		return tti_fail_sys(err, -errno, place->path, "fstat");
	unlinkat(place->dir, place->temporary, 0); /* of a run that died */
	fd = openat(place->dir, place->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return fail_journal(place, place->temporary, -errno, err);
	/* another owner's archive: only root can give the file away, the mode must do */
	if (fchown(fd, st.st_uid, st.st_gid) < 0 && fchown(fd, (uid_t)-1, st.st_gid) < 0)
		errno = 0;
	if (fchmod(fd, st.st_mode & 0666) < 0)
		return tti_fail_sys(err, -errno, place->path, "mode of its journal");
	return tti_steal_fd(&fd);
}

int tti_journal_write(struct tti_journal *journal, const struct tti_journal_place *place,
		      bool *visible_out, struct tt_error *err)
{
	int rc;

	*visible_out = false;
	journal->fd = create_like_archive(place, err);
	if (journal->fd < 0)
		return journal->fd;
	rc = write_content(journal, journal->fd);
	if (rc < 0) {
		tti_fail_space(err, rc, place->path, journal->fd,
			       journal->head.pages * sizeof(*journal->pages));
		goto undo;
	}
	TTI_FAILPOINT("archive.journal.before_rename");
	*visible_out = true;
	rc = tti_step_rename(place->dir, place->temporary, place->name);
	if (rc == TT_OK)
		rc = tti_step_fsync_dir(place->dir);
	if (rc < 0)
		return fail_journal(place, place->name, rc, err);
	TTI_FAILPOINT("archive.journal.durable");
	return TT_OK;

undo: /* the temporary file means nothing to others, but it takes the room that is missing */
	unlinkat(place->dir, place->temporary, 0);
	return rc;
}

static int damaged(const struct tti_journal_place *place, const char *what,
		   struct tt_error *err)
{
	return tti_fail(
		err, TT_E_DAMAGED,
		"%s: its journal %s is damaged (%s): the commit in it is lost; move the "
		"journal away to go on without it",
		place->path, place->name, what);
}

static bool is_zero(const void *bytes, size_t n)
{
	const unsigned char *at = bytes;

	while (n > 0 && *at == 0)
		at++, n--;
	return n == 0;
}

static int check_head(const struct tti_journal_head *head, uint64_t size,
		      const struct tti_journal_place *place, struct tt_error *err)
{
	uint64_t n;

	if (head->magic != TTI_JOURNAL_MAGIC)
		return damaged(place, "no journal's magic number", err);
	if (head->version != TTI_JOURNAL_VERSION)
		return tti_fail(
			err, TT_E_FORMAT,
			"%s: its journal is of version %u, this program knows %u; open "
			"the archive with the newer one",
			place->path, head->version, TTI_JOURNAL_VERSION);
	if (head->head_bytes != sizeof(*head) || head->page_bytes != TTI_PAGE ||
	    head->sector_bytes != TTI_SECTOR || !is_zero(head->zero, sizeof(head->zero)))
		return damaged(place, "impossible head", err);
	if (tti_mul_overflow(head->pages, sizeof(struct tti_journal_page), &n) ||
	    tti_add_overflow(n, sizeof(*head) + TRAILER_BYTES, &n) || n != size)
		return damaged(place, "length", err);
	if (head->end_after == 0 || head->end_after > INT64_MAX)
		return damaged(place, "impossible end", err);
	return TT_OK;
}

static int check_content(const struct tti_journal *journal,
			 const struct tti_journal_place *place, struct tt_error *err)
{
	uint64_t n = journal->head.pages * sizeof(*journal->pages);
	uint32_t trailer[2], crc;
	int rc = tti_pread_all(journal->fd, trailer, sizeof(trailer),
			       sizeof(journal->head) + n);

	if (rc < 0)
		return fail_journal(place, place->name, rc, err);
	crc = tti_crc32c(0, &journal->head, sizeof(journal->head));
	if (tti_crc32c(crc, journal->pages, n) != trailer[0] || trailer[1] != 0)
		return damaged(place, "checksum", err);
	for (uint64_t i = 0; i < journal->head.pages; i++)
		if (journal->pages[i].number > (journal->head.end_after - 1) / TTI_PAGE ||
		    (i > 0 && journal->pages[i].number <= journal->pages[i - 1].number))
			return damaged(place, "page numbers", err);
	return TT_OK;
}

/* 1: every sector of the archive is as it was before the commit, or as after; 0: not. */
static int page_fits(const struct tti_journal_page *page, int archive, uint64_t end)
{
	unsigned char found[TTI_PAGE];
	int rc = read_page(archive, page->number, end, found);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < TTI_LEN(page->old_crc); i++)
		if (memcmp(found + i * TTI_SECTOR, page->bytes + i * TTI_SECTOR,
			   TTI_SECTOR) != 0 &&
		    sector_crc(found, i) != page->old_crc[i])
			return 0;
	return 1;
}

static int compare(const struct tti_journal *journal,
		   const struct tti_journal_place *place, struct tt_error *err)
{
	struct stat st;

	if (fstat(place->archive, &st) < 0)
		return tti_fail_sys(err, -errno, place->path, "fstat");
	if (st.st_ino != journal->head.inode ||
	    (uint64_t)st.st_size < journal->head.end_after)
		return TTI_JOURNAL_STALE;
	for (uint64_t i = 0; i < journal->head.pages; i++) {
		int fits = page_fits(&journal->pages[i], place->archive,
				     journal->head.end_after);

		if (fits < 0)
			return tti_fail_sys(err, fits, place->path,
					    "comparing with its journal");
		if (!fits)
			return TTI_JOURNAL_STALE;
	}
	return TTI_JOURNAL_PENDING;
}

static int load_pages(struct tti_journal *journal, const struct tti_journal_place *place,
		      struct tt_error *err)
{
	uint64_t n = journal->head.pages * sizeof(*journal->pages);
	int rc;

	journal->pages = malloc(n + 1);
	if (!journal->pages)
		return tti_fail_sys(err, -ENOMEM, place->path, "journal");
	rc = tti_pread_all(journal->fd, journal->pages, n, sizeof(journal->head));
	if (rc < 0)
		return fail_journal(place, place->name, rc, err);
	return check_content(journal, place, err);
}

int tti_journal_load(struct tti_journal *journal, const struct tti_journal_place *place,
		     struct tt_error *err)
{
	struct stat st;
	int rc;

	journal->fd = openat(place->dir, place->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (journal->fd < 0 && errno == ENOENT)
		return TTI_JOURNAL_NONE;
	if (journal->fd < 0 || fstat(journal->fd, &st) < 0)
		return fail_journal(place, place->name, -errno, err);
	if (!S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size < sizeof(journal->head) + TRAILER_BYTES)
		return damaged(place, "too short for a journal", err);
	rc = tti_pread_all(journal->fd, &journal->head, sizeof(journal->head), 0);
	if (rc < 0)
		return fail_journal(place, place->name, rc, err);
	if (is_zero(&journal->head, sizeof(journal->head)))
		return TTI_JOURNAL_FINISHED;
	rc = check_head(&journal->head, (uint64_t)st.st_size, place, err);
	if (rc == TT_OK)
		rc = load_pages(journal, place, err);
	return rc < 0 ? rc : compare(journal, place, err);
}

int tti_journal_apply(const struct tti_journal *journal,
		      const struct tti_journal_place *place, struct tt_error *err)
{
	uint64_t end = journal->head.end_after;
	int rc = TT_OK;

	for (uint64_t i = 0; i < journal->head.pages && rc == TT_OK; i++) {
		uint64_t address = journal->pages[i].number * TTI_PAGE;

		TTI_FAILPOINT("archive.apply.page");
		rc = tti_step_pwrite(place->archive, journal->pages[i].bytes,
				     (size_t)tti_min_u64(TTI_PAGE, end - address),
				     address);
	}
	if (rc == TT_OK)
		rc = tti_step_truncate(place->archive, end);
	if (rc == TT_OK)
		rc = tti_step_fdatasync(place->archive);
	TTI_FAILPOINT("archive.applied");
	return rc < 0 ? tti_fail_sys(err, rc, place->path, "applying its journal")
		      : TT_OK;
}

int tti_journal_finish(const struct tti_journal_place *place, struct tt_error *err)
{
	static const struct tti_journal_head nothing;
	tti_auto_fd fd = -1;
	int rc = TT_OK;

	/* opened anew: a journal that was loaded is open for reading only */
	fd = openat(place->dir, place->name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		rc = -errno;
	if (rc == TT_OK)
		rc = tti_step_pwrite(fd, &nothing, sizeof(nothing), 0);
	if (rc == TT_OK)
		rc = tti_step_fdatasync(fd);
	TTI_FAILPOINT("archive.journal.zeroed");
	if (rc == TT_OK)
		rc = tti_step_unlink(place->dir, place->name);
	return rc < 0 ? tti_fail(err, rc, "%s: finishing its journal %s: %s", place->path,
				 place->name, tt_strerror(rc))
		      : TT_OK;
}

int tti_journal_set_aside(const struct tti_journal_place *place, char name_out[300],
			  struct tt_error *err)
{
	int64_t now = tti_clock_realtime_ns();
	int rc;

	/* the nanosecond, and no replacing: two of one second both stay */
	snprintf(name_out, 300, "%s.stale-%lld", place->name, (long long)now);
	rc = tti_step_put_in_place(place->dir, place->name, name_out);
	if (rc == TT_OK)
		rc = tti_step_fsync_dir(place->dir);
	return rc < 0 ? tti_fail(err, rc, "%s: setting aside its stale journal %s: %s",
				 place->path, place->name, tt_strerror(rc))
		      : TT_OK;
}

int tti_journal_lay(const struct tti_journal *journal, struct tti_overlay *overlay)
{
	uint64_t end = journal->head.end_after;

	for (uint64_t i = 0; i < journal->head.pages; i++) {
		uint64_t address = journal->pages[i].number * TTI_PAGE;
		int rc = tti_overlay_write(overlay, address, journal->pages[i].bytes,
					   (size_t)tti_min_u64(TTI_PAGE, end - address));

		if (rc < 0)
			return rc;
	}
	return TT_OK;
}
