/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of the archive.  Invariant: a name that passes the checks here can be
 * linked, staged upon and deleted by versioned_hdf5, and is one path inside a version. */
#include "archive/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/text.h"

#define MAX_NAME 4096	 /* a dataset path; HDF5 has no limit of its own */
#define MAX_VERSION 1023 /* what struct tt_archive_result can tell */

static void utc(struct tm *tm, int64_t ns, int64_t *micros)
{
	int64_t s = ns / 1000000000, rest = ns % 1000000000;
	time_t t;

	if (rest < 0) {
		rest += 1000000000;
		s--;
	}
	t = (time_t)s;
	gmtime_r(&t, tm);
	*micros = rest / 1000;
}

static void time_text(char out[TTI_TIMESTAMP_TEXT], int64_t ns, char sep,
		      const char *zone)
{
	int64_t micros;
	struct tm tm;

	utc(&tm, ns, &micros);
	snprintf(out, TTI_TIMESTAMP_TEXT, "%04d-%02d-%02d%c%02d:%02d:%02d.%06d%s",
		 (tm.tm_year + 1900) % 10000, (tm.tm_mon + 1) % 100, tm.tm_mday % 100,
		 sep, tm.tm_hour % 100, tm.tm_min % 100, tm.tm_sec % 100,
		 (int)micros % 1000000, zone);
}

void tti_timestamp_text(char out[TTI_TIMESTAMP_TEXT], int64_t ns)
{
	time_text(out, ns, ' ', "+0000");
}

void tti_version_text(char out[TTI_TIMESTAMP_TEXT], int64_t ns)
{
	time_text(out, ns, 'T', "Z");
}

char *tti_source_name(const char *real_path)
{
	const char *slash = strrchr(real_path, '/');
	const char *last = slash && slash[1] ? slash + 1 : real_path;
	size_t n = strlen(last);

	if (n > 4 && memcmp(last + n - 4, ".npy", 4) == 0)
		n -= 4;
	return strndup(last, n);
}

bool tti_template_has_time(const char *template)
{
	for (const char *p = strchr(template, '%'); p; p = strchr(p + 2, '%')) {
		if (p[1] == '\0')
			return false;
		if (p[1] != '%')
			return true;
	}
	return false;
}

struct text {
	char *bytes;
	size_t n;
};

static int text_add(struct text *text, const char *bytes, size_t n)
{
	char *grown = realloc(text->bytes, text->n + n + 1);

	if (!grown)
		return -ENOMEM;
	memcpy(grown + text->n, bytes, n);
	text->bytes = grown;
	text->n += n;
	grown[text->n] = '\0';
	return TT_OK;
}

/* strftime cannot tell an empty result from one that does not fit: the format gets a
 * character of its own in front, which is dropped again. */
static int text_add_time(struct text *text, const char *format, size_t n,
			 const struct tm *tm)
{
	char format_z[MAX_NAME + 2], out[2 * MAX_NAME];
	size_t got;

	if (n > MAX_NAME)
		return TT_E_RANGE;
	format_z[0] = 'x';
	memcpy(format_z + 1, format, n);
	format_z[n + 1] = '\0';
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	got = strftime(out, sizeof(out), format_z, tm);
#pragma GCC diagnostic pop
	return got == 0 ? TT_E_RANGE : text_add(text, out + 1, got - 1);
}

int tti_template_expand(char **out, const char *template, const char *name,
			int64_t day_ns, struct tt_error *err)
{
	static const char hole[] = "{name}";
	struct text text = { 0 };
	const char *p = template;
	int64_t micros;
	struct tm tm;
	int rc = TT_OK;

	utc(&tm, day_ns, &micros);
	while (rc == TT_OK && *p) {
		const char *next = strstr(p, hole);
		size_t n = next ? (size_t)(next - p) : strlen(p);

		rc = text_add_time(&text, p, n, &tm);
		if (rc == TT_OK && next)
			rc = text_add(&text, name, strlen(name));
		p += n + (next ? sizeof(hole) - 1 : 0);
	}
	if (rc == TT_OK)
		rc = tti_check_dataset_name(text.bytes ? text.bytes : "", err);
	else
		tti_fail(err, rc, "dataset '%.200s': %s", template,
			 rc == -ENOMEM ? "out of memory" : "the name is too long");
	if (rc < 0) {
		free(text.bytes);
		return rc;
	}
	*out = text.bytes;
	return TT_OK;
}

static bool is_word(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(p, word, n) == 0;
}

/* Why the component p[0..n) cannot be in a dataset name, or NULL. */
static const char *component_fault(const char *p, size_t n, bool first)
{
	if (n == 0)
		return "has an empty part";
	if (is_word(p, n, ".") || is_word(p, n, ".."))
		return "has a part that is '.' or '..'";
	if (first && (is_word(p, n, "versions") || is_word(p, n, "__tmp__")))
		return "begins with a name that the layout uses itself";
	if (is_word(p, n, "raw_data") || is_word(p, n, "hash_table") ||
	    (n >= 5 && memcmp(p, "_tmp_", 5) == 0))
		return "has a part that the layout uses itself (raw_data, hash_table, "
		       "_tmp_...)";
	return NULL;
}

static const char *dataset_fault(const char *name)
{
	const char *p = name;

	if (strlen(name) > MAX_NAME)
		return "is too long";
	if (!tti_utf8_valid(name, strlen(name)))
		return "is not UTF-8";
	for (;;) {
		size_t n = strcspn(p, "/");
		const char *fault = component_fault(p, n, p == name);

		if (fault)
			return fault;
		if (p[n] == '\0')
			return NULL;
		p += n + 1;
	}
}

int tti_check_dataset_name(const char *name, struct tt_error *err)
{
	const char *fault = dataset_fault(name);

	if (!fault)
		return TT_OK;
	return tti_fail(err, TT_E_RANGE,
			"dataset '%.300s': the name %s; give another with --dataset",
			name, fault);
}

static const char *version_fault(const char *name)
{
	if (*name == '\0')
		return "is empty";
	if (strlen(name) > MAX_VERSION)
		return "is longer than 1023 bytes";
	if (strchr(name, '/'))
		return "holds a '/'";
	if (strcmp(name, ".") == 0)
		return "is '.'";
	if (strstr(name, TTI_FIRST_VERSION))
		return "holds " TTI_FIRST_VERSION ", which the layout uses itself";
	return tti_utf8_valid(name, strlen(name)) ? NULL : "is not UTF-8";
}

int tti_check_version_name(const char *name, struct tt_error *err)
{
	const char *fault = version_fault(name);

	if (!fault)
		return TT_OK;
	return tti_fail(err, TT_E_RANGE,
			"version '%.300s': the name %s; give another with --version",
			name, fault);
}

static uint64_t power_of_two_above(uint64_t n)
{
	uint64_t p = 64;

	while (p < n)
		p *= 2;
	return p;
}

uint64_t tti_default_chunk_rows(uint64_t row_bytes, uint64_t rows_now)
{
	const uint64_t most = 1 << 20;
	uint64_t rows = most / row_bytes;

	if (row_bytes <= 256)
		rows -= rows % 4096;
	else if (rows == 0)
		rows = 1;
	if (rows_now < rows) {
		uint64_t small = power_of_two_above(rows_now);

		if (small < rows)
			rows = small;
	}
	return rows;
}
