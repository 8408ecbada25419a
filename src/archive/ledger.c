/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger in memory and in the file.  Invariant: stored rows are never changed, only
 * followed by others. */
#include "archive/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "archive/h5attr.h"
#include "archive/layout.h"
#include "base/compiler.h"

#define FORMAT 1
#define ATTR_FORMAT "format"
#define CHUNK_ROWS 256
#define MAX_TEXT ((size_t)64 << 10) /* no path or name in it is as long */

struct member {
	const char *name;
	size_t offset;
	enum { DIGEST, U64, I64, TEXT } kind;
};

#define MEMBER(field, kind) \
	{ \
#field, offsetof(struct tti_ledger_row, field), kind \
	}
static const struct member members[] = {
	MEMBER(source, DIGEST),	     MEMBER(file, TEXT),
	MEMBER(file_row, U64),	     MEMBER(rows, U64),
	MEMBER(block_rows, U64),     MEMBER(first_digest, DIGEST),
	MEMBER(last_digest, DIGEST), MEMBER(dataset, TEXT),
	MEMBER(first_row, U64),	     MEMBER(min_time, I64),
	MEMBER(max_time, I64),	     MEMBER(version, TEXT),
	MEMBER(timestamp, TEXT),
};

static hid_t member_type(int kind)
{
	hsize_t digest_bytes = 32;
	hid_t type;

	switch (kind) {
	case DIGEST: return H5Tarray_create2(H5T_STD_U8LE, 1, &digest_bytes);
	case U64: return H5Tcopy(H5T_STD_U64LE);
	case I64: return H5Tcopy(H5T_STD_I64LE);
	default:
		type = H5Tcopy(H5T_C_S1);
		if (type >= 0 && (H5Tset_size(type, H5T_VARIABLE) < 0 ||
				  H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
			H5Tclose(type);
			type = -1;
		}
		return type;
	}
}

/* The row as it lies in memory; packed it is what a new ledger stores. */
static hid_t row_type(void)
{
	tti_auto_hid type = H5Tcreate(H5T_COMPOUND, sizeof(struct tti_ledger_row));

	if (type < 0)
		return -1;
	for (size_t i = 0; i < TTI_LEN(members); i++) {
		tti_auto_hid one = member_type(members[i].kind);

		if (one < 0 ||
		    H5Tinsert(type, members[i].name, members[i].offset, one) < 0)
			return -1;
	}
	return tti_steal_hid(&type);
}

static void *text_alloc(size_t n, void *unused)
{
	(void)unused;
	return n > MAX_TEXT ? NULL
			    : malloc(n); /* any number of rows may share one text */
}

static void text_free(void *p, void *unused)
{
	(void)unused;
	free(p);
}

/* Strings that are read come from malloc(), whatever HDF5 uses itself. */
static hid_t malloc_transfer(void)
{
	hid_t dxpl = H5Pcreate(H5P_DATASET_XFER);

	if (dxpl >= 0 &&
	    H5Pset_vlen_mem_manager(dxpl, text_alloc, NULL, text_free, NULL) < 0) {
		H5Pclose(dxpl);
		return -1;
	}
	return dxpl;
}

static void row_fini(struct tti_ledger_row *row)
{
	free(row->file);
	free(row->dataset);
	free(row->version);
	free(row->timestamp);
}

void tti_ledger_fini(struct tti_ledger *ledger)
{
	for (size_t i = 0; i < ledger->count; i++)
		row_fini(&ledger->rows[i]);
	free(ledger->rows);
	free(ledger->by_file);
	*ledger = (struct tti_ledger){ 0 };
}

static int by_file_then_place(const void *a, const void *b, void *ledger_p)
{
	const struct tti_ledger *ledger = ledger_p;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int order = strcmp(ledger->rows[x].file, ledger->rows[y].file);

	return order ? order : (x > y) - (x < y);
}

static int build_index(struct tti_ledger *ledger)
{
	ledger->by_file = malloc((ledger->count + 1) * sizeof(*ledger->by_file));
	if (!ledger->by_file)
		return -ENOMEM;
	for (size_t i = 0; i < ledger->count; i++)
		ledger->by_file[i] = i;
	qsort_r(ledger->by_file, ledger->count, sizeof(*ledger->by_file),
		by_file_then_place, ledger);
	return TT_OK;
}

size_t tti_ledger_find(const struct tti_ledger *ledger, const char *file,
		       size_t *first_out)
{
	size_t low = 0, high = ledger->stored, end;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(ledger->rows[ledger->by_file[mid]].file, file) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (end = low; end < ledger->stored; end++)
		if (strcmp(ledger->rows[ledger->by_file[end]].file, file) != 0)
			break;
	*first_out = low;
	return end - low;
}

/* ---- Reading ---- */

static int damaged(const char *path, const char *what, struct tt_error *err)
{
	return tti_fail(err, TT_E_DAMAGED, "%s: ledger " TTI_LEDGER_DATASET ": %s", path,
			what);
}

static int read_format(hid_t file, const char *path, struct tt_error *err)
{
	tti_auto_hid group = H5Gopen2(file, TTI_LEDGER_GROUP, H5P_DEFAULT);
	int64_t format;
	size_t count;
	int rc;

	if (group < 0)
		return damaged(path, "its group cannot be opened", err);
	rc = tti_attr_ints(&format, 1, &count,
			   (struct tti_attr){ group, ATTR_FORMAT, path }, err);
	if (rc < 0)
		return rc;
	if (count == 0)
		return damaged(path, "the format number is missing", err);
	if (format != FORMAT)
		return tti_fail(err, TT_E_FORMAT,
				"%s: ledger of format %" PRId64 ", this program knows %d",
				path, format, FORMAT);
	return TT_OK;
}

/* Every member there, of its class: HDF5 would leave a missing one unset. */
static int check_type(hid_t dataset, const char *path, struct tt_error *err)
{
	static const H5T_class_t classes[] = { H5T_ARRAY, H5T_INTEGER, H5T_INTEGER,
					       H5T_STRING };
	tti_auto_hid type = H5Dget_type(dataset);

	if (type < 0 || H5Tget_class(type) != H5T_COMPOUND)
		return damaged(path, "not a table", err);
	for (size_t i = 0; i < TTI_LEN(members); i++) {
		int at = H5Tget_member_index(type, members[i].name);
		tti_auto_hid one = at < 0 ? -1 : H5Tget_member_type(type, (unsigned)at);

		if (one < 0 || H5Tget_class(one) != classes[members[i].kind] ||
		    (members[i].kind == TEXT && H5Tis_variable_str(one) <= 0) ||
		    (members[i].kind == DIGEST && H5Tget_size(one) != 32))
			return tti_fail(err, TT_E_DAMAGED,
					"%s: ledger " TTI_LEDGER_DATASET
					": column %s is missing or of another type",
					path, members[i].name);
	}
	return TT_OK;
}

static int check_rows(struct tti_ledger *ledger, const char *path, struct tt_error *err)
{
	for (size_t i = 0; i < ledger->count; i++) {
		const struct tti_ledger_row *row = &ledger->rows[i];

		if (!row->file || !row->dataset || !row->version || !row->timestamp)
			return damaged(path, "a row without a name", err);
		if (row->rows > INT64_MAX || row->file_row > INT64_MAX - row->rows ||
		    row->first_row > INT64_MAX - row->rows || row->block_rows == 0 ||
		    row->block_rows > row->rows)
			return tti_fail(err, TT_E_DAMAGED,
					"%s: ledger row %zu (%s): rows %" PRIu64
					" of %" PRIu64 " in blocks of %" PRIu64
					" cannot be",
					path, i, row->file, row->file_row, row->rows,
					row->block_rows);
	}
	return TT_OK;
}

static int read_rows(struct tti_ledger *out, hid_t dataset, hsize_t count,
		     struct tti_driver *driver, struct tt_error *err)
{
	tti_auto_hid type = row_type(), dxpl = malloc_transfer();
	const char *path = tti_driver_path(driver);

	if (type < 0 || dxpl < 0)
		return tti_driver_fail(driver, err, -EIO, "ledger");
	out->rows = calloc(count, sizeof(*out->rows));
	if (!out->rows)
		return tti_fail(err, -ENOMEM, "%s: ledger of %llu rows: out of memory",
				path, (unsigned long long)count);
	out->room = out->count = out->stored = count;
	if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, dxpl, out->rows) < 0)
		return tti_driver_fail(driver, err, TT_E_DAMAGED, "reading the ledger");
	return check_rows(out, path, err);
}

