/* SPDX-License-Identifier: Apache-2.0 */
/* Reads element types, one a line ("align " before one asks for C layout, "descr " for a
 * header's rules), and prints for each: its descr, sizes and leaves, or "error: ...". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/dtype.h"

static void print_name(const char *name)
{
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		printf(*p > 0x20 && *p < 0x7f && *p != '\\' ? "%c" : "\\x%02x", *p);
}

static void print_leaf(const struct tt_leaf *leaf)
{
	printf("leaf\t");
	print_name(leaf->name);
	printf("\t%c%c%zu\t%zu\t", leaf->order, leaf->kind, leaf->size, leaf->offset);
	for (uint32_t i = 0; i < leaf->rank; i++)
		printf("[%" PRIu64 "]", leaf->shape[i]);
	printf("\t%" PRIu64 "\n", leaf->count);
}

static void print_type(const struct tt_dtype *dtype)
{
	printf("descr\t%s\n", tt_dtype_descr(dtype));
	printf("size\t%zu\t%d\t%d\n", tt_dtype_size(dtype), tt_dtype_is_aligned(dtype),
	       tt_dtype_has_padding(dtype));
	for (size_t i = 0; i < tt_dtype_leaf_count(dtype); i++)
		print_leaf(tt_dtype_leaf(dtype, i));
}

/* The printed text must give the same type again. */
static void print_again(const struct tt_dtype *dtype)
{
	const char *descr = tt_dtype_descr(dtype);
	struct tt_dtype *again;
	struct tt_error err;

	if (tt_dtype_parse(&again, descr, strlen(descr), false, &err) < 0) {
		printf("again\t%s\n", err.text);
		return;
	}
	if (!tt_dtype_equal(again, dtype) || strcmp(tt_dtype_descr(again), descr) != 0)
		printf("again\t%s\n", tt_dtype_descr(again));
	tt_dtype_unref(again);
}

static void echo(const char *text, size_t len)
{
	bool align = strncmp(text, "align ", 6) == 0,
	     descr = strncmp(text, "descr ", 6) == 0;
	struct tt_dtype *dtype;
	struct tt_error err;
	int rc;

	if (align || descr) {
		text += 6;
		len -= 6;
	}
	rc = descr ? tti_dtype_parse_descr(&dtype, text, len, &err)
		   : tt_dtype_parse(&dtype, text, len, align, &err);
	if (rc < 0) {
		printf("error\t%d\t%s\n", rc, err.text);
	} else {
		print_type(dtype);
		print_again(dtype);
		tt_dtype_unref(dtype);
	}
	printf("end\n");
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	while ((len = getline(&line, &room, stdin)) > 0)
		echo(line, (size_t)len - (line[len - 1] == '\n'));
	free(line);
	return fflush(stdout) == 0 ? 0 : 1;
}
