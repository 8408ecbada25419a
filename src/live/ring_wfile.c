/* SPDX-License-Identifier: Apache-2.0 */
/* Making, naming and dropping the files of a ring's writer.  Invariant: a prepared file is
 * complete and has an entry that is claimed but says nothing yet, so that a writer that dies
 * leaves only what its successor removes. */
#include "live/ring_wfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/failpoint.h"

struct tti_wfile *tti_wfile_new(void)
{
	struct tti_wfile *file = tti_calloc_lines(sizeof(*file));

	if (!file)
		return NULL;
	file->live = (struct tti_live)TTI_LIVE_EMPTY;
	file->entry_idx = TTI_NO_ENTRY;
	return file;
}

void tti_wfile_free(struct tti_wfile *file)
{
	if (!file)
		return;
	tti_map_close(&file->entry_map);
	tti_live_close(&file->live);
	free(file);
}

int tti_wfile_take_entry(struct tti_wfile *file, const struct tti_ring *ring,
			 uint64_t idx, struct tt_error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t at = TTI_ENTRIES_OFF + idx * sizeof(struct tti_entry);
	struct tti_map map;
	int rc = tti_map_part(&map, ring->set_fd, at - at % page, page);

	if (rc < 0)
		return tti_fail_sys(err, rc, ring->path,
				    "map an entry of " TTI_SETTINGS_NAME);
	tti_map_close(&file->entry_map);
	file->entry_map = map;
	file->entry = (void *)((char *)map.addr + at % page);
	file->entry_idx = idx;
	return TT_OK;
}

/* Room for the longest path of a file of the ring. */
static size_t path_bytes(const struct tti_ring *ring)
{
	return strlen(ring->path) + 1 + TTI_RING_NAME_BYTES;
}

void tti_wfile_format_name(char out[TTI_RING_NAME_BYTES], uint64_t name)
{
	if (name == 0)
		memcpy(out, TTI_RING_NEXT_NAME, sizeof(TTI_RING_NEXT_NAME));
	else
		tti_ring_format_name(out, name, false);
}

void tti_wfile_set_name(struct tti_wfile *file, const struct tti_ring *ring,
			uint64_t name)
{
	char file_name[TTI_RING_NAME_BYTES];

	tti_wfile_format_name(file_name, name);
	snprintf(file->live.path, path_bytes(ring), "%s/%s", ring->path, file_name);
	file->name = name;
}

/* Room for the name that it will get. */
static char *make_path(const struct tti_ring *ring)
{
	size_t bytes = path_bytes(ring);
	char *path = malloc(bytes);

	if (path)
		snprintf(path, bytes, "%s/%s", ring->path, TTI_RING_NEXT_NAME);
	return path;
}

static int make_next(const struct tti_ring *ring, const struct tti_wfile_make *make,
		     const char *path, struct tt_error *err)
{
	const struct tti_live_make args = {
		.dtype = make->rows->dtype,
		.row_rank = make->rows->rank ? make->rows->rank - 1 : 0,
		.row_shape = make->rows->shape + 1,
		.capacity = make->capacity,
		.exact = ring->settings.flags & TTI_SETTINGS_EXACT,
		.tail_words = ring->settings.tail_words ? ring->settings.tail_words : 5,
	};
	tti_auto_fd fd = -1;

	TTI_FAILPOINT("ring.roll.begin");
	fd = tti_live_make(ring->dirfd, TTI_RING_NEXT_NAME, &args, path, err);
	if (fd < 0)
		return fd;
	TTI_FAILPOINT("ring.roll.made");
	if (make->sync && fsync(fd) < 0) {
		int rc = tti_fail_sys(err, -errno, path, "fsync");

		unlinkat(ring->dirfd, TTI_RING_NEXT_NAME, 0);
		return rc;
	}
	return tti_steal_fd(&fd);
}

static int open_next(struct tti_wfile *file, int *fd, char **path, struct tt_error *err)
{
	const struct tti_live_open args = {
		.path = *path, .writable = true, .take_fd = true, .fd = *fd
	};
	int rc = tti_live_open(&file->live, &args, err);

	if (rc < 0)
		return rc;
	*fd = -1; /* the live file's now */
	free(file->live.path);
	file->live.path = tti_steal_ptr(path);
	return TT_OK;
}

int tti_wfile_prepare(struct tti_wfile **out, struct tti_ring *ring,
		      const struct tti_wfile_make *make, struct tt_error *err)
{
	struct tti_wfile *file = tti_wfile_new();
	tti_auto_free char *path = make_path(ring);
	uint64_t idx = TTI_NO_ENTRY;
	tti_auto_fd fd = -1;
	int rc = TT_OK;

	*out = NULL;
	if (!file || !path) {
		tti_wfile_free(file);
		return tti_fail_sys(err, -ENOMEM, ring->path, NULL);
	}
	fd = make_next(ring, make, path, err);
	if (fd < 0) {
		tti_wfile_free(file);
		return fd;
	}
	rc = open_next(file, &fd, &path, err);
	if (rc == TT_OK)
		rc = tti_ring_claim_entry(ring, &idx, err);
	TTI_FAILPOINT("ring.prepare.claimed");
	if (rc == TT_OK)
		rc = tti_wfile_take_entry(file, ring, idx, err);
	if (rc < 0)
		goto undo;
	/* the roll's first store would fault: the mapping is new */
	tti_field_store(&file->entry->first_row_ns, INT64_MIN);
	*out = file;
	return TT_OK;

undo:
	if (idx != TTI_NO_ENTRY)
		tti_entry_release(tti_ring_entry(ring, idx));
	unlinkat(ring->dirfd, TTI_RING_NEXT_NAME, 0);
	tti_wfile_free(file);
	return rc;
}

void tti_wfile_discard(struct tti_wfile *file, const struct tti_ring *ring)
{
	char file_name[TTI_RING_NAME_BYTES];

	if (!file)
		return;
	tti_wfile_format_name(file_name, file->name);
	unlinkat(ring->dirfd, file_name, 0);
	TTI_FAILPOINT("ring.discard.unlinked");
	tti_entry_release(file->entry);
	tti_wfile_free(file);
}
