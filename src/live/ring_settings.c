/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a ring's settings file: making it, making it again, replacing what it says.
 * Invariant: the file is only linked when whole and then only rewritten in place; of the two
 * copies the one that counts is never overwritten. */
#include "live/ring_odd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/failpoint.h"

int tti_ring_settings_from(struct tti_settings *out, const struct tt_ring_opts *opts,
			   struct tt_error *err)
{
	*out = (struct tti_settings){
		.capacity = opts->capacity,
		.keep = opts->keep,
		.max_bytes = opts->max_bytes,
		.sync_ms = opts->sync_ms,
		.roll_at_s = opts->roll_at_s,
		.tail_words = opts->tail_words ? opts->tail_words : 5,
		.flags = (opts->batches_whole ? TTI_SETTINGS_BATCHES_WHOLE : 0) |
			 (opts->exact ? TTI_SETTINGS_EXACT : 0),
	};
	return tti_settings_judge(out, err);
}

void tti_ring_settings_to(struct tt_ring_opts *out, const struct tti_settings *settings)
{
	*out = (struct tt_ring_opts){
		.struct_size = sizeof(*out),
		.capacity = settings->capacity,
		.keep = settings->keep,
		.max_bytes = settings->max_bytes,
		.sync_ms = settings->sync_ms,
		.roll_at_s = settings->roll_at_s,
		.batches_whole = settings->flags & TTI_SETTINGS_BATCHES_WHOLE,
		.exact = settings->flags & TTI_SETTINGS_EXACT,
		.tail_words = settings->tail_words,
	};
}

int tti_ring_store_settings(struct tti_ring *ring, struct tti_settings *settings,
			    struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];
	uint8_t page[TTI_WORDS_OFF];
	struct tti_settings now;
	unsigned which = 1;
	int rc = tti_pread_all(ring->set_fd, page, sizeof(page), 0);

	tti_ring_path(ring, TTI_SETTINGS_NAME, path, sizeof(path));
	if (rc < 0)
		return tti_fail_sys(err, rc, path, "read");
	rc = tti_settings_pick(page, &now, &which, path, err);
	if (rc < 0)
		return rc;
	settings->sequence = now.sequence + 1;
	tti_settings_seal(settings);
	TTI_FAILPOINT("ring.set.before_store");
	rc = tti_pwrite_all(ring->set_fd, settings, sizeof(*settings),
			    TTI_SETTINGS_OFF + (1 - which) * TTI_SETTINGS_STRIDE);
	TTI_FAILPOINT("ring.set.stored");
	if (rc == TT_OK && fdatasync(ring->set_fd) < 0)
		rc = -errno;
	if (rc < 0)
		return tti_fail_sys(err, rc, path, "store the settings");
	ring->settings = *settings;
	return TT_OK;
}

int tti_ring_sync_settings(const struct tti_ring *ring, struct tt_error *err)
{
	return fdatasync(ring->set_fd) == 0
		       ? TT_OK
		       : tti_fail_sys(err, -errno, ring->path,
				      "fdatasync of " TTI_SETTINGS_NAME);
}

static int new_id(struct tti_settings *settings)
{
	settings->created_ns = tti_clock_realtime_ns();
	if (getrandom(settings->ring_id, sizeof(settings->ring_id), 0) !=
	    sizeof(settings->ring_id))
		return -EIO;
	settings->ring_id[0] |= 1; /* all zero means a foreign ring */
	return TT_OK;
}

/* What a ring of npyt says about itself: its newest file and the length of its manifest. */
static struct tti_settings guess(const struct tti_ring *ring,
				 const struct tti_live *newest)
{
	struct tti_settings settings = { .capacity = newest->capacity,
					 .keep = ring->slots < 2 ? 2 : ring->slots,
					 .sync_ms = TT_SYNC_DEFAULT,
					 .roll_at_s = -1,
					 .tail_words = newest->tail_words == 4 ? 4 : 5 };
	return settings;
}

static int link_new(struct tti_ring *ring, const struct tti_settings *settings,
		    struct tt_error *err)
{
	static const char *const tmp = TTI_RING_SETTINGS_TMP;
	tti_auto_free uint8_t *bytes = malloc(TTI_SETTINGS_MIN_BYTES);
	int rc;

	if (!bytes)
		return tti_fail_sys(err, -ENOMEM, ring->path, NULL);
	tti_settings_format(bytes, settings);
	if (unlinkat(ring->dirfd, tmp, 0) < 0 && errno != ENOENT)
		return tti_fail_sys(err, -errno, ring->path,
				    "remove " TTI_RING_SETTINGS_TMP);
	TTI_FAILPOINT("ring.settings.before_link");
	rc = tti_fs_put(ring->dirfd,
			&(struct tti_put_file){ .tmp = tmp,
						.name = TTI_SETTINGS_NAME,
						.bytes = bytes,
						.n = TTI_SETTINGS_MIN_BYTES,
						.mode = 0644 },
			err);
	TTI_FAILPOINT("ring.settings.linked");
	return rc < 0 ? tti_fail_in(err, rc, "%s", ring->path) : TT_OK;
}

