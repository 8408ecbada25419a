/* SPDX-License-Identifier: Apache-2.0 */
/* Figures for people.  Invariant: what is not known reads "unknown", never 0. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "status.h"

/* A line names a handful of figures; each keeps its text until eight more were made. */
static char *next_buffer(size_t *size)
{
	static char buffers[8][64];
	static unsigned at;

	*size = sizeof(buffers[0]);
	return buffers[at++ % CLI_LEN(buffers)];
}

const char *cli_human_bytes(double bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	unsigned unit = 0;
	size_t size;
	char *text = next_buffer(&size);

	if (isnan(bytes))
		return "unknown";
	while (bytes >= 999.5 && unit + 1 < CLI_LEN(units)) {
		bytes /= 1000;
		unit++;
	}
	snprintf(text, size, unit && bytes < 9.95 ? "%.1f %s" : "%.0f %s", bytes,
		 units[unit]);
	return text;
}

const char *cli_human_count(uint64_t count)
{
	size_t size;
	char *text = next_buffer(&size);

	if (count == TT_UNKNOWN)
		return "unknown";
	snprintf(text, size, "%" PRIu64, count);
	return text;
}

const char *cli_human_ns(int64_t ns)
{
	size_t size;
	char *text = next_buffer(&size);
	double seconds = (double)ns / 1e9;

	if (ns == TT_UNKNOWN_NS)
		return "unknown";
	if (ns < 1000)
		snprintf(text, size, "%" PRId64 " ns", ns);
	else if (ns < 1000000)
		snprintf(text, size, "%.3g us", (double)ns / 1e3);
	else if (ns < 999500000)
		snprintf(text, size, "%.3g ms", (double)ns / 1e6);
	else if (seconds < 120)
		snprintf(text, size, "%.3g s", seconds);
	else if (seconds < 7200)
		snprintf(text, size, "%.0f min", seconds / 60);
	else if (seconds < 172800)
		snprintf(text, size, "%.1f h", seconds / 3600);
	else
		snprintf(text, size, "%.0f days", seconds / 86400);
	return text;
}

const char *cli_human_time(int64_t wall_ns)
{
	char full[TT_TIME_TEXT], *dot;
	size_t size;
	char *text = next_buffer(&size);

	if (wall_ns == TT_UNKNOWN_NS)
		return "unknown";
	tt_time_format(full, wall_ns, TT_UNIT_ns, 1);
	dot = strchr(full, '.'); /* milliseconds are enough for an eye */
	if (dot && strlen(dot) > 5)
		strcpy(dot + 4, "Z");
	snprintf(text, size, "%s", full);
	return text;
}