static int ledger_extent(hid_t file, hid_t dataset, hsize_t *out, const char *path,
			 struct tt_error *err)
{
	tti_auto_hid space = H5Dget_space(dataset);

	if (space < 0 || H5Sget_simple_extent_ndims(space) != 1 ||
	    H5Sget_simple_extent_dims(space, out, NULL) < 0 || !tti_fits_file(file, *out))
		return damaged(path, "its extent cannot be", err);
	return TT_OK;
}

int tti_ledger_load(struct tti_ledger *out, struct tti_driver *driver,
		    struct tt_error *err)
{
	TTI_H5_QUIET;
	const char *path = tti_driver_path(driver);
	hid_t file = tti_driver_file(driver);
	tti_auto_hid dataset = -1;
	hsize_t count;
	int rc;

	*out = (struct tti_ledger){ 0 };
	if (H5Lexists(file, TTI_LEDGER_GROUP, H5P_DEFAULT) <= 0)
		return build_index(out);
	rc = read_format(file, path, err);
	if (rc < 0)
		return rc;
	dataset = H5Dopen2(file, TTI_LEDGER_DATASET, H5P_DEFAULT);
	if (dataset < 0)
		return damaged(path, "cannot be opened", err);
	rc = check_type(dataset, path, err);
	if (rc == TT_OK)
		rc = ledger_extent(file, dataset, &count, path, err);
	if (rc == TT_OK && count > 0)
		rc = read_rows(out, dataset, count, driver, err);
	if (rc == TT_OK && build_index(out) < 0)
		rc = tti_fail(err, -ENOMEM, "%s: ledger: out of memory", path);
	return rc;
}

