/* SPDX-License-Identifier: Apache-2.0 */
/* Position files: one line, "FILE ROW NUMBER ID" of a ring, "- ROW INODE BORN ROWS DIGEST" of a
 * single file; what follows ROW may be missing.  Replaced by rename, so that a reader of it and
 * the next run see a whole one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <ticktail/ring.h>

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

/* The next word of a line; false at its end. */
static bool next_word(const char **at, const char **word, size_t *len)
{
	while (**at == ' ')
		++*at;
	*word = *at;
	*len = strcspn(*at, " \n");
	*at += *len;
	return *len > 0;
}

static bool parse_hex(const char *text, size_t len, uint8_t *out, size_t n)
{
	char pair[3] = "", *end;

	if (len != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		memcpy(pair, text + 2 * i, 2);
		out[i] = (uint8_t)strtoul(pair, &end, 16);
		if (end != pair + 2 || pair[0] == '+' || pair[0] == '-')
			return false;
	}
	return true;
}

/* What follows FILE ROW: of a ring NUMBER ID, each may be -. */
static bool parse_ring(const char *at, struct cli_position *out)
{
	const char *word;
	size_t len;

	out->number = TT_NUMBER_UNKNOWN;
	if (!next_word(&at, &word, &len))
		return true;
	if (!(len == 1 && *word == '-') && !parse_number(word, len, &out->number))
		return false;
	if (!next_word(&at, &word, &len) || (len == 1 && *word == '-'))
		return true;
	out->has_id = parse_hex(word, len, out->id, sizeof(out->id));
	return out->has_id;
}

/* Of a single file INODE BORN ROWS DIGEST. */
static bool parse_file(const char *at, struct cli_position *out)
{
	uint64_t born = 0;
	uint64_t *const fields[] = { &out->inode, &born, &out->seen_rows, &out->digest };
	const char *word;
	size_t len, got = 0;

	while (got < 4 && next_word(&at, &word, &len))
		if (!parse_number(word, len, fields[got++]))
			return false;
	out->born_ns = (int64_t)born;
	return got == 0 || got == 4;
}

static bool parse_position(const char *text, struct cli_position *out)
{
	const char *at = text, *word;
	size_t len;

	*out = (struct cli_position){ .number = TT_NUMBER_UNKNOWN };
	if (!next_word(&at, &word, &len))
		return false;
	out->in_ring = !(len == 1 && *word == '-');
	if (out->in_ring && !parse_number(word, len, &out->file))
		return false;
	if (!next_word(&at, &word, &len) || !parse_number(word, len, &out->row))
		return false;
	return out->in_ring ? parse_ring(at, out) : parse_file(at, out);
}

/* A FIFO would be waited for without end. */
static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 ||
	    (fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

int cli_position_load(const struct cli_ctx *ctx, const char *path,
		      struct cli_position *out)
{
	char text[256];
	int fd = open_regular(path);
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return 0;
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd < 0 && errno == EINVAL)
		cli_fail(ctx, "%s: is neither a regular file nor one to be made", path);
	else if (n < 0 && errno == EISDIR)
		cli_fail(ctx, "%s: is a directory: name a file in it", path);
	else if (n < 0)
		cli_fail_code(ctx, path, -errno);
	if (n < 0) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	close(fd);
	text[n] = '\0';
	if (strlen(text) == (size_t)n && parse_position(text, out))
		return 1;
	cli_fail(ctx, "%s: is no position file (one line: FILE ROW ...)", path);
	return -1;
}

/* An exit status; path is what messages name. */
static int write_file(const struct cli_ctx *ctx, const char *path, const char *tmp,
		      const char *text, size_t len)
{
	int fd = open(tmp,
		      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		      0666);
	int rc = 0, status = 0;

	if (fd < 0)
		return cli_fail_output(ctx, path, -errno);
	/* a line of so few bytes is written whole or not at all */
	if (write(fd, text, len) != (ssize_t)len || fdatasync(fd) < 0)
		rc = errno ? -errno : -EIO;
	if (rc < 0)
		status = cli_fail_space(ctx, rc, path, fd, len);
	if (close(fd) < 0 && rc == 0)
		status = cli_fail_code(ctx, path, -errno);
	return status;
}

/* What older releases wrote ends behind ROW; they read no more than that. */
static int format_position(char *text, size_t size, const struct cli_position *position)
{
	int len;

	if (position->in_ring)
		len = snprintf(text, size, "%llu %llu",
			       (unsigned long long)position->file,
			       (unsigned long long)position->row);
	else
		len = snprintf(text, size, "- %llu", (unsigned long long)position->row);
	if (position->in_ring && position->number != TT_NUMBER_UNKNOWN)
		len += snprintf(text + len, size - (size_t)len, " %llu",
				(unsigned long long)position->number);
	else if (position->in_ring && position->has_id)
		len += snprintf(text + len, size - (size_t)len, " -");
	if (position->in_ring && position->has_id) {
		len += snprintf(text + len, size - (size_t)len, " ");
		for (size_t i = 0; i < sizeof(position->id); i++)
			len += snprintf(text + len, size - (size_t)len, "%02x",
					position->id[i]);
	}
	if (!position->in_ring && position->inode != 0)
		len += snprintf(text + len, size - (size_t)len, " %llu %llu %llu %llu",
				(unsigned long long)position->inode,
				(unsigned long long)position->born_ns,
				(unsigned long long)position->seen_rows,
				(unsigned long long)position->digest);
	text[len] = '\n';
	return len + 1;
}

int cli_position_save(const struct cli_ctx *ctx, const char *path,
		      const struct cli_position *position)
{
	char text[256], *tmp;
	int len = format_position(text, sizeof(text), position), status;

	if (asprintf(&tmp, "%s.tmp", path) < 0)
		return cli_fail_memory(ctx);
	status = write_file(ctx, path, tmp, text, (size_t)len);
	if (status == 0 && rename(tmp, path) < 0)
		status = cli_fail_code(ctx, path, -errno);
	if (status)
		unlink(tmp);
	free(tmp);
	return status;
}
