/* SPDX-License-Identifier: Apache-2.0 */
/* What was called, as text. */
#include "live/power/model_parts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char trace[1 << 20];
static size_t trace_len;
static bool tracing;
static char met[64][32]; /* names of a ring's files */

void model_trace_begin(void)
{
	tracing = true;
	trace_len = 0;
	trace[0] = '\0';
	memset(met, 0, sizeof(met));
}

const char *model_trace(void)
{
	return trace;
}

static bool find_root(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && model_find_ino(st.st_ino) == 0;
}

/* 1796005624040470109.npy.cut -> 1.npy.cut */
static void note_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t digits = strspn(name, "0123456789");
	int i = 0;

	if (name[0] == '#') /* O_TMPFILE */
		name = "nameless";
	else if (strncmp(name, ".ticktail-", 10) == 0) /* of an inode number or a pid */
		name = "copy";
	else if (find_root(path))
		name = ".";
	if (digits >= 10 && digits < sizeof(met[0])) {
		while (i < 63 && met[i][0] &&
		       (strncmp(met[i], name, digits) != 0 || met[i][digits]))
			i++;
		memcpy(met[i], name, digits);
		trace_len += (size_t)snprintf(trace + trace_len, 512, " %d", i + 1);
		name += digits;
	} else {
		trace_len += (size_t)snprintf(trace + trace_len, 512, " ");
	}
	trace_len += (size_t)snprintf(trace + trace_len, 512, "%.*s",
				      strstr(name, ".new-") /* a pid follows */
					      ? (int)(strstr(name, ".new-") - name) + 4
					      : 255,
				      name);
}

void model_note(const char *call, int fd, const char *path, const char *to)
{
	char link[64], file[PATH_MAX] = "";

	if (!tracing || trace_len + 2048 > sizeof(trace))
		return;
	if (fd >= 0) {
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, file, sizeof(file) - 1);
		file[n > 0 ? n : 0] = '\0';
		path = file;
	}
	trace_len += (size_t)snprintf(trace + trace_len, 512, "%s", call);
	if (path)
		note_name(path);
	if (to)
		note_name(to);
	trace_len += (size_t)snprintf(trace + trace_len, 2, "\n");
}
