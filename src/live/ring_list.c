/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of a ring's queue, and the list of its files.  Owns which files count: regular
 * ones with a ring's names, not newer than the manifest's newest, not joined into another.
 * Invariant: at each instant every published row is in exactly one file of a list, whatever is
 * merged or shifted while it is made. */
#include "live/ring.h"
#include "live/ring_cut.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int grow(void **at, size_t *room, size_t count, size_t element)
{
	size_t wanted = *room ? *room * 2 : 64;
	void *larger;

	if (count < *room)
		return TT_OK;
	larger = reallocarray(*at, wanted, element);
	if (!larger)
		return -ENOMEM;
	*at = larger;
	*room = wanted;
	return TT_OK;
}

/* Slots only grow, so two equal readings in a row were true at the instant between them. */
static bool read_until_equal(const struct tti_ring *ring, uint64_t *slots)
{
	const tti_word *shared = tti_ring_slots(ring);

	for (unsigned tries = 0; tries < 10000; tries++) {
		bool equal = true;

		for (uint64_t i = 0; i < ring->slots; i++) {
			uint64_t now = tti_slot_load(shared, i);

			equal = equal && tries > 0 && slots[i] == now;
			slots[i] = now;
		}
		if (equal)
			return true;
		if (tries % 100 == 99)
			sched_yield();
	}
	return false;
}

static int queue_from_manifest(struct tti_ring *ring, struct tti_names *out,
			       struct tt_error *err)
{
	char path[TTI_RING_PATH_BYTES];
	int64_t count = 0;

	tti_ring_path(ring, TTI_MANIFEST_NAME, path, sizeof(path));
	out->at = calloc(ring->slots, sizeof(*out->at));
	if (!out->at)
		return tti_fail_sys(err, -ENOMEM, path, NULL);
	out->room = ring->slots;
	if (!read_until_equal(ring, out->at))
		return tti_fail(err, TT_E_DAMAGED, "%s: never stands still", path);
	count = tti_manifest_queue(out->at, ring->slots, path, err);
	if (count < 0)
		return (int)count;
	out->count = (size_t)count;
	return TT_OK;
}

static int compare_items(const void *a, const void *b)
{
	const struct tti_ring_item *left = a, *right = b;

	if (left->name != right->name)
		return left->name < right->name ? -1 : 1;
	return (int)right->merged - (int)left->merged; /* the merged file first */
}

