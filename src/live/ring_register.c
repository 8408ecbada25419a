/* SPDX-License-Identifier: Apache-2.0 */
/* Registering a reader, so that others see how far it is.  Owns the slot, its lock and a
 * mapping of its own that can be written.  Invariant: a slot is written by the holder of its
 * lock only, and nobody ever waits for that lock. */
#include "live/ring_register.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "format/text.h"
#include "live/shared_text.h"
#include "ticktail/status.h"

#define SEEN_EVERY 256 /* reads: no clock call a row */

struct tti_registered {
	int fd; /* holds the lock of the slot */
	struct tti_map map;
	struct tti_fork_guard guard;
	struct tti_reader_slot *slot;
	uint64_t file; /* stored last */
	uint32_t reads;
};

/* ---- the words ---- */

#define STORE(field, value, order) atomic_store_explicit(&slot->field, (value), order)
#define LOAD(field, order) atomic_load_explicit(&slot->field, order)

void tti_slot_load_all(const struct tti_reader_slot *slot, struct tti_slot_seen *out)
{
	*out = (struct tti_slot_seen){ .pid = LOAD(pid, memory_order_acquire) };
	if (out->pid == 0)
		return;
	tti_shared_text_load(out->name, sizeof(slot->name), slot->name);
	out->seen_ns = LOAD(seen_ns, memory_order_relaxed);
	out->all_read_ns = LOAD(all_read_ns, memory_order_relaxed);
	out->lost = LOAD(lost, memory_order_relaxed);
	/* 0 for long: before its first row, or it died between two stores */
	for (unsigned tries = 0; tries < 1000; tries++) {
		out->pos.file = LOAD(file, memory_order_acquire);
		out->pos.row = LOAD(row, memory_order_acquire);
		if (out->pos.file != 0 &&
		    out->pos.file == LOAD(file, memory_order_relaxed))
			return;
	}
	out->pos = (struct tt_pos){ 0 };
}

void tti_registered_pos(struct tti_registered *registered, struct tt_pos pos,
			bool all_read)
{
	struct tti_reader_slot *slot = registered->slot;

	if (pos.file != registered->file) {
		STORE(file, 0, memory_order_release);
		STORE(row, pos.row, memory_order_release);
		STORE(file, pos.file, memory_order_release);
		registered->file = pos.file;
	} else {
		STORE(row, pos.row, memory_order_release);
	}
	if (all_read || ++registered->reads % SEEN_EVERY == 0) {
		int64_t now = tti_clock_coarse_ns();

		STORE(seen_ns, now, memory_order_relaxed);
		if (all_read)
			STORE(all_read_ns, now, memory_order_relaxed);
	}
}

void tti_registered_lost(struct tti_registered *registered, uint64_t rows)
{
	struct tti_reader_slot *slot = registered->slot;

	STORE(lost, LOAD(lost, memory_order_relaxed) + rows, memory_order_relaxed);
}

/* ---- taking a slot ---- */

static bool is_fit(const char *name)
{
	size_t n = strlen(name);
	char shown[4 * sizeof(((struct tti_reader_slot *)0)->name) + 1];

	if (n == 0 || n >= sizeof(((struct tti_reader_slot *)0)->name) ||
	    !tti_utf8_valid(name, n))
		return false;
	tti_show_text(shown, name);
	return strcmp(shown, name) == 0; /* nothing had to be escaped */
}

static void fill(struct tti_registered *registered, const char *name, struct tt_pos pos)
{
	struct tti_reader_slot *slot = registered->slot;

	STORE(pid, 0, memory_order_release);
	tti_shared_text_store(slot->name, sizeof(slot->name), name);
	STORE(lost, 0, memory_order_relaxed);
	STORE(all_read_ns, 0, memory_order_relaxed);
	STORE(seen_ns, tti_clock_realtime_ns(), memory_order_relaxed);
	STORE(file, 0, memory_order_relaxed);
	registered->file = 0;
	tti_registered_pos(registered, pos, false);
	STORE(pid, (uint32_t)getpid(), memory_order_release);
}

/* Whose slot is liked best: what a dead reader of that name left, then a free one, then any
 * whose reader is dead. */
