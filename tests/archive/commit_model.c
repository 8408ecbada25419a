/* SPDX-License-Identifier: Apache-2.0 */
#include "commit_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/filters.h"

#define CHUNK 32768 /* elements of x: 128 KiB, whole pages */
#define SMALL 3001  /* elements of y: LZF, ragged */
#define A_COMMIT 3  /* chunks of each */
#define TABLE 5000

static hid_t make(hid_t file, const char *name, hsize_t chunk, bool lzf)
{
	hsize_t none[] = { 0 }, most[] = { H5S_UNLIMITED };
	unsigned values[] = { 4, 0x0105, (unsigned)chunk * 4 };
	tti_auto_hid space = H5Screate_simple(1, none, most);
	tti_auto_hid dcpl = H5Pcreate(H5P_DATASET_CREATE);

	H5Pset_chunk(dcpl, 1, &chunk);
	if (lzf)
		H5Pset_filter(dcpl, TTI_FILTER_LZF, H5Z_FLAG_OPTIONAL, 3, values);
	return H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl,
			  H5P_DEFAULT);
}

static void open_sets(hid_t file, bool is_new, hid_t *x, hid_t *y, hid_t *table)
{
	if (is_new) {
		*x = make(file, "x", CHUNK, false);
		*y = make(file, "y", SMALL, true);
		*table = make(file, "table", 512, true);
	} else {
		*x = H5Dopen2(file, "x", H5P_DEFAULT);
		*y = H5Dopen2(file, "y", H5P_DEFAULT);
		*table = H5Dopen2(file, "table", H5P_DEFAULT);
	}
}

static int32_t element(const char *what, uint64_t i)
{
	uint64_t mixed = (i + (unsigned char)*what) * UINT64_C(0x9e3779b97f4a7c15);

	return *what == 'x' ? (int32_t)(mixed >> 33) : (int32_t)(i / 100);
}

static int32_t table_element(int state, uint64_t i)
{
	return (int32_t)(i * 7919u * (unsigned)state + (unsigned)state);
}

static int set_current(hid_t file, int state)
{
	char text[32], *pointer = text;
	tti_auto_hid type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
	tti_auto_hid attribute = -1;

	snprintf(text, sizeof(text), "state %d", state);
	H5Tset_size(type, H5T_VARIABLE);
	if (H5Aexists(file, "current") > 0)
		attribute = H5Aopen(file, "current", H5P_DEFAULT);
	else
		attribute = H5Acreate2(file, "current", type, space, H5P_DEFAULT,
				       H5P_DEFAULT);
	return H5Awrite(attribute, type, &pointer) < 0 ? -1 : 0;
}

static int get_current(hid_t file, int *state_out)
{
	char *text = NULL;
	tti_auto_hid type = H5Tcopy(H5T_C_S1);
	tti_auto_hid attribute = H5Aopen(file, "current", H5P_DEFAULT);

	H5Tset_size(type, H5T_VARIABLE);
	if (attribute < 0 || H5Aread(attribute, type, &text) < 0 || !text ||
	    strncmp(text, "state ", 6) != 0)
		return -1;
	*state_out = atoi(text + 6);
	H5free_memory(text);
	return 0;
}

static void free_buffer(void *ctx, int rc)
{
	(void)rc;
	free(ctx);
}

static int put(struct tti_driver *driver, hid_t set, const char *what, hsize_t at,
	       struct tt_error *err)
{
	size_t n = *what == 'x' ? CHUNK : SMALL;
	int32_t *values = aligned_alloc(4096, (n * 4 + 4095) & ~(size_t)4095);
	struct tti_driver_chunk chunk = { .dataset = set,
					  .offset = &at,
					  .bytes = values,
					  .n = n * 4,
					  .done = free_buffer,
					  .ctx = values };
	int rc;

	for (size_t i = 0; i < n; i++)
		values[i] = element(what, at + i);
	if (*what == 'y') {
		void *packed = malloc(n * 4);

		chunk.n = tti_lzf_encode(values, n * 4, packed, n * 4);
		free(values);
		chunk.bytes = chunk.ctx = packed;
	}
	rc = tti_driver_put_chunk(driver, &chunk, NULL, err);
	if (rc < 0)
		free(chunk.ctx);
	return rc;
}

static int put_chunks(struct tti_driver *driver, hid_t set, const char *what, int state,
		      struct tt_error *err)
{
	hsize_t n = *what == 'x' ? CHUNK : SMALL, first = (hsize_t)state * A_COMMIT * n;
	hsize_t size[] = { first + A_COMMIT * n };
	int rc = TT_OK;

	if (H5Dset_extent(set, size) < 0)
		return tti_driver_fail(driver, err, TT_E_DAMAGED, "extent");
	for (hsize_t i = 0; i < A_COMMIT && rc == TT_OK; i++)
		rc = put(driver, set, what, first + i * n, err);
	return rc;
}

