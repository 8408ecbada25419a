/* SPDX-License-Identifier: Apache-2.0 */
/* Headers, one a line, for comparison with NumPy.
 *   write WIDE EXTENTS DESCR   (EXTENTS "3,4" or "-"; DESCR in hexadecimal UTF-8)
 *     -> the header in hexadecimal
 *   parse HEADER               (hexadecimal)
 *     -> "ok" FORTRAN DATA_OFF EXTENTS DESCR, or "error" and its text */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/npy.h"

static size_t unhex(char *text)
{
	size_t n = 0;

	for (char *at = text; at[0] && at[1]; at += 2) {
		char pair[3] = { at[0], at[1], 0 };

		text[n++] = (char)strtoul(pair, NULL, 16);
	}
	return n;
}

static void print_hex(const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", ((const unsigned char *)bytes)[i]);
	putchar('\n');
}

static void write_header(char *line)
{
	bool wide = line[0] == '1';
	char *extents = line + 2, *descr = strchr(extents, ' ') + 1;
	uint64_t shape[TT_MAX_RANK];
	struct tt_dtype *dtype;
	struct tt_error err;
	uint32_t rank = 0;
	void *header;
	size_t len;

	for (char *at = extents; *at >= '0' && *at <= '9'; at += *at == ',')
		shape[rank++] = strtoull(at, &at, 10);
	if (tt_dtype_parse(&dtype, descr, unhex(descr), false, &err) < 0) {
		printf("error %s\n", err.text);
		return;
	}
	if (tti_npy_format(&header, &len,
			   &(struct tti_npy_form){ dtype, rank, shape, wide },
			   &err) < 0) {
		printf("error %s\n", err.text);
	} else {
		print_hex(header, len);
		free(header);
	}
	tt_dtype_unref(dtype);
}

static void parse_header(char *hex)
{
	struct tt_error err;
	struct tti_npy npy;

	if (tti_npy_parse(&npy, hex, unhex(hex), "x", &err) < 0) {
		for (char *c = err.text; *c; c++)
			*c = *c < ' ' ? '?' : *c;
		printf("error %s\n", err.text);
		return;
	}
	printf("ok %d %" PRIu64 " ", npy.fortran_order, npy.data_off);
	for (uint32_t i = 0; i < npy.rank; i++)
		printf("%" PRIu64 ",", npy.shape[i]);
	printf("- %s\n", tt_dtype_descr(npy.dtype));
	tti_npy_fini(&npy);
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) > 0) {
		line[n - 1] = '\0';
		if (strncmp(line, "write ", 6) == 0)
			write_header(line + 6);
		else
			parse_header(line + 6);
	}
	free(line);
	return 0;
}