static bool is_liked(const struct tti_reader_slot *slot, const char *name, unsigned round)
{
	struct tti_slot_seen seen;

	if (round == 2)
		return true;
	tti_slot_load_all(slot, &seen);
	return round == 1 ? seen.pid == 0 : seen.pid != 0 && strcmp(seen.name, name) == 0;
}

/* TT_OK with slot set, TT_E_BUSY, or a negated errno. */
static int take_slot(struct tti_registered *registered, const char *name)
{
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < TTI_READER_SLOTS; i++) {
			struct tti_reader_slot *slot = tti_ring_slot(&registered->map, i);
			int rc;

			if (!is_liked(slot, name, round))
				continue;
			rc = tti_lock_try(registered->fd, TTI_LOCK_READER_SLOT(i));
			if (rc == TT_OK)
				registered->slot = slot;
			if (rc != TT_E_BUSY)
				return rc;
		}
	return TT_E_BUSY;
}

static int open_slot(struct tti_registered *registered, const struct tti_ring *ring,
		     const char *name, struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];
	int rc;

	tti_ring_path(ring, TTI_SETTINGS_NAME, path, sizeof(path));
	rc = tti_open_regular(ring->dirfd, TTI_SETTINGS_NAME, O_RDWR | O_NOFOLLOW, path,
			      err);
	if (rc < 0)
		return rc;
	registered->fd = rc;
	if (!tti_same_inode(ring->set_fd, ring->dirfd, TTI_SETTINGS_NAME))
		return tti_fail(err, TT_E_CHANGED, "%s: is another file by now", path);
	/* what is judged already and never gets shorter */
	rc = tti_map_open(&registered->map, registered->fd, TTI_ENTRIES_OFF, true);
	if (rc < 0)
		return tti_fail_sys(err, rc, path, "map for writing");
	rc = take_slot(registered, name);
	if (rc == TT_E_BUSY)
		return tti_fail(err, TT_E_RANGE,
				"%s: all %d places for readers that are to be seen are "
				"taken; reading works without one",
				path, TTI_READER_SLOTS);
	if (rc < 0)
		return tti_fail_sys(err, rc, path, "lock a place");
	rc = tti_fork_guard_add(&registered->guard, &registered->fd);
	return rc < 0 ? tti_fail_sys(err, rc, path, "guard the lock against fork")
		      : TT_OK;
}

static void drop(struct tti_registered *registered)
{
	if (registered->slot &&
	    registered->fd >= 0) /* else it is the parent's of a fork */
		atomic_store_explicit(&registered->slot->pid, 0, memory_order_release);
	tti_map_close(&registered->map);
	tti_fork_guard_remove(&registered->guard);
	tti_close_fd(&registered->fd);
	free(registered);
}

int tt_ring_reader_register(struct tt_ring_reader *reader, const char *name,
			    struct tt_error *err)
{
	struct tti_ring *ring = &reader->ring;
	struct tti_registered *registered;
	int rc;

	name = name ? name : program_invocation_short_name;
	if (!is_fit(name))
		return tti_fail(err, TT_E_RANGE,
				"%s: a reader's name is UTF-8 of 1 to 63 bytes without "
				"controls",
				ring->path);
	tti_ring_refresh(ring);
	if (!ring->set.addr)
		return tti_fail(err, TT_E_UNSUPPORTED,
				"%s: has no usable %s, where readers are seen: the first "
				"writer of ours makes one",
				ring->path, TTI_SETTINGS_NAME);
	tt_ring_reader_unregister(reader);
	registered = calloc(1, sizeof(*registered));
	if (!registered)
		return tti_fail_sys(err, -ENOMEM, ring->path, NULL);
	registered->fd = -1;
	rc = open_slot(registered, ring, name, err);
	if (rc < 0) {
		drop(registered);
		return rc;
	}
	fill(registered, name, reader->pos);
	reader->registered = registered;
	return TT_OK;
}

void tt_ring_reader_unregister(struct tt_ring_reader *reader)
{
	if (!reader->registered)
		return;
	drop(reader->registered);
	reader->registered = NULL;
}