static int rewrite_table(hid_t table, int state)
{
	hsize_t size[] = { TABLE + (hsize_t)state };
	int32_t *values = malloc(size[0] * 4);
	int rc;

	for (hsize_t i = 0; i < size[0]; i++)
		values[i] = table_element(state, i);
	rc = H5Dset_extent(table, size) < 0 ||
	     H5Dwrite(table, H5T_STD_I32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0;
	free(values);
	return rc ? -1 : 0;
}

int model_open(struct tti_driver **out, const char *path, const struct model_opts *opts,
	       int *state_out, struct tt_error *err)
{
	struct tti_driver_opts driver_opts = { .apply_wait_ns = opts->wait_ns,
					       .io = opts->io };
	int rc = tti_lzf_register(err);

	if (rc == TT_OK)
		rc = tti_driver_open(out, path, opts->mode, &driver_opts, err);
	if (rc < 0)
		return rc;
	*state_out = 0;
	if (!tti_driver_is_new(*out) && get_current(tti_driver_file(*out), state_out) < 0)
		return tti_driver_fail(*out, err, TT_E_DAMAGED, "current");
	return TT_OK;
}

int model_write(struct tti_driver *driver, int state, struct tt_error *err)
{
	hid_t file = tti_driver_file(driver);
	tti_auto_hid x = -1, y = -1, table = -1, group = -1;
	char name[32];
	int rc;
	TTI_H5_QUIET;

	open_sets(file, tti_driver_is_new(driver), &x, &y, &table);
	snprintf(name, sizeof(name), "group%d", state + 1);
	group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	rc = put_chunks(driver, x, "x", state, err);
	if (rc == TT_OK)
		rc = put_chunks(driver, y, "y", state, err);
	if (rc < 0)
		return rc;
	if (group < 0 || rewrite_table(table, state + 1) < 0 ||
	    set_current(file, state + 1) < 0)
		return tti_driver_fail(driver, err, TT_E_DAMAGED, "metadata");
	return TT_OK;
}

int model_commit(const char *path, const struct model_opts *opts, struct tt_error *err)
{
	tti_auto_driver *driver = NULL;
	int state;
	int rc = model_open(&driver, path, opts, &state, err);

	if (rc == TT_OK)
		rc = model_write(driver, state, err);
	if (rc == TT_OK)
		rc = tti_driver_commit(driver, err);
	return rc < 0 ? rc : state + 1;
}

static hsize_t length(hid_t set)
{
	hsize_t dims[1] = { 0 };
	tti_auto_hid space = H5Dget_space(set);

	H5Sget_simple_extent_dims(space, dims, NULL);
	return dims[0];
}

/* A chunk through its address, as scans read it. */
static int read_place(struct tti_driver *driver, hid_t set, hsize_t at, int32_t *out)
{
	struct tti_chunk_place place;
	char stored[SMALL * 4];
	struct tt_error err;

	if (tti_driver_probe(driver, set, &at, &place, &err) < 0 ||
	    place.address == TTI_NO_ADDRESS || place.n > sizeof(stored) ||
	    tti_driver_pread(driver, place.address, stored, place.n, &err) < 0)
		return -1;
	return tti_lzf_decode(stored, place.n, out, SMALL * 4) == SMALL * 4 ? 0 : -1;
}

static int check_set(struct tti_driver *driver, hid_t set, const char *what, int state)
{
	hsize_t n = *what == 'x' ? CHUNK : SMALL, all = (hsize_t)state * A_COMMIT * n;
	int32_t *values = malloc(all * 4 + 4), piece[SMALL];
	int rc = -1;

	if (length(set) == all &&
	    H5Dread(set, H5T_STD_I32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0)
		rc = 0;
	for (hsize_t i = 0; i < all && rc == 0; i++)
		rc = values[i] == element(what, i) ? 0 : -1;
	for (hsize_t at = 0; at < all && rc == 0 && *what == 'y'; at += n)
		if (read_place(driver, set, at, piece) < 0 ||
		    memcmp(piece, values + at, sizeof(piece)) != 0)
			rc = -1;
	free(values);
	return rc;
}

static int check_table(hid_t table, int state)
{
	hsize_t all = TABLE + (hsize_t)state;
	int32_t *values = malloc(all * 4);
	int rc = -1;

	if (length(table) == all &&
	    H5Dread(table, H5T_STD_I32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0)
		rc = 0;
	for (hsize_t i = 0; i < all && rc == 0; i++)
		rc = values[i] == table_element(state, i) ? 0 : -1;
	free(values);
	return rc;
}

static const char *find_fault(struct tti_driver *driver, int state)
{
	hid_t file = tti_driver_file(driver);
	tti_auto_hid x = -1, y = -1, table = -1;
	char name[32];

	open_sets(file, false, &x, &y, &table);
	if (check_set(driver, x, "x", state) < 0)
		return "x";
	if (check_set(driver, y, "y", state) < 0)
		return "y";
	if (check_table(table, state) < 0)
		return "table";
	for (int i = 1; i <= state + 1; i++) {
		snprintf(name, sizeof(name), "group%d", i);
		if ((H5Lexists(file, name, H5P_DEFAULT) > 0) != (i <= state))
			return "groups";
	}
	return NULL;
}

int model_state(const char *path, char *notes_out, struct tt_error *err)
{
	struct model_opts opts = { .mode = TTI_DRIVER_READ, .wait_ns = 5000000000 };
	tti_auto_driver *driver = NULL;
	const char *fault;
	int state, rc;
	TTI_H5_QUIET;

	rc = model_open(&driver, path, &opts, &state, err);
	if (rc < 0)
		return rc;
	if (notes_out)
		snprintf(notes_out, 512, "%s", tti_driver_notes(driver));
	fault = find_fault(driver, state);
	if (fault) {
		tti_fail(err, -1, "state %d, but %s is not of it", state, fault);
		return -1;
	}
	return state;
}
