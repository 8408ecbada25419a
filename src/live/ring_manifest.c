/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a ring's manifest: entering a name, and making a missing or damaged one again.
 * Invariant while a ring is whole: the used slots, as a set, are a right queue at every
 * instant, no slot's value ever falls and no used slot goes back to 0. */
#include "live/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/limits.h"
#include "base/num.h"

#define DAY_NS (UINT64_C(86400) * 1000000000)
#define PAGE 4096

void tti_repair_add(struct tti_repair *repair, const char *fmt, ...)
{
	size_t len = strlen(repair->text);
	va_list ap;

	if (len > 0 && len + 3 < sizeof(repair->text))
		len += (size_t)snprintf(repair->text + len, sizeof(repair->text) - len,
					"; ");
	va_start(ap, fmt);
	vsnprintf(repair->text + len, sizeof(repair->text) - len, fmt, ap);
	va_end(ap);
}

/* A writer that died while it shifted left two equal neighbours; the shift goes on behind
 * them.  Slots are stored one by one in ascending order, so a reader sees a name twice or
 * once, but never not at all. */
static void shift_left(tti_word *slots, uint64_t n)
{
	uint64_t from = 0;

	for (uint64_t i = 0; i + 1 < n; i++)
		if (tti_slot_load(slots, i) == tti_slot_load(slots, i + 1)) {
			from = i + 1;
			break;
		}
	for (uint64_t i = from; i + 1 < n; i++) {
		TTI_FAILPOINT("ring.manifest.shift");
		tti_slot_store(slots, i, tti_slot_load(slots, i + 1));
	}
}

int tti_ring_publish_name(struct tti_ring *ring, uint64_t name, struct tt_error *err)
{
	tti_word *slots = tti_ring_slots(ring);
	uint64_t n = ring->slots, used = n, newest = tti_ring_newest(ring);

	if (!slots || n == 0 || name <= newest)
		return tti_fail(err, TT_E_DAMAGED,
				"%s/%s: cannot take name %" PRIu64 " after %" PRIu64,
				ring->path, TTI_MANIFEST_NAME, name, newest);
	while (used > 0 && tti_slot_load(slots, used - 1) == 0)
		used--;
	TTI_FAILPOINT("ring.manifest.before_name");
	if (used == n) {
		shift_left(slots, n);
		used = n - 1;
	}
	TTI_FAILPOINT("ring.manifest.shifted");
	tti_slot_store(slots, used, name);
	TTI_FAILPOINT("ring.manifest.named");
	return TT_OK;
}

/* Holes stay holes: a damaged size must not fill the disk. */
static int copy_bytes(int from, int to, uint64_t bytes)
{
	char buf[65536];
	uint64_t at = 0;
	int rc = tti_check_file_size(0, bytes);

	if (rc == TT_OK && ftruncate(to, (off_t)bytes) < 0)
		rc = -errno;
	while (at < bytes && rc == TT_OK) {
		off_t data = lseek(from, (off_t)at, SEEK_DATA);
		size_t step;

		if (data < 0 && errno == ENXIO)
			break;
		if (data > (off_t)at)
			at = (uint64_t)data;
		step = (size_t)tti_min_u64(sizeof(buf), bytes - tti_min_u64(at, bytes));
		rc = tti_pread_all(from, buf, step, at);
		if (rc == TT_OK)
			rc = tti_pwrite_all(to, buf, step, at);
		at += step;
	}
	return rc;
}

