/* SPDX-License-Identifier: Apache-2.0 */
/* A feed that rolls all the time, killed from outside at any instant, again and again, and
 * gone on with.  It tells over a pipe which rows it has appended: those must be there, in
 * order, for a reader that was there all along and for one that comes anew, and the ring is
 * whole each time.
 *
 * usage: kill_storm    TT_SEED=N; TT_LONG=1: 2,000 rounds instead of 60 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/mp.h"
#include "ticktail/ring.h"

#define DEADLINE 60

struct row {
	int64_t number, twice;
};

static struct tt_error err;
static uint64_t random_state;
static int64_t *attempted; /* shared with the feed: rows it may have stored */
static int acks[2];

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "# %s: %s\n", what, err.text);
	printf("Bail out! %s\n", what);
	exit(1);
}

#define GOOD(call) need((call) >= 0, #call)

static uint64_t pick(uint64_t n)
{
	random_state =
		random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (random_state >> 33) % n;
}

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void create(void)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_dtype *dtype = NULL;

	opts.capacity = 32;
	opts.keep = 3;
	opts.sync_ms = 1;
	GOOD(tt_dtype_parse(&dtype, "number:i8,twice:i8", 18, false, &err));
	GOOD(tt_ring_create("r", dtype, &opts, &err));
	tt_dtype_unref(dtype);
}

struct feed {
	int64_t first;
	uint64_t seed;
	int64_t sync_ms;
};

/* Appends until it is killed; says after each append what is in. */
static int feed(void *arg)
{
	const struct feed *feed = arg;
	struct tt_ring_writer_opts opts = TT_RING_WRITER_OPTS_INIT;
	struct tt_ring_writer *writer = NULL;
	int64_t next = feed->first;

	random_state = feed->seed;
	opts.sync_ms = feed->sync_ms;
	opts.no_helper = pick(3) == 0;
	GOOD(tt_ring_writer_open(&writer, "r", &opts, &err));
	for (;;) {
		struct row rows[40];
		uint64_t count = 1 + pick(pick(4) == 0 ? 40 : 6);

		for (uint64_t i = 0; i < count; i++)
			rows[i] = (struct row){ next + (int64_t)i,
						2 * (next + (int64_t)i) };
		*attempted = next + (int64_t)count;
		GOOD(tt_ring_append(writer, rows, count, NULL, &err));
		next += (int64_t)count;
		if (write(acks[1], &next, sizeof(next)) != sizeof(next))
			return 1;
		if (pick(50) == 0)
			GOOD(tt_ring_roll(writer, &err));
		if (pick(50) == 0)
			GOOD(tt_ring_sync(writer, &err));
	}
}

/* What was said on the pipe until the deadline; the last number. */
static void listen_until(int64_t deadline_us, int64_t *acked)
{
	int64_t said[512], left;

	while ((left = deadline_us - now_us()) > 0 || deadline_us == 0) {
		struct pollfd fd = { .fd = acks[0], .events = POLLIN };
		const struct timespec ts = { 0, deadline_us ? left * 1000 : 0 };
		ssize_t n = ppoll(&fd, 1, &ts, NULL) == 1
				    ? read(acks[0], said, sizeof(said))
				    : 0;

		if (n >= (ssize_t)sizeof(said[0]))
			*acked = said[n / (ssize_t)sizeof(said[0]) - 1];
		else if (deadline_us == 0)
			return;
	}
}

static void take(struct tt_ring_reader *reader, int64_t *next)
{
	struct tt_view view;
	int rc;

	while ((rc = tt_ring_read(reader, 1000, 0, &view, NULL, &err)) == 1)
		for (uint64_t i = 0; i < view.count; i++) {
			const struct row *row = (const struct row *)view.rows + i;

			need(row->twice == 2 * row->number, "a row is whole");
			need(*next < 0 || row->number == *next, "rows follow each other");
			*next = row->number + 1;
		}
	GOOD(rc);
	need(tt_ring_reader_lost(reader) == 0, "no row is lost");
}

static void say_damage(void *ctx, const struct tt_damage *damage)
{
	(void)ctx;
	fprintf(stderr, "# %s: %s\n", damage->path, damage->what);
}

/* Joins and removes what has been read, so that the directory stays small. */
static void tidy(void)
{
	struct tt_ring_info info;

	GOOD(tt_ring_merge("r", 0, NULL, NULL, NULL, &err));
	GOOD(tt_ring_info("r", &info, &err));
	for (size_t i = 0; i + 1 < info.file_count && !info.files[i].queued; i++)
		GOOD(tt_ring_remove_file("r", info.files[i].name, &err));
	tt_ring_info_free(&info);
}

static int64_t round_of(uint64_t number, struct tt_ring_reader *follower, int64_t next)
{
	const int64_t syncs[] = { INT64_MIN, TT_SYNC_NONE, TT_SYNC_EACH, 1 };
	struct feed work = { .first = next,
			     .seed = random_state + number,
			     .sync_ms = syncs[pick(4)] };
	int64_t acked = next, fresh = -1, followed = next;
	struct tt_ring_reader *reader = NULL;
	uint64_t found = 1;
	pid_t pid;

	*attempted = next;
	pid = mp_spawn(feed, &work);
	listen_until(now_us() + (int64_t)pick(pick(2) == 0 ? 2000 : 20000), &acked);
	kill(pid, SIGKILL);
	need(mp_wait(pid, DEADLINE) == -SIGKILL, "the feed was killed, nothing else");
	listen_until(0, &acked);
	take(follower, &followed);
	need(followed >= acked && followed <= *attempted, "what was appended is there");
	GOOD(tt_ring_reader_open(&reader, "r", NULL, &err));
	take(reader, &fresh);
	need(fresh == followed || (fresh < 0 && followed == 0),
	     "who comes anew sees the same");
	tt_ring_reader_close(reader);
	GOOD(tt_ring_verify("r", say_damage, NULL, &found, &err));
	need(found == 0, "verify finds nothing");
	return followed;
}

int main(void)
{
	const char *seed = getenv("TT_SEED");
	const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	uint64_t rounds = getenv("TT_LONG") ? 2000 : 60;
	struct tt_ring_reader *follower = NULL;
	char dir[64], command[96];
	int64_t rows = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	random_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
	printf("1..1\n# TT_SEED=%llu\n", (unsigned long long)random_state);
	snprintf(dir, sizeof(dir), "%s/tt-storm-XXXXXX", tmp);
	attempted = mp_shared(sizeof(*attempted));
	need(mkdtemp(dir) && chdir(dir) == 0 && attempted && pipe(acks) == 0, "set up");
	create();
	GOOD(tt_ring_reader_open(&follower, "r", NULL, &err));
	for (uint64_t i = 0; i < rounds; i++) {
		rows = round_of(i, follower, rows);
		if (i % 4 == 3)
			tidy();
	}
	tt_ring_reader_close(follower);
	printf("# %llu rounds, %lld rows\n", (unsigned long long)rounds, (long long)rows);
	printf("ok 1 - a feed killed at any instant lost nothing it had appended\n");
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return chdir("/") < 0 || system(command) != 0;
}
