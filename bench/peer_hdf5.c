/* SPDX-License-Identifier: Apache-2.0 */
/* The packet table of HDF5.  An appended packet lies in the chunk cache of its process until it
 * is flushed, so a row that others can see is an append and a flush: of the file, for a reader
 * that opens it then; or, in a file opened for single writer and many readers (SWMR), of the
 * dataset.  Both are tried. */
#include "peers.h"

#ifdef HAVE_HDF5_HL
#include <hdf5.h>
#include <hdf5_hl.h>

#define TABLE "ticks"
enum { CHUNK_ROWS = 4096 };

struct store {
	hid_t file, table, dataset; /* dataset: SWMR */
};

static hid_t check(hid_t id, const char *what)
{
	if (id < 0)
		bench_die("HDF5: %s failed", what);
	return id;
}

static hid_t tick_type(void)
{
	hid_t type =
		check(H5Tcreate(H5T_COMPOUND, sizeof(struct bench_tick)), "H5Tcreate");

	H5Tinsert(type, "ts", offsetof(struct bench_tick, ts), H5T_NATIVE_INT64);
	H5Tinsert(type, "sym", offsetof(struct bench_tick, sym), H5T_NATIVE_INT32);
	H5Tinsert(type, "qty", offsetof(struct bench_tick, qty), H5T_NATIVE_INT32);
	H5Tinsert(type, "px", offsetof(struct bench_tick, px), H5T_NATIVE_DOUBLE);
	H5Tinsert(type, "flags", offsetof(struct bench_tick, flags), H5T_NATIVE_UINT8);
	return type;
}

static struct store *open_store(const char *path, bool swmr)
{
	struct store *store = calloc(1, sizeof(*store));
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), type;

	if (!store)
		bench_die("out of memory");
	if (swmr)
		H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
	setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
	store->file =
		check(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access), "H5Fcreate");
	type = tick_type();
	store->table =
		check(H5PTcreate(store->file, TABLE, type, CHUNK_ROWS, H5P_DEFAULT),
		      "H5PTcreate");
	H5Tclose(type);
	H5Pclose(access);
	if (swmr) {
		store->dataset = check(H5PTget_dataset(store->table), "H5PTget_dataset");
		check(H5Fstart_swmr_write(store->file), "H5Fstart_swmr_write");
	}
	return store;
}

static void *hdf5_open(const char *path)
{
	return open_store(path, false);
}

static void *swmr_open(const char *path)
{
	return open_store(path, true);
}

static void hdf5_append(void *handle, const struct bench_tick *rows, uint64_t count)
{
	struct store *store = handle;

	check(H5PTappend(store->table, count, rows), "H5PTappend");
	if (store->dataset)
		check(H5Dflush(store->dataset), "H5Dflush");
	else
		check(H5Fflush(store->file, H5F_SCOPE_LOCAL), "H5Fflush");
}

static void hdf5_close(void *handle)
{
	struct store *store = handle;

	H5PTclose(store->table);
	H5Fclose(store->file);
	free(store);
}

static uint64_t read_back(const char *path, unsigned flags, int64_t *last_out)
{
	hsize_t count = 0;
	struct bench_tick last = { 0 };
	hid_t file, table;

	setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
	file = check(H5Fopen(path, H5F_ACC_RDONLY | flags, H5P_DEFAULT), "H5Fopen");
	table = check(H5PTopen(file, TABLE), "H5PTopen");
	check(H5PTget_num_packets(table, &count), "H5PTget_num_packets");
	if (count > 0)
		check(H5PTread_packets(table, count - 1, 1, &last), "H5PTread_packets");
	*last_out = last.ts;
	H5PTclose(table);
	H5Fclose(file);
	return count;
}

static uint64_t hdf5_read_back(const char *path, int64_t *last_out)
{
	return read_back(path, 0, last_out);
}

static uint64_t swmr_read_back(const char *path, int64_t *last_out)
{
	return read_back(path, H5F_ACC_SWMR_READ, last_out);
}

const struct peer peer_hdf5 = { "HDF5 packet table", hdf5_open, hdf5_append, hdf5_close,
				hdf5_read_back };
const struct peer peer_hdf5_swmr = { "HDF5 packet table, SWMR", swmr_open, hdf5_append,
				     hdf5_close, swmr_read_back };
#else
const struct peer peer_hdf5 = { .name = "HDF5 packet table" };
const struct peer peer_hdf5_swmr = { .name = "HDF5 packet table, SWMR" };
#endif