/* The first free name.bad-N, made. */
static int open_aside(struct tti_ring *ring, const char *name, char aside[64])
{
	int fd = -1;

	for (unsigned i = 1; i < 10000 && fd < 0; i++) {
		snprintf(aside, 64, "%s%s.bad-%u", name[0] == '.' ? "" : ".", name, i);
		fd = openat(ring->dirfd, aside,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	return fd < 0 ? -EEXIST : fd;
}

int tti_ring_set_aside(struct tti_ring *ring, const char *name, char aside[64],
		       struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];
	struct stat st;
	tti_auto_fd from = -1;
	tti_auto_fd to = -1;
	int rc;

	tti_ring_path(ring, name, path, sizeof(path));
	from = tti_open_regular(ring->dirfd, name, O_RDONLY | O_NOFOLLOW, path, err);
	if (from < 0)
		return from;
	if (fstat(from, &st) < 0)
		return tti_fail_sys(err, -errno, path, "fstat");
	to = open_aside(ring, name, aside);
	if (to < 0)
		return tti_fail_sys(err, to, path, "keep a copy of what is damaged");
	rc = copy_bytes(from, to, (uint64_t)st.st_size);
	if (rc == TT_OK && fsync(to) < 0)
		rc = -errno;
	if (rc < 0) {
		unlinkat(ring->dirfd, aside, 0);
		return tti_fail_sys(err, rc, path, "keep a copy of what is damaged");
	}
	return TT_OK;
}

int tti_ring_move_aside(struct tti_ring *ring, const char *name, char aside[64],
			struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];
	int rc = -EEXIST;

	for (unsigned i = 1; i < 10000 && rc == -EEXIST; i++) {
		snprintf(aside, 64, "%s%s.bad-%u", name[0] == '.' ? "" : ".", name, i);
		rc = tti_rename_new(ring->dirfd, name, ring->dirfd, aside);
	}
	return rc < 0 ? tti_fail_sys(err, rc,
				     tti_ring_path(ring, name, path, sizeof(path)),
				     "move aside what is damaged")
		      : TT_OK;
}

/* A rebuild that died leaves its first slots 0. */
static bool begins_with_zero(const struct tti_ring *ring)
{
	return tti_slot_load(tti_ring_slots(ring), 0) == 0 && tti_ring_newest(ring) != 0;
}

/* A file that lies between two names and is not named itself: readers would pass it over. */
static bool leaves_out(const struct tti_names *queue, const struct tti_items *items)
{
	size_t k = 0;

	for (size_t i = 0; i < items->count; i++) {
		uint64_t name = items->at[i].name;

		if (items->at[i].merged || items->at[i].shadowed)
			continue;
		while (k < queue->count && queue->at[k] < name)
			k++;
		if (k > 0 && k < queue->count && queue->at[k] != name)
			return true;
	}
	return false;
}

/* Every name that the manifest gives must have its file, but the newest: npyt stores the name
 * first.  That is then the time at which it did.  1 right, 0 wrong, -ENOMEM not known. */
static int is_manifest_right(struct tti_ring *ring, const struct tti_items *items)
{
	tti_auto_names queue = { 0 };
	uint64_t soon = (uint64_t)tti_clock_realtime_ns() + DAY_NS;
	size_t k = 0;
	int rc;

	if (!ring->lock.addr || begins_with_zero(ring))
		return false;
	rc = tti_ring_queue(ring, &queue, NULL);
	if (rc < 0)
		return rc == -ENOMEM ? rc : false;
	if (tti_ring_newest(ring) == 0)
		return items->count == 0;
	for (size_t i = 0; i < queue.count; i++) {
		while (k < items->count && items->at[k].name < queue.at[i])
			k++;
		if (k < items->count && items->at[k].name == queue.at[i])
			continue;
		/* nobody makes a newer file before the newest name has its own */
		if (i + 1 < queue.count || queue.at[i] > soon || k < items->count)
			return false;
	}
	return !leaves_out(&queue, items);
}

/* A manifest that grew by damage would keep files in the queue for ever.  It is cut only where
 * nobody's mapping loses a page: within its last page, or past all that can be mapped. */
static int cut_manifest(struct tti_ring *ring, uint64_t keep, uint64_t bytes)
{
	const uint64_t most = UINT64_C(8) * TTI_MANIFEST_MAX_SLOTS;
	uint64_t wanted = keep * 8;

	if (bytes > most)
		wanted = tti_max_u64(wanted, most);
	else if (!ring->set.addr || bytes <= wanted ||
		 tti_round_up(bytes, PAGE) != tti_round_up(wanted, PAGE))
		return TT_OK;
	return ftruncate(ring->lock_fd, (off_t)wanted) < 0 ? -errno : TT_OK;
}

