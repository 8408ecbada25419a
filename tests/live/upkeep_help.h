/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of a ring's upkeep share: filling it, counting its files, verifying it. */
#ifndef UPKEEP_HELP_H
#define UPKEEP_HELP_H

#include "ring_help.h"

static inline void count_damage(void *ctx, const struct tt_damage *damage)
{
	snprintf(ctx, 512, "%s: %s", damage->path, damage->what);
}

static inline uint64_t verify(const char *dir, char *last)
{
	uint64_t found = UINT64_MAX;

	last[0] = '\0';
	OK(tt_ring_verify(dir, count_damage, last, &found, &err));
	return found;
}

static inline void check_whole(const char *dir)
{
	char last[512];

	ck_assert_msg(verify(dir, last) == 0, "%s", last);
}

static inline void fill_ring(const char *dir, int64_t first, uint64_t count)
{
	struct tt_ring_writer *writer = open_writer(dir);

	put_rows(writer, first, count);
	tt_ring_writer_close(writer);
}

static inline uint64_t count_files(const char *pattern)
{
	char command[128];
	FILE *out;
	unsigned count = 0;

	snprintf(command, sizeof(command), "ls %s 2>/dev/null | wc -l", pattern);
	out = popen(command, "r");
	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(fscanf(out, "%u", &count), 1);
	pclose(out);
	return count;
}

static inline uint64_t disk_bytes(const char *dir)
{
	struct tti_ring ring;
	uint64_t bytes;

	OK(tti_ring_open(&ring, dir, false, &err));
	OK(tti_ring_disk_bytes(&ring, &bytes, &err));
	tti_ring_close(&ring);
	return bytes;
}

/* For a child: rows from 3 on, or idle_only, until a byte comes by stop; one goes by ready
 * first. */
static inline int feed(const char *dir, int ready, int stop, bool idle_only)
{
	struct tt_ring_writer *writer = NULL;
	int64_t next = 3;
	char byte;

	if (tt_ring_writer_open(&writer, dir, NULL, &err) < 0 ||
	    write(ready, "x", 1) != 1)
		return 1;
	fcntl(stop, F_SETFL, O_NONBLOCK);
	while (read(stop, &byte, 1) != 1) {
		struct row row = { next, 0 };
		int rc = idle_only ? tt_ring_writer_idle(writer, &err)
				   : tt_ring_append(writer, &row, 1, NULL, &err);

		next += !idle_only;
		if (rc < 0)
			return 2;
		usleep(200);
	}
	tt_ring_writer_close(writer);
	return 0;
}

#endif
