/* SPDX-License-Identifier: Apache-2.0 */
/* LMDB: integer keys in ascending order, a writable map, no syncs. */
#include "peers.h"

#ifdef HAVE_LMDB
#include <lmdb.h>

struct store {
	MDB_env *env;
	MDB_dbi dbi;
	uint64_t next;
};

static void check(int rc, const char *what)
{
	if (rc != 0)
		bench_die("LMDB: %s: %s", what, mdb_strerror(rc));
}

static void open_env(struct store *store, const char *path, unsigned flags)
{
	check(mdb_env_create(&store->env), "mdb_env_create");
	check(mdb_env_set_mapsize(store->env, (size_t)4 << 30), "mdb_env_set_mapsize");
	check(mdb_env_open(store->env, path, flags | MDB_NOSUBDIR, 0644), "mdb_env_open");
}

static void *lmdb_open(const char *path)
{
	struct store *store = calloc(1, sizeof(*store));
	MDB_txn *txn;

	if (!store)
		bench_die("out of memory");
	open_env(store, path, MDB_NOSYNC | MDB_NOMETASYNC | MDB_WRITEMAP | MDB_MAPASYNC);
	check(mdb_txn_begin(store->env, NULL, 0, &txn), "mdb_txn_begin");
	check(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &store->dbi), "mdb_dbi_open");
	check(mdb_txn_commit(txn), "mdb_txn_commit");
	return store;
}

static void lmdb_append(void *handle, const struct bench_tick *rows, uint64_t count)
{
	struct store *store = handle;
	MDB_txn *txn;

	check(mdb_txn_begin(store->env, NULL, 0, &txn), "mdb_txn_begin");
	for (uint64_t i = 0; i < count; i++) {
		MDB_val key = { sizeof(store->next), &store->next };
		MDB_val value = { sizeof(*rows), (void *)(uintptr_t)&rows[i] };

		check(mdb_put(txn, store->dbi, &key, &value, MDB_APPEND), "mdb_put");
		store->next++;
	}
	check(mdb_txn_commit(txn), "mdb_txn_commit");
}

static void lmdb_close(void *handle)
{
	struct store *store = handle;

	mdb_env_close(store->env);
	free(store);
}

static uint64_t lmdb_read_back(const char *path, int64_t *last_out)
{
	struct store store = { 0 };
	MDB_val key, value;
	MDB_cursor *cursor;
	MDB_stat stat;
	MDB_txn *txn;

	open_env(&store, path, MDB_RDONLY);
	check(mdb_txn_begin(store.env, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
	check(mdb_dbi_open(txn, NULL, 0, &store.dbi), "mdb_dbi_open");
	check(mdb_stat(txn, store.dbi, &stat), "mdb_stat");
	check(mdb_cursor_open(txn, store.dbi, &cursor), "mdb_cursor_open");
	check(mdb_cursor_get(cursor, &key, &value, MDB_LAST), "mdb_cursor_get");
	memcpy(last_out, value.mv_data, sizeof(*last_out));
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	mdb_env_close(store.env);
	return stat.ms_entries;
}

const struct peer peer_lmdb = { "LMDB", lmdb_open, lmdb_append, lmdb_close,
				lmdb_read_back };
#else
const struct peer peer_lmdb = { .name = "LMDB" };
#endif