/* 1, 0, or why it cannot be told. */
static int is_regular(const struct tti_ring *ring, const struct dirent *found)
{
	struct stat st;

	if (found->d_type != DT_UNKNOWN)
		return found->d_type == DT_REG;
	if (fstatat(ring->dirfd, found->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	return S_ISREG(st.st_mode);
}

static int add_item(struct tti_ring *ring, struct tti_items *items,
		    const struct dirent *found)
{
	uint64_t name;
	enum tti_ring_entry kind = tti_ring_parse_name(found->d_name, &name);
	int rc = kind == TTI_RING_OTHER ? 0 : is_regular(ring, found);

	if (rc <= 0)
		return rc;
	if (grow((void **)&items->at, &items->room, items->count, sizeof(*items->at)) < 0)
		return -ENOMEM;
	items->at[items->count++] =
		(struct tti_ring_item){ .name = name, .merged = kind == TTI_RING_MERGED };
	return TT_OK;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int scan(struct tti_ring *ring, struct tti_items *items, struct tt_error *err)
{
	int fd = openat(ring->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir TTI_CLEANUP(close_dir) = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *found;
	int rc = TT_OK;

	if (!dir) {
		rc = -errno;
		tti_close_fd(&fd);
		return tti_fail_sys(err, rc, ring->path, "list the directory");
	}
	do {
		errno = 0;
		found = readdir(dir);
		if (!found && errno != 0)
			rc = -errno;
		if (found)
			rc = add_item(ring, items, found);
	} while (found && rc == TT_OK);
	if (rc < 0)
		return tti_fail_sys(err, rc, ring->path, "list the directory");
	if (items->count > 1)
		qsort(items->at, items->count, sizeof(*items->at), compare_items);
	return TT_OK;
}

/* The files up to newest are the same in both. */
static bool is_same_list(const struct tti_items *a, const struct tti_items *b,
			 uint64_t newest)
{
	size_t i = 0;

	for (; i < a->count && i < b->count && a->at[i].name <= newest; i++)
		if (a->at[i].name != b->at[i].name || a->at[i].merged != b->at[i].merged)
			return false;
	return (i == a->count || a->at[i].name > newest) &&
	       (i == b->count || b->at[i].name > newest);
}

#define STEADY_SCANS 100

/* A merge in the middle of a scan could hide both the merged file and those that it joined.  It
 * makes the one before it removes the others, so two scans in a row that found the same did
 * not meet one. */
static int scan_steady(struct tti_ring *ring, const struct tti_names *queue,
		       struct tti_items *items, struct tt_error *err)
{
	uint64_t newest = queue->count ? queue->at[queue->count - 1] : UINT64_MAX;
	int rc = scan(ring, items, err);

	for (unsigned i = 0; rc == TT_OK && i < STEADY_SCANS; i++) {
		tti_auto_items again = { 0 };

		rc = scan(ring, &again, err);
		if (rc == TT_OK && is_same_list(items, &again, newest))
			return TT_OK;
		if (rc == TT_OK) {
			const struct tti_items old = *items;

			*items = again;
			again = old; /* freed */
		}
	}
	return rc;
}

static bool holds_name(const struct tti_names *names, uint64_t name)
{
	for (size_t i = names->count; i > 0 && names->at[i - 1] >= name; i--)
		if (names->at[i - 1] == name)
			return true;
	return false;
}

struct tti_ring_item *tti_items_find(const struct tti_items *items, uint64_t name)
{
	size_t low = 0, high = items->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (items->at[mid].name < name)
			low = mid + 1;
		else
			high = mid;
	}
	return low < items->count && items->at[low].name == name ? &items->at[low] : NULL;
}

static bool has_merged(const struct tti_items *items, uint64_t name)
{
	const struct tti_ring_item *item = tti_items_find(items, name);

	return item && item->merged;
}

/* Joined files whose merger died before it removed them. */
static void shadow_joined(struct tti_ring *ring, struct tti_items *items)
{
	for (uint64_t i = 0; i < tti_ring_entry_count(ring); i++) {
		const struct tti_entry *entry = tti_ring_entry(ring, i);
		uint64_t name = tti_entry_name(entry), into = tti_entry_merged(entry);
		struct tti_ring_item *item;

		if (name == 0 || into == 0 || !has_merged(items, into))
			continue;
		item = tti_items_find(items, name);
		if (item && !item->merged)
			item->shadowed = true;
	}
}

static void judge_items(struct tti_ring *ring, struct tti_items *items,
			const struct tti_names *queue)
{
	uint64_t newest = queue->count ? queue->at[queue->count - 1] : UINT64_MAX;

	items->newest = queue->count ? newest : 0;
	for (size_t i = 0; i < items->count; i++) {
		struct tti_ring_item *item = &items->at[i];

		item->published = queue->count > 0 && item->name <= newest;
		item->sealed = item->name < newest;
		item->queued = !item->merged && holds_name(queue, item->name);
		item->shadowed = !item->merged && has_merged(items, item->name);
	}
	shadow_joined(ring, items);
}

bool tti_ring_has_files(struct tti_ring *ring)
{
	tti_auto_items items = { 0 };

	return scan(ring, &items, NULL) == TT_OK && items.count > 0;
}

/* The next file of a writer that lives, or that was killed: it has its name before its roll.
 * The file before takes rows, and it has neither an entry nor rows. */
static bool is_ahead(const struct tti_ring *ring, const struct tti_names *names)
{
	struct tti_live live = TTI_LIVE_EMPTY;
	uint64_t last, before;
	bool is;

	if (!ring->set.addr || names->count < 2)
		return false;
	last = names->at[names->count - 1];
	before = tti_ring_find_entry(ring, names->at[names->count - 2]);
	if (before == TTI_NO_ENTRY || tti_ring_find_entry(ring, last) != TTI_NO_ENTRY ||
	    tti_field_load(&tti_ring_entry(ring, before)->rows) != TTI_ROWS_UNKNOWN)
		return false;
	is = tti_ring_open_raw(ring, last, &live, NULL) == TT_OK && live.end == 0;
	tti_live_close(&live);
	return is;
}

/* What the directory tells, when no manifest does. */
static int queue_from_files(const struct tti_ring *ring, const struct tti_items *items,
			    struct tti_names *out, struct tt_error *err)
{
	out->at = calloc(items->count, sizeof(*out->at));
	if (!out->at)
		return tti_fail_sys(err, -ENOMEM, ring->path, NULL);
	for (size_t i = 0; i < items->count; i++)
		if (!items->at[i].merged)
			out->at[out->count++] = items->at[i].name;
	if (is_ahead(ring, out))
		out->count--;
	return TT_OK;
}

int tti_ring_queue(struct tti_ring *ring, struct tti_names *out, struct tt_error *err)
{
	tti_auto_items items = { 0 };
	int rc;

	*out = (struct tti_names){ 0 };
	if (ring->lock.addr) {
		rc = queue_from_manifest(ring, out, err);
		if (rc < 0 || out->count > 0)
			return rc;
		tti_names_free(out); /* it lost its names, or no file was named yet */
	}
	rc = scan(ring, &items, err);
	if (rc < 0 || items.count == 0)
		return rc;
	return queue_from_files(ring, &items, out, err);
}

int tti_ring_list(struct tti_ring *ring, struct tti_items *out, struct tt_error *err)
{
	tti_auto_names queue = { 0 };
	int rc;

	*out = (struct tti_items){ 0 };
	/* the queue first: what it names was made before, so the scan finds it */
	rc = tti_ring_queue(ring, &queue, err);
	if (rc == TT_OK)
		rc = scan_steady(ring, &queue, out, err);
	if (rc < 0) {
		tti_items_free(out);
		return rc;
	}
	judge_items(ring, out, &queue);
	return TT_OK;
}

int tti_ring_list_entered(struct tti_ring *ring, struct tti_items *out,
			  struct tt_error *err)
{
	int rc;

	tti_ring_refresh(ring); /* joined files are told by entries */
	rc = tti_ring_list(ring, out, err);
	tti_ring_refresh(ring);
	return rc;
}

int tti_ring_visible(struct tti_ring *ring, struct tti_items *out, struct tt_error *err)
{
	int rc = tti_ring_list(ring, out, err);
	size_t kept = 0;

	for (size_t i = 0; rc == TT_OK && i < out->count; i++)
		if (out->at[i].published && !out->at[i].shadowed)
			out->at[kept++] = out->at[i];
	if (rc == TT_OK)
		out->count = kept;
	return rc;
}