/* The file as long as keep slots and as its present length, as zeros where it is new. */
static int size_manifest(struct tti_ring *ring, uint64_t keep, struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];
	struct stat st;
	uint64_t wanted;
	int rc;

	tti_ring_path(ring, TTI_MANIFEST_NAME, path, sizeof(path));
	if (ring->lock_fd < 0)
		ring->lock_fd = openat(
			ring->dirfd, TTI_MANIFEST_NAME,
			O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
	if (ring->lock_fd < 0 || fstat(ring->lock_fd, &st) < 0)
		return tti_fail_sys(err, -errno, path, NULL);
	rc = cut_manifest(ring, keep, (uint64_t)st.st_size);
	if (rc < 0 || fstat(ring->lock_fd, &st) < 0)
		return tti_fail_sys(err, rc < 0 ? rc : -errno, path,
				    "cut what is too long");
	wanted = tti_max_u64(keep * 8, tti_round_up((uint64_t)st.st_size, 8));
	if ((uint64_t)st.st_size < wanted) {
		rc = tti_reserve_space(ring->lock_fd, (uint64_t)st.st_size,
				       wanted - (uint64_t)st.st_size, false);
		if (rc < 0)
			return tti_fail_space(err, rc, path, ring->lock_fd,
					      wanted - (uint64_t)st.st_size);
	}
	TTI_FAILPOINT("ring.rebuild.sized");
	tti_map_close(&ring->lock);
	tti_ring_refresh(ring);
	return ring->lock.addr ? TT_OK : tti_ring_fail_manifest(ring, err);
}

static bool is_entered(const struct tti_ring_item *item)
{
	return item->published && !item->merged && !item->shadowed;
}

/* The newest files into the slots.  Values fall here, which is why readers look twice.  All
 * slots are emptied and then filled from the last to the first: until the first is stored the
 * manifest cannot be taken for a right one, whatever was in it. */
static void fill_slots(struct tti_ring *ring, const struct tti_items *items)
{
	tti_word *slots = tti_ring_slots(ring);
	uint64_t files = 0, at;

	for (size_t i = 0; i < items->count; i++)
		files += is_entered(&items->at[i]);
	for (at = 0; at < ring->slots; at++)
		tti_slot_store(slots, at, 0);
	at = tti_min_u64(files, ring->slots);
	for (size_t i = items->count; i > 0 && at > 0; i--) {
		if (!is_entered(&items->at[i - 1]))
			continue;
		TTI_FAILPOINT("ring.rebuild.slot");
		tti_slot_store(slots, --at, items->at[i - 1].name);
	}
}

static int rebuild(struct tti_ring *ring, uint64_t keep, struct tti_items *items,
		   struct tti_repair *repair, struct tt_error *err)
{
	char aside[64] = "";
	struct stat st;
	int rc = TT_OK;

	if (ring->lock_fd >= 0 && fstat(ring->lock_fd, &st) == 0 && st.st_size > 0)
		rc = tti_ring_set_aside(ring, TTI_MANIFEST_NAME, aside, err);
	TTI_FAILPOINT("ring.rebuild.aside");
	if (rc == TT_OK)
		rc = size_manifest(ring, keep, err);
	if (rc < 0)
		return rc;
	fill_slots(ring, items);
	if (fsync(ring->lock_fd) < 0)
		return tti_fail_sys(err, -errno, ring->path,
				    "fsync of " TTI_MANIFEST_NAME);
	TTI_FAILPOINT("ring.rebuild.done");
	tti_repair_add(repair, "%s was %s and was made again from the newest files%s%s",
		       TTI_MANIFEST_NAME, aside[0] ? "damaged" : "missing",
		       aside[0] ? "; the old one is " : "", aside);
	return TT_OK;
}

int tti_ring_mend_manifest(struct tti_ring *ring, uint64_t keep, bool force,
			   struct tti_repair *repair, struct tt_error *err)
{
	tti_auto_items items = { 0 };
	struct tti_map lock = ring->lock;
	uint64_t wanted = tti_max_u64(keep, ring->set.addr ? ring->settings.keep : 2);
	int rc;

	/* what could not be looked at is neither missing nor damaged */
	if (ring->lock_rc < 0 && ring->lock_rc != -ENOENT &&
	    ring->lock_rc != TT_E_DAMAGED)
		return tti_ring_fail_manifest(ring, err);
	ring->lock = (struct tti_map){ 0 };
	rc = tti_ring_list(ring, &items, err); /* by the directory alone */
	ring->lock = lock;
	if (rc < 0)
		return rc;
	rc = is_manifest_right(ring, &items);
	if (rc == -ENOMEM)
		return tti_fail_sys(err, rc, ring->path, NULL);
	if (force || rc <= 0)
		return rebuild(ring, wanted, &items, repair, err);
	return ring->slots < wanted ? size_manifest(ring, wanted, err) : TT_OK;
}
