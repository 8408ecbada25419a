/* SPDX-License-Identifier: Apache-2.0 */
/* Element types against h5py (h5type_h5py.t).
 *	make FILE   element types from stdin, one a line, each as a dataset of 3 rows of a
 *		    byte pattern; prints "ok" or "error TEXT" a line
 *	show FILE   the descr of each dataset d0, d1, ... of FILE as rows of it are given out */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/h5type.h"

#define ROWS 3

static int write_dataset(hid_t file, unsigned n, const struct tti_h5type *t)
{
	hsize_t dims[TT_MAX_RANK + 1] = { ROWS };
	size_t bytes = ROWS * t->size;
	tti_auto_hid space = -1, dataset = -1;
	unsigned char *rows;
	char name[32];
	int rc;

	for (uint32_t i = 0; i < t->rank; i++) {
		dims[i + 1] = t->shape[i];
		bytes *= t->shape[i];
	}
	rows = malloc(bytes);
	for (size_t i = 0; i < bytes; i++)
		rows[i] = (unsigned char)(i * 7 + n);
	snprintf(name, sizeof(name), "d%u", n);
	space = H5Screate_simple((int)t->rank + 1, dims, NULL);
	dataset = H5Dcreate2(file, name, t->type, space, H5P_DEFAULT, H5P_DEFAULT,
			     H5P_DEFAULT);
	rc = dataset < 0
		     ? -1
		     : H5Dwrite(dataset, t->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows);
	free(rows);
	return rc;
}

static void make_one(hid_t file, unsigned n, const char *line, size_t len)
{
	tti_auto_h5type type = TTI_H5TYPE_EMPTY;
	struct tt_dtype *dtype = NULL;
	struct tt_error err = { 0 };

	if (tt_dtype_parse(&dtype, line, len, false, &err) < 0)
		printf("error parse: %s\n", err.text);
	else if (tti_h5type_from_dtype(&type, dtype, &err) < 0)
		printf("error %d %s\n", err.code, err.text);
	else if (write_dataset(file, n, &type) < 0)
		printf("error HDF5 does not store it\n");
	else
		printf("ok\n");
	tt_dtype_unref(dtype);
}

static int make(const char *path)
{
	hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	for (unsigned n = 0; (len = getline(&line, &room, stdin)) > 0; n++)
		make_one(file, n, line, len - (line[len - 1] == '\n'));
	free(line);
	return H5Fclose(file) < 0;
}

static void show_one(hid_t dataset)
{
	tti_auto_hid type = H5Dget_type(dataset), space = H5Dget_space(dataset);
	struct tti_h5rows rows;
	struct tt_error err;
	hsize_t dims[H5S_MAX_RANK];
	uint64_t shape[H5S_MAX_RANK];
	int rank = H5Sget_simple_extent_dims(space, dims, NULL);

	for (int i = 0; i < rank; i++)
		shape[i] = dims[i];
	if (tti_h5type_rows(&rows,
			    &(struct tti_h5stored){ .type = type,
						    .rank = (uint32_t)rank,
						    .shape = shape,
						    .where = "dataset" },
			    &err) < 0) {
		printf("error %d %s\n", err.code, err.text);
		return;
	}
	printf("%s\t", rows.vlen_string ? "vlen" : tt_dtype_descr(rows.dtype));
	for (uint32_t i = 0; i < rows.added; i++)
		printf("%" PRIu64 ",", rows.shape[i]);
	putchar('\n');
	tti_h5rows_fini(&rows);
}

static int show(const char *path)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), dataset;
	char name[32];

	for (unsigned n = 0; file >= 0; n++) {
		snprintf(name, sizeof(name), "d%u", n);
		if (H5Lexists(file, name, H5P_DEFAULT) <= 0)
			break;
		dataset = H5Dopen2(file, name, H5P_DEFAULT);
		show_one(dataset);
		tti_h5_close(&dataset);
	}
	return file < 0 || H5Fclose(file) < 0;
}

int main(int argc, char **argv)
{
	TTI_H5_QUIET;

	if (argc == 3 && strcmp(argv[1], "make") == 0)
		return make(argv[2]);
	if (argc == 3 && strcmp(argv[1], "show") == 0)
		return show(argv[2]);
	return 2;
}
