/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite: WAL, no syncs, a prepared insert; one row is one transaction. */
#include "peers.h"

#ifdef HAVE_SQLITE3
#include <sqlite3.h>

struct store {
	sqlite3 *db;
	sqlite3_stmt *insert;
};

static void check(int rc, sqlite3 *db, const char *what)
{
	if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
		bench_die("SQLite: %s: %s", what, sqlite3_errmsg(db));
}

static void run(sqlite3 *db, const char *sql)
{
	check(sqlite3_exec(db, sql, NULL, NULL, NULL), db, sql);
}

static void *sqlite_open(const char *path)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		bench_die("out of memory");
	check(sqlite3_open(path, &store->db), store->db, "open");
	run(store->db, "PRAGMA journal_mode=WAL");
	run(store->db, "PRAGMA synchronous=OFF");
	run(store->db,
	    "CREATE TABLE ticks (id INTEGER PRIMARY KEY, ts INTEGER, sym INTEGER,"
	    " qty INTEGER, px REAL, flags INTEGER)");
	check(sqlite3_prepare_v2(store->db,
				 "INSERT INTO ticks (ts, sym, qty, px, flags)"
				 " VALUES (?, ?, ?, ?, ?)",
				 -1, &store->insert, NULL),
	      store->db, "prepare");
	return store;
}

static void insert(struct store *store, const struct bench_tick *row)
{
	sqlite3_bind_int64(store->insert, 1, row->ts);
	sqlite3_bind_int(store->insert, 2, row->sym);
	sqlite3_bind_int(store->insert, 3, row->qty);
	sqlite3_bind_double(store->insert, 4, row->px);
	sqlite3_bind_int(store->insert, 5, row->flags);
	check(sqlite3_step(store->insert), store->db, "insert");
	sqlite3_reset(store->insert);
}

static void sqlite_append(void *handle, const struct bench_tick *rows, uint64_t count)
{
	struct store *store = handle;

	if (count > 1)
		run(store->db, "BEGIN");
	for (uint64_t i = 0; i < count; i++)
		insert(store, &rows[i]);
	if (count > 1)
		run(store->db, "COMMIT");
}

static void sqlite_close(void *handle)
{
	struct store *store = handle;

	sqlite3_finalize(store->insert);
	sqlite3_close(store->db);
	free(store);
}

static uint64_t sqlite_read_back(const char *path, int64_t *last_out)
{
	sqlite3_stmt *select;
	uint64_t count;
	sqlite3 *db;

	check(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), db, "open");
	check(sqlite3_prepare_v2(db,
				 "SELECT count(*), (SELECT ts FROM ticks ORDER BY id DESC"
				 " LIMIT 1) FROM ticks",
				 -1, &select, NULL),
	      db, "prepare");
	check(sqlite3_step(select), db, "select");
	count = (uint64_t)sqlite3_column_int64(select, 0);
	*last_out = sqlite3_column_int64(select, 1);
	sqlite3_finalize(select);
	sqlite3_close(db);
	return count;
}

const struct peer peer_sqlite = { "SQLite WAL", sqlite_open, sqlite_append, sqlite_close,
				  sqlite_read_back };
#else
const struct peer peer_sqlite = { .name = "SQLite WAL" };
#endif