/* The header, both copies and the length made right; words and entries stay: the entries
 * are checked by their readers one by one. */
static int rewrite(struct tti_ring *ring, const struct tti_settings *settings,
		   struct tt_error *err)
{
	tti_auto_free uint8_t *bytes = malloc(TTI_SETTINGS_MIN_BYTES);
	char path[TTI_RING_PATH_BYTES];
	struct stat st;
	int rc;

	tti_ring_path(ring, TTI_SETTINGS_NAME, path, sizeof(path));
	if (!bytes || fstat(ring->set_fd, &st) < 0)
		return tti_fail_sys(err, bytes ? -errno : -ENOMEM, path, NULL);
	tti_settings_format(bytes, settings);
	rc = tti_pwrite_all(ring->set_fd, bytes, TTI_WORDS_OFF, 0);
	TTI_FAILPOINT("ring.settings.rewritten");
	if (rc == TT_OK && st.st_size < TTI_SETTINGS_MIN_BYTES) {
		uint64_t from = (uint64_t)st.st_size < TTI_WORDS_OFF
					? TTI_WORDS_OFF
					: (uint64_t)st.st_size;

		rc = tti_pwrite_all(ring->set_fd, bytes + from,
				    TTI_SETTINGS_MIN_BYTES - from, from);
	}
	if (rc == TT_OK && fsync(ring->set_fd) < 0)
		rc = -errno;
	return rc < 0 ? tti_fail_sys(err, rc, path, "make the settings again") : TT_OK;
}

/* The copies may be whole though the header is not. */
static bool salvage(struct tti_ring *ring, struct tti_settings *out)
{
	uint8_t page[TTI_WORDS_OFF];

	return tti_pread_all(ring->set_fd, page, sizeof(page), 0) == TT_OK &&
	       tti_settings_pick(page, out, NULL, "", NULL) == TT_OK;
}

static int mend_damaged(struct tti_ring *ring, struct tti_settings *settings,
			struct tti_repair *repair, struct tt_error *err)
{
	char aside[64];
	bool saved;
	int rc = tti_ring_set_aside(ring, TTI_SETTINGS_NAME, aside, err);

	if (rc < 0)
		return rc;
	TTI_FAILPOINT("ring.settings.aside");
	saved = salvage(ring, settings);
	rc = saved ? TT_OK : new_id(settings);
	if (rc < 0)
		return tti_fail_sys(err, rc, ring->path, "make a ring id");
	rc = rewrite(ring, settings, err);
	if (rc == TT_OK)
		tti_repair_add(
			repair, "%s was damaged and was made again%s; the old one is %s",
			TTI_SETTINGS_NAME, saved ? ", its settings kept" : "", aside);
	return rc;
}

int tti_ring_remake_settings(struct tti_ring *ring, char aside[64], struct tt_error *err)
{
	int rc = tti_ring_set_aside(ring, TTI_SETTINGS_NAME, aside, err);

	return rc < 0 ? rc : rewrite(ring, &ring->settings, err);
}

/* What was lost may have been the later one: the one that is left counts from now on, and that
 * is said. */
static int mend_copy(struct tti_ring *ring, struct tti_repair *repair,
		     struct tt_error *err)
{
	struct tti_settings settings = ring->settings;
	uint8_t page[TTI_WORDS_OFF];
	int rc = tti_pread_all(ring->set_fd, page, sizeof(page), 0);

	if (rc < 0)
		return tti_fail_sys(err, rc, ring->path, "read of " TTI_SETTINGS_NAME);
	if (!tti_settings_bad_copies(page))
		return TT_OK;
	rc = tti_ring_store_settings(ring, &settings, err);
	if (rc == TT_OK)
		tti_repair_add(repair,
			       "a copy of the settings was damaged; the other one, which "
			       "may be older, counts");
	return rc;
}

int tti_ring_mend_settings(struct tti_ring *ring, const struct tti_live *newest,
			   struct tti_repair *repair, struct tt_error *err)
{
	struct tti_settings settings = guess(ring, newest);
	int rc = ring->set_rc;

	if (ring->set.addr)
		return mend_copy(ring, repair, err);
	if (rc == TT_E_DAMAGED || rc == -ENODATA) {
		rc = mend_damaged(ring, &settings, repair, err);
	} else if (rc == -ENOENT) {
		rc = new_id(&settings);
		if (rc < 0)
			return tti_fail_sys(err, rc, ring->path, "make a ring id");
		rc = link_new(ring, &settings, err);
		if (rc == TT_OK)
			tti_repair_add(repair, "%s was made", TTI_SETTINGS_NAME);
	} else {
		int odd = tti_ring_refuse_odd(ring, TTI_SETTINGS_NAME, err);

		if (odd < 0)
			return odd;
		return tti_fail(err, rc, "%s/%s: cannot be used: %s", ring->path,
				TTI_SETTINGS_NAME, tt_strerror(rc));
	}
	if (rc < 0)
		return rc;
	tti_ring_refresh(ring);
	return ring->set.addr ? TT_OK
			      : tti_fail_sys(err, ring->set_rc, ring->path,
					     "map " TTI_SETTINGS_NAME);
}
