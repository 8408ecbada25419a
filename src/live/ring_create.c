/* SPDX-License-Identifier: Apache-2.0 */
/* Making a ring, and replacing its settings.  Invariant: a ring is built complete under a
 * temporary name beside its place and then renamed, so nobody sees half of one. */
#include "live/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/num.h"
#include "base/opts.h"
#include "live/ring_site.h"

struct creation {
	struct tti_site site;
	const struct tt_dtype *dtype;
	const struct tt_ring_opts *opts;
	struct tti_settings settings;
};

static int sync_fd(int fd, const char *path, struct tt_error *err)
{
	return fsync(fd) < 0 ? tti_fail_sys(err, -errno, path, "fsync") : TT_OK;
}

static int check_max_bytes(const struct tti_settings *settings, uint64_t file_bytes,
			   const char *dir, struct tt_error *err)
{
	uint64_t least;

	if (settings->max_bytes == 0)
		return TT_OK;
	file_bytes = tti_round_up(file_bytes, 4096); /* on disk */
	/* the queue is never deleted, and a new file is made before an old one leaves it */
	if (tti_mul_overflow(settings->keep + 1, file_bytes, &least) ||
	    least > settings->max_bytes)
		return tti_fail(err, TT_E_RANGE,
				"%s: a limit of %" PRIu64 " bytes cannot hold %" PRIu64
				" files of %" PRIu64 " bytes and the one being made",
				dir, settings->max_bytes, settings->keep, file_bytes);
	return TT_OK;
}