/* ---- Writing ---- */

int tti_ledger_add(struct tti_ledger *ledger, const struct tti_ledger_row *row,
		   struct tt_error *err)
{
	struct tti_ledger_row copy = *row;

	if (ledger->count == ledger->room) {
		size_t room = ledger->room ? ledger->room * 2 : 64;
		void *grown = realloc(ledger->rows, room * sizeof(*ledger->rows));

		if (!grown)
			return tti_fail(err, -ENOMEM, "ledger: out of memory");
		ledger->rows = grown;
		ledger->room = room;
	}
	copy.file = strdup(row->file);
	copy.dataset = strdup(row->dataset);
	copy.version = strdup(row->version);
	copy.timestamp = strdup(row->timestamp);
	if (!copy.file || !copy.dataset || !copy.version || !copy.timestamp) {
		row_fini(&copy);
		return tti_fail(err, -ENOMEM, "ledger: out of memory");
	}
	ledger->rows[ledger->count++] = copy;
	return TT_OK;
}

static hid_t make_dataset(hid_t file)
{
	hsize_t none = 0, unlimited = H5S_UNLIMITED, chunk = CHUNK_ROWS;
	tti_auto_hid space = H5Screate_simple(1, &none, &unlimited);
	tti_auto_hid dcpl = H5Pcreate(H5P_DATASET_CREATE), type = row_type();

	if (space < 0 || dcpl < 0 || type < 0 || H5Pset_chunk(dcpl, 1, &chunk) < 0 ||
	    H5Tpack(type) < 0)
		return -1;
	return H5Dcreate2(file, TTI_LEDGER_DATASET, type, space, H5P_DEFAULT, dcpl,
			  H5P_DEFAULT);
}

static hid_t make_ledger(hid_t file)
{
	tti_auto_hid group =
		H5Gcreate2(file, TTI_LEDGER_GROUP, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	tti_auto_hid scalar = H5Screate(H5S_SCALAR);
	int64_t format = FORMAT;
	tti_auto_hid attr = -1;

	if (group < 0 || scalar < 0)
		return -1;
	attr = H5Acreate2(group, ATTR_FORMAT, H5T_STD_I64LE, scalar, H5P_DEFAULT,
			  H5P_DEFAULT);
	if (attr < 0 || H5Awrite(attr, H5T_NATIVE_INT64, &format) < 0)
		return -1;
	return make_dataset(file);
}

static int append_rows(hid_t dataset, const struct tti_ledger_row *rows, hsize_t first,
		       hsize_t count)
{
	hsize_t extent = first + count;
	tti_auto_hid type = row_type(), memory = H5Screate_simple(1, &count, NULL),
		     space = -1;

	if (type < 0 || memory < 0 || H5Dset_extent(dataset, &extent) < 0)
		return -1;
	space = H5Dget_space(dataset);
	if (space < 0 ||
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &count, NULL) < 0)
		return -1;
	return H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, rows) < 0 ? -1 : 0;
}

int tti_ledger_store(struct tti_ledger *ledger, struct tti_driver *driver,
		     struct tt_error *err)
{
	TTI_H5_QUIET;
	hid_t file = tti_driver_file(driver);
	tti_auto_hid dataset = -1;

	if (ledger->count == ledger->stored)
		return TT_OK;
	if (H5Lexists(file, TTI_LEDGER_GROUP, H5P_DEFAULT) > 0)
		dataset = H5Dopen2(file, TTI_LEDGER_DATASET, H5P_DEFAULT);
	else
		dataset = make_ledger(file);
	if (dataset < 0 ||
	    append_rows(dataset, ledger->rows + ledger->stored, ledger->stored,
			ledger->count - ledger->stored) < 0)
		return tti_driver_fail(driver, err, -EIO, "writing the ledger");
	ledger->stored = ledger->count;
	return TT_OK;
}
