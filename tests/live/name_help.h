/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of files that have their name before the roll share. */
#ifndef NAME_HELP_H
#define NAME_HELP_H

#include <dirent.h>

#include "helper_help.h"

#define ROWS 16 /* a file */

/* A writer whose newest file is full but for `left` rows, and whose next one has its name; the
 * helper stands still, so that it keeps it. */
static inline struct tt_ring_writer *name_ahead(const char *dir, uint64_t left)
{
	struct tt_ring_writer *writer = open_with(dir, TT_SYNC_NONE, 250);

	put_rows(writer, 0, ROWS - left);
	UNTIL(has_name(writer));
	tti_helper_pause(true);
	ck_assert(has_name(writer));
	return writer;
}

static inline void go_on(struct tt_ring_writer *writer)
{
	tti_helper_pause(false);
	ck_assert_int_eq(tt_ring_writer_close(writer), TT_OK);
}

static inline void file_path(char path[64], uint64_t name)
{
	snprintf(path, 64, "r/%" PRIu64 ".npy", name);
}

static inline uint64_t files_in(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *found;
	uint64_t count = 0, name;

	ck_assert_ptr_nonnull(dir);
	while ((found = readdir(dir)))
		count += tti_ring_parse_name(found->d_name, &name) == TTI_RING_FILE;
	closedir(dir);
	return count;
}

static inline uint64_t files_there(void)
{
	return files_in("r");
}

/* That the ring has by its own account. */
static inline uint64_t files_told(const char *dir)
{
	struct tt_ring_info info = ring_info(dir);
	uint64_t count = info.file_count;

	tt_ring_info_free(&info);
	return count;
}

static inline void say_damage(void *ctx, const struct tt_damage *damage)
{
	(void)ctx;
	printf("# %s: %s\n", damage->path, damage->what);
}

static inline void check_verified(const char *dir)
{
	uint64_t found = 1;

	OK(tt_ring_verify(dir, say_damage, NULL, &found, &err));
	ck_assert_uint_eq(found, 0);
}

#endif