static int make_first_file(struct creation *creation, uint64_t name, struct tt_error *err)
{
	const struct tti_live_make make = { .dtype = creation->dtype,
					    .row_rank = creation->opts->row_rank,
					    .row_shape = creation->opts->row_shape,
					    .capacity = creation->settings.capacity,
					    .exact = creation->opts->exact,
					    .tail_words = creation->settings.tail_words };
	struct tti_live_made made;
	char file_name[TTI_RING_NAME_BYTES];
	tti_auto_fd fd = -1;
	struct stat st;
	int rc;

	tti_ring_format_name(file_name, name, false);
	fd = openat(creation->site.dirfd, file_name,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return tti_fail_name(err, -errno, creation->site.dirfd,
				     creation->site.path, file_name);
	rc = tti_live_fill(fd, &make, creation->site.path, &made, err);
	if (rc == TT_OK)
		creation->settings.capacity = made.capacity;
	if (rc == TT_OK)
		rc = sync_fd(fd, creation->site.path, err);
	if (rc == TT_OK && fstat(fd, &st) < 0)
		rc = tti_fail_sys(err, -errno, creation->site.path, "fstat");
	if (rc == TT_OK)
		rc = check_max_bytes(&creation->settings, (uint64_t)st.st_size,
				     creation->site.path, err);
	TTI_FAILPOINT("ring.create.file");
	return rc;
}

static int make_manifest(struct creation *creation, uint64_t name, struct tt_error *err)
{
	tti_auto_fd fd = openat(creation->site.dirfd, TTI_MANIFEST_NAME,
				O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int rc;

	if (fd < 0)
		return tti_fail_sys(err, -errno, creation->site.path, TTI_MANIFEST_NAME);
	rc = tti_reserve_space(fd, 0, creation->settings.keep * 8, false);
	if (rc < 0)
		return tti_fail_space(err, rc, creation->site.path, fd,
				      creation->settings.keep * 8);
	rc = tti_pwrite_all(fd, &name, sizeof(name), 0);
	TTI_FAILPOINT("ring.create.manifest");
	if (rc < 0)
		return tti_fail_sys(err, rc, creation->site.path, TTI_MANIFEST_NAME);
	return sync_fd(fd, creation->site.path, err);
}

static int make_settings(struct creation *creation, uint64_t name, struct tt_error *err)
{
	struct tti_entry entry = { .name = name,
				   .first_row_ns = INT64_MIN,
				   .rows = TTI_ROWS_UNKNOWN,
				   .time_min = INT64_MAX,
				   .time_max = INT64_MIN,
				   .cut_at = UINT64_MAX,
				   .claim = (uint64_t)getpid() };
	tti_auto_free uint8_t *bytes = malloc(TTI_SETTINGS_MIN_BYTES);
	struct tti_settings *settings = &creation->settings;
	int rc;

	if (!bytes)
		return tti_fail_sys(err, -ENOMEM, creation->site.path, NULL);
	settings->created_ns = (int64_t)name;
	if (getrandom(settings->ring_id, sizeof(settings->ring_id), 0) !=
	    sizeof(settings->ring_id))
		return tti_fail_sys(err, -EIO, creation->site.path, "getrandom");
	settings->ring_id[0] |= 1; /* all zero means a foreign ring */
	tti_settings_format(bytes, settings);
	memcpy(bytes + TTI_ENTRIES_OFF, &entry, sizeof(entry));
	rc = tti_fs_put(creation->site.dirfd,
			&(struct tti_put_file){ .tmp = TTI_RING_SETTINGS_TMP,
						.name = TTI_SETTINGS_NAME,
						.bytes = bytes,
						.n = TTI_SETTINGS_MIN_BYTES,
						.mode = 0644 },
			err);
	return rc < 0 ? tti_fail_in(err, rc, "%s", creation->site.path) : TT_OK;
}

static int make_lock_file(struct creation *creation, struct tt_error *err)
{
	tti_auto_fd fd = openat(creation->site.dirfd, TTI_RING_WRITER_NAME,
				O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? tti_fail_sys(err, -errno, creation->site.path,
				     TTI_RING_WRITER_NAME)
		      : TT_OK;
}

static int build(struct creation *creation, struct tt_error *err)
{
	uint64_t name = (uint64_t)tti_clock_realtime_ns();
	int rc = tti_site_begin(&creation->site, err);

	if (rc < 0)
		return rc;
	rc = make_first_file(creation, name, err);
	if (rc == TT_OK)
		rc = make_manifest(creation, name, err);
	if (rc == TT_OK)
		rc = make_settings(creation, name, err);
	if (rc == TT_OK)
		rc = make_lock_file(creation, err);
	if (rc == TT_OK)
		rc = tti_site_finish(&creation->site, err);
	if (rc < 0)
		goto undo;
	return TT_OK;

undo: /* the temporary directory is all that others can see */
	tti_site_undo(&creation->site);
	return rc;
}

int tt_ring_create(const char *dir, const struct tt_dtype *dtype,
		   const struct tt_ring_opts *opts, struct tt_error *err)
{
	struct tt_ring_opts mine = TT_RING_OPTS_INIT;
	struct creation creation = { .dtype = dtype, .opts = &mine };
	int rc;

	if (!opts || !tti_take_opts(&mine, sizeof(mine), opts))
		return tti_fail(err, TT_E_MISUSE,
				"%s: options are needed, of this release", dir);
	rc = tti_ring_settings_from(&creation.settings, &mine, err);
	if (rc < 0)
		return tti_fail_in(err, rc, "%s", dir);
	rc = tti_site_find(&creation.site, dir, err);
	if (rc == TT_OK)
		rc = tti_refuse_network_fs(creation.site.parent, dir,
					   mine.force_network_fs, err);
	if (rc == TT_OK)
		rc = build(&creation, err);
	tti_site_fini(&creation.site);
	return rc;
}

/* What stands in opts over what is stored; 0 for capacity and keep leaves them. */
static int merge_settings(struct tti_settings *out, const struct tti_ring *ring,
			  const struct tt_ring_opts *opts, const struct tti_live *newest,
			  struct tt_error *err)
{
	struct tt_ring_opts wanted = *opts;
	struct tti_settings fresh;
	int rc;

	if (wanted.capacity == 0) {
		wanted.capacity = ring->settings.capacity;
		wanted.exact = ring->settings.flags & TTI_SETTINGS_EXACT;
	}
	if (wanted.keep == 0)
		wanted.keep = ring->settings.keep;
	if (wanted.tail_words == 0)
		wanted.tail_words = ring->settings.tail_words;
	if (wanted.keep < ring->slots)
		return tti_fail(err, TT_E_RANGE,
				"keep %" PRIu64 ": it is %" PRIu64 " and can only rise",
				wanted.keep, ring->slots);
	rc = tti_ring_settings_from(&fresh, &wanted, err);
	if (rc < 0)
		return rc;
	if (!wanted.exact && !tti_tail_align_capacity(fresh.capacity, newest->data_off,
						      newest->row_bytes, &fresh.capacity))
		return tti_fail(err, TT_E_RANGE, "capacity %" PRIu64 ": too large",
				wanted.capacity);
	memcpy(fresh.ring_id, ring->settings.ring_id, sizeof(fresh.ring_id));
	fresh.created_ns = ring->settings.created_ns;
	fresh.time_leaf = ring->settings.time_leaf;
	*out = fresh;
	return TT_OK;
}

static int set_locked(struct tti_ring *ring, const struct tt_ring_opts *opts,
		      struct tt_error *err)
{
	struct tti_repair repair = { "" };
	struct tti_live newest = TTI_LIVE_EMPTY;
	struct tti_settings settings;
	int rc = tti_ring_mend_manifest(ring, 2, false, &repair, err);

	if (rc == TT_OK)
		rc = tti_ring_open_file(ring, tti_ring_newest(ring), false, &newest, err);
	if (rc < 0)
		return rc;
	rc = tti_ring_mend_settings(ring, &newest, &repair, err);
	if (rc == TT_OK) {
		rc = merge_settings(&settings, ring, opts, &newest, err);
		if (rc < 0)
			rc = tti_fail_in(err, rc, "%s", ring->path);
		else
			rc = check_max_bytes(
				&settings,
				newest.data_off + settings.capacity * newest.row_bytes +
					TTI_TAIL_MAX_BYTES,
				ring->path, err);
	}
	/* slots first: a stored keep that the manifest lacks is made up for at the next open */
	if (rc == TT_OK)
		rc = tti_ring_mend_manifest(ring, settings.keep, false, &repair, err);
	if (rc == TT_OK)
		rc = tti_ring_store_settings(ring, &settings, err);
	tti_live_close(&newest);
	return rc;
}

int tt_ring_set(const char *dir, const struct tt_ring_opts *opts, struct tt_error *err)
{
	struct tt_ring_opts mine = TT_RING_OPTS_INIT;
	struct tti_ring_lock lock = { .fd = -1 };
	struct tti_ring ring;
	int rc;

	if (!opts || !tti_take_opts(&mine, sizeof(mine), opts))
		return tti_fail(err, TT_E_MISUSE,
				"%s: options are needed, of this release", dir);
	rc = tti_ring_open(&ring, dir, true, err);
	if (rc < 0)
		return rc;
	rc = tti_ring_lock(&lock, &ring, TTI_LOCK_WRITER, err);
	if (rc == TT_OK)
		rc = set_locked(&ring, &mine, err);
	tti_ring_unlock(&lock);
	tti_ring_close(&ring);
	return rc;
}
