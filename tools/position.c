/* SPDX-License-Identifier: Apache-2.0 */
/* Position files: one line "FILE ROW", FILE being - for a single file.  Replaced by rename, so
 * that a reader of it and the next run see a whole one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tail.h"

static bool parse_number(const char *text, size_t len, uint64_t *out)
{
	*out = 0;
	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] < '0' || text[i] > '9' ||
		    __builtin_mul_overflow(*out, 10u, out) ||
		    __builtin_add_overflow(*out, (uint64_t)(text[i] - '0'), out))
			return false;
	return true;
}

static bool parse_position(const char *text, size_t len, struct cli_position *out)
{
	const char *space = memchr(text, ' ', len);
	size_t file_len;

	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (!space)
		return false;
	file_len = (size_t)(space - text);
	out->in_ring = !(file_len == 1 && text[0] == '-');
	out->file = 0;
	return (!out->in_ring || parse_number(text, file_len, &out->file)) &&
	       parse_number(space + 1, len - file_len - 1, &out->row);
}

int cli_position_load(const struct cli_ctx *ctx, const char *path,
		      struct cli_position *out)
{
	char text[128];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return 0;
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (n < 0) {
		cli_fail_code(ctx, path, -errno);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	close(fd);
	if (parse_position(text, (size_t)n, out))
		return 1;
	cli_fail(ctx, "%s: is no position file (one line: FILE ROW)", path);
	return -1;
}

static int write_file(const char *tmp, const char *text, size_t len)
{
	int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int rc = 0;

	if (fd < 0)
		return -errno;
	/* a line of so few bytes is written whole or not at all */
	if (write(fd, text, len) != (ssize_t)len || fdatasync(fd) < 0)
		rc = errno ? -errno : -EIO;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

int cli_position_save(const struct cli_ctx *ctx, const char *path,
		      const struct cli_position *position)
{
	char text[64], *tmp;
	int len, rc;

	if (position->in_ring)
		len = snprintf(text, sizeof(text), "%llu %llu\n",
			       (unsigned long long)position->file,
			       (unsigned long long)position->row);
	else
		len = snprintf(text, sizeof(text), "- %llu\n",
			       (unsigned long long)position->row);
	if (asprintf(&tmp, "%s.tmp", path) < 0)
		return cli_fail_memory(ctx);
	rc = write_file(tmp, text, (size_t)len);
	if (rc == 0 && rename(tmp, path) < 0)
		rc = -errno;
	if (rc < 0)
		unlink(tmp);
	free(tmp);
	return rc < 0 ? cli_fail_code(ctx, path, rc) : 0;
}
