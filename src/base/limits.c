/* SPDX-License-Identifier: Apache-2.0 */
/* Words for what the system refused: which limit, where it stands, how it is raised.
 * Invariant: called on the way to an error only; opens at most one file, and goes without
 * what it cannot learn. */
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fs.h"

static bool limit_of(int resource, uint64_t *out)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return false;
	*out = limit.rlim_cur;
	return true;
}

/* The first number in a file of /proc, 0 for none. */
static uint64_t number_in(const char *path)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	tti_close_fd(&fd);
	return strtoull(text, NULL, 10);
}

/* Mappings of this process: the lines of a file. */
static uint64_t count_maps(void)
{
	char text[4096];
	uint64_t lines = 0;
	ssize_t got;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && (got = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < got; i++)
			lines += text[i] == '\n';
	tti_close_fd(&fd);
	return lines;
}

/* Whether no more mappings are allowed; *count_out: how many there are, *most_out: allowed. */
static bool has_all_maps(uint64_t *count_out, uint64_t *most_out)
{
	*count_out = count_maps();
	*most_out = number_in("/proc/sys/vm/max_map_count");
	/* freeing some on the way here may have left room for one or two */
	return *most_out > 0 && *count_out + 4 >= *most_out;
}

int tti_fail_map(struct tt_error *err, int code, const char *path, uint64_t bytes)
{
	uint64_t maps, most, space;

	if (!err || code != -ENOMEM)
		return tti_fail_sys(err, code, path, "mmap");
	if (has_all_maps(&maps, &most))
		return tti_fail(err, code,
				"%s: mmap: this process has %" PRIu64
				" mappings, as many as vm.max_map_count allows: raise "
				"that with sysctl, or open fewer files",
				path, maps);
	if (limit_of(RLIMIT_AS, &space))
		return tti_fail(err, code,
				"%s: mmap of %" PRIu64
				" bytes: the address space of this process is limited to "
				"%" PRIu64 " (ulimit -v, in KiB): raise that",
				path, bytes, space);
	return tti_fail(err, code,
			"%s: mmap of %" PRIu64 " bytes: %s (%" PRIu64 " of %" PRIu64
			" mappings in use, vm.max_map_count)",
			path, bytes, tt_strerror(code), maps, most);
}

/* ---- Files ---- */

int tti_check_file_size(uint64_t offset, uint64_t n)
{
	uint64_t most;

	if (offset > INT64_MAX || n > INT64_MAX - offset)
		return -EFBIG;
	return limit_of(RLIMIT_FSIZE, &most) && offset + n > most ? -EFBIG : TT_OK;
}

static void say_space(char *words, size_t size, uint64_t bytes)
{
	snprintf(words, size,
		 "the address space of this process is limited to %" PRIu64
		 " bytes: raise that (ulimit -v, in KiB)",
		 bytes);
}

/* What needs no look at a limit. */
static const char *remedy_of(int code)
{
	static const struct {
		int code;
		const char *words;
	} remedies[] = {
		{ -ENFILE, "this host has as many files open as fs.file-max allows: "
			   "raise that with sysctl" },
		{ -EDQUOT, "the quota of the file's owner is used up: remove files or "
			   "raise it" },
		{ -ENOSPC, "free some: ticktail prune works on a full disk" },
		{ -EROFS, "mount it for writing" },
		{ -EACCES, "this user may not, by the mode of the file or a directory: "
			   "change that, or run as its owner" },
		{ -EIO, "the disk failed: the kernel's log says how" },
	};

	for (size_t i = 0; i < TTI_LEN(remedies); i++)
		if (remedies[i].code == code)
			return remedies[i].words;
	return "";
}

void tti_limit_words(int code, char *words, size_t size)
{
	uint64_t n, most;

	words[0] = '\0';
	switch (code) {
	case -EMFILE:
		if (limit_of(RLIMIT_NOFILE, &n))
			snprintf(words, size,
				 "this process may have %" PRIu64
				 " files open: raise that (ulimit -n)",
				 n);
		break;
	case -ENOMEM: /* malloc maps, too */
		if (has_all_maps(&n, &most))
			snprintf(words, size,
				 "this process has %" PRIu64
				 " mappings, as many as vm.max_map_count allows: raise "
				 "that with sysctl, or open fewer files",
				 n);
		else if (limit_of(RLIMIT_AS, &n))
			say_space(words, size, n);
		break;
	case -EAGAIN: /* of a thread that cannot be started */
		if (limit_of(RLIMIT_AS, &n))
			say_space(words, size, n);
		else if (limit_of(RLIMIT_NPROC, &n))
			snprintf(words, size,
				 "this user may have %" PRIu64
				 " processes and threads: raise that (ulimit -u)",
				 n);
		break;
	case -EFBIG:
		if (limit_of(RLIMIT_FSIZE, &n))
			snprintf(words, size,
				 "files of this process are limited to %" PRIu64
				 " bytes: raise that (ulimit -f)",
				 n);
		break;
	default: snprintf(words, size, "%s", remedy_of(code));
	}
}

/* Parents of the path of fd that lie in the same file system. */
void tti_mount_point(int fd, char *out, size_t size)
{
	char link[64], path[PATH_MAX];
	struct stat st, up;
	ssize_t len;

	out[0] = '\0';
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0 || path[0] != '/' || fstat(fd, &st) < 0)
		return;
	path[len] = '\0';
	if (S_ISDIR(st.st_mode))
		snprintf(out, size, "%s", path);
	for (;;) {
		char *slash = strrchr(path, '/');

		slash[slash == path] = '\0'; /* "/" stays */
		if (stat(path, &up) < 0 || up.st_dev != st.st_dev)
			return;
		snprintf(out, size, "%s", path);
		if (path[1] == '\0')
			return;
	}
}
