/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the marks of a ring (its settings file), or of a single file (FILE.mark), look as if
 * they came from another boot.  What is closed cleanly stays so. */
#ifndef AGE_MARK_H
#define AGE_MARK_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/boot.h"
#include "base/fs.h"
#include "base/crc32c.h"
#include "format/settings.h"
#include "live/file_mark.h"

/* The valid ones of the two marks at offset `at`: how many, -1 on an error. */
static inline int age_marks_at(int fd, uint64_t at)
{
	int aged = 0;

	for (unsigned i = 0; i < TTI_MARK_SLOTS; i++) {
		uint64_t slot = at + i * TTI_SETTINGS_STRIDE;
		uint8_t marks[TTI_SETTINGS_STRIDE + sizeof(struct tti_mark)] = { 0 };
		struct tti_mark mark;

		if (tti_pread_all(fd, marks, sizeof(mark), slot) < 0)
			return -1;
		if (tti_mark_pick(marks, &mark) != 1 || tti_boot_is_zero(mark.boot_id))
			continue;
		memset(mark.boot_id, 0x5a, sizeof(mark.boot_id));
		tti_mark_seal(&mark);
		if (tti_pwrite_all(fd, &mark, sizeof(mark), slot) < 0)
			return -1;
		aged++;
	}
	return aged;
}

/* The ring looks as if no more than end rows of file had been synced, as after a crash before
 * the sync of a file that was just left. */
static inline int age_ring_to(const char *dir, uint64_t file, uint64_t end)
{
	uint8_t marks[TTI_MARK_SLOTS * TTI_SETTINGS_STRIDE] = { 0 };
	struct tti_mark mark;
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(dirfd, TTI_SETTINGS_NAME, O_RDWR | O_CLOEXEC), rc = -1;

	if (fd >= 0 && tti_pread_all(fd, marks, sizeof(marks), TTI_MARKS_OFF) == 0 &&
	    tti_mark_pick(marks, &mark) == 1) {
		mark.file = file;
		mark.from = mark.end = end;
		mark.rows_crc = 0;
		mark.sequence++;
		memset(mark.boot_id, 0x5a, sizeof(mark.boot_id));
		tti_mark_seal(&mark);
		rc = tti_pwrite_all(fd, &mark, sizeof(mark),
				    TTI_MARKS_OFF + mark.sequence % TTI_MARK_SLOTS *
							    TTI_SETTINGS_STRIDE);
	}
	close(fd);
	close(dirfd);
	return rc == 0 ? 1 : -1;
}

static inline int age_ring(const char *dir)
{
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(dirfd, TTI_SETTINGS_NAME, O_RDWR | O_CLOEXEC);
	int aged = fd < 0 ? -1 : age_marks_at(fd, TTI_MARKS_OFF);

	close(fd);
	close(dirfd);
	return aged;
}

/* The marks in FILE.mark. */
static inline int age_file(const char *path)
{
	char name[4096];
	int fd, aged = 0;

	snprintf(name, sizeof(name), "%s.mark", path);
	fd = open(name, O_RDWR | O_CLOEXEC);
	for (uint64_t i = 0; fd >= 0 && i < TTI_MARK_SLOTS; i++) {
		struct tti_file_mark slot;
		uint64_t at = i * TTI_SETTINGS_STRIDE;

		if (tti_pread_all(fd, &slot, sizeof(slot), at) < 0 ||
		    slot.magic != TTI_FILE_MARK_MAGIC ||
		    tti_boot_is_zero(slot.mark.boot_id))
			continue;
		memset(slot.mark.boot_id, 0x5a, sizeof(slot.mark.boot_id));
		tti_mark_seal(&slot.mark);
		slot.crc = 0;
		slot.crc = tti_crc32c(0, &slot, sizeof(slot));
		if (tti_pwrite_all(fd, &slot, sizeof(slot), at) == 0)
			aged++;
	}
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : aged;
}

#endif
