/* SPDX-License-Identifier: Apache-2.0 */
/* G1, G2: the staged-changes array against versioned_hdf5's Python class and against limits.
 *
 *	staged [--seconds S] [--rounds N] [--case TEXT] [--python PYTHON]
 *
 * Each case is one operation on a copy (copy-on-write, as Python's) of an array made once; making
 * and dropping the copy is not timed.  Limits: memcpy of the bytes that a case moves, into memory
 * as fresh as its own (both sides malloc it anew each time and then get the same again: neither
 * has page faults after the first time); SHA-256 of as many messages of a chunk's size on all
 * processors.  Python measures the same cases in a process of its own, in turn with ours, with
 * its arrays made the same way.
 * G2: one point in five million chunks against one point in five. */
#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "staged_cases.h"

enum { MAX_ROUNDS = 15, MAX_TIMES = 1 << 16, MAX_THREADS = 64 };

static double option_seconds = 0.15, option_rounds = 3;
static const char *option_python, *option_case;

/* ---- Measuring ---- */

static double times[MAX_TIMES];

static double measure_ours(const struct bench_case *c, struct tt_staged *array)
{
	int64_t end = bench_now() + (int64_t)(option_seconds * 1e9);
	size_t n = 0;

	while (n < MAX_TIMES && (n < 3 || bench_now() < end)) {
		struct tt_staged *copy;
		struct tt_error err;
		int64_t begin;

		staged_must(tt_staged_copy(&copy, array, &err), &err);
		begin = bench_now();
		c->run(c, copy);
		times[n++] = (double)(bench_now() - begin);
		tt_staged_destroy(copy);
	}
	return bench_median(times, n);
}

struct share {
	const unsigned char *bytes;
	size_t n, message;
	unsigned char *copy; /* NULL: only hashed */
};

static void *hash_share(void *arg)
{
	const struct share *share = arg;
	EVP_MD *sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	EVP_MD_CTX *state = EVP_MD_CTX_new();
	unsigned char digest[32];
	bool ok = sha256 && state && EVP_DigestInit_ex2(state, sha256, NULL) == 1;

	for (size_t at = 0; ok && at < share->n; at += share->message) {
		size_t left = share->n - at;

		ok = EVP_DigestInit_ex2(state, NULL, NULL) == 1 &&
		     EVP_DigestUpdate(state, share->bytes + at,
				      left < share->message ? left : share->message) ==
			     1 &&
		     EVP_DigestFinal_ex(state, digest, NULL) == 1;
	}
	if (share->copy)
		memcpy(share->copy, share->bytes, share->n);
	EVP_MD_CTX_free(state);
	EVP_MD_free(sha256);
	if (!ok)
		bench_die("libcrypto refused");
	return NULL;
}

static void hash_all(const unsigned char *bytes, size_t n, size_t message,
		     unsigned char *copy)
{
	struct share shares[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (size_t)cores;

	for (size_t i = 0; i < count; i++) {
		size_t first = n / count * i;

		shares[i] = (struct share){ bytes + first, n / count, message,
					    copy ? copy + first : NULL };
		if (i > 0 &&
		    pthread_create(&threads[i], NULL, hash_share, &shares[i]) != 0)
			bench_die("pthread_create failed");
	}
	hash_share(&shares[0]);
	for (size_t i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* What it returns is to be freed, which is no part of it: neither is dropping our copy. */
static void *run_limit(const struct form *form, enum limit limit)
{
	size_t n = staged_whole.shape[0] * (size_t)staged_whole.strides[0];
	void *fresh = NULL;

	if (limit == MEMCPY_FRESH || limit == SHA256_COPY) {
		fresh = malloc(n);
		if (!fresh)
			bench_die("out of memory");
	}
	if (limit == SHA256 || limit == SHA256_COPY)
		hash_all(staged_whole.data, n, staged_chunk_bytes(form), fresh);
	else
		memcpy(fresh ? fresh : staged_result.data, staged_whole.data, n);
	__asm__ volatile("" : : "r"(fresh) : "memory");
	return fresh;
}

static double measure_limit(const struct form *form, enum limit limit)
{
	int64_t end = bench_now() + (int64_t)(option_seconds * 1e9);
	size_t n = 0;

	while (n < MAX_TIMES && (n < 3 || bench_now() < end)) {
		int64_t begin = bench_now();
		void *fresh = run_limit(form, limit);

		times[n++] = (double)(bench_now() - begin);
		free(fresh);
	}
	return bench_median(times, n);
}

/* ---- Python ---- */

static FILE *to_python, *from_python;

static void start_python(const char *script)
{
	int in[2], out[2];
	char seconds[32];

	if (pipe(in) < 0 || pipe(out) < 0)
		bench_die("pipe: %s", strerror(errno));
	fflush(stdout);
	snprintf(seconds, sizeof(seconds), "%f", option_seconds);
	if (fork() == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execlp(option_python, option_python, script, seconds, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to_python = fdopen(in[1], "w");
	from_python = fdopen(out[0], "r");
}

static void tuple_text(uint32_t rank, const uint64_t *shape, char text[80])
{
	size_t len = 0;

	for (uint32_t i = 0; i < rank; i++)
		len += (size_t)snprintf(text + len, 80 - len, "%s%" PRIu64, i ? "," : "(",
					shape[i]);
	snprintf(text + len, 80 - len, ")");
}

static double measure_python(const struct bench_case *c)
{
	const struct form *form = c->form;
	char shape[80], chunk[80], line[256], *tab;

	tuple_text(form->rank, form->shape, shape);
	tuple_text(form->rank, form->chunk, chunk);
	fprintf(to_python, "%s\t%s\t%s\t%s\t%s\t%s\n", staged_case_name(c),
		staged_state_names[c->state], shape, chunk, form->dtype, c->words);
	fflush(to_python);
	if (!fgets(line, sizeof(line), from_python) || !(tab = strchr(line, '\t')))
		bench_die("%s: python did not answer", staged_case_name(c));
	return strtod(tab + 1, NULL);
}

/* ---- All ---- */

static void emit(const char *target, const char *name, const char *against, double ours,
		 double other, double goal, bool at_least)
{
	bench_open(&(struct bench_result){ "staged", name, target, "ns", against, ours,
					   other, goal, at_least, false });
	bench_close();
}

static void run_case(const struct bench_case *c)
{
	static const char *const limits[] = {
		[MEMCPY_INTO] = "limit: memcpy of the bytes",
		[MEMCPY_FRESH] = "limit: memcpy of the bytes into new memory",
		[SHA256] = "limit: SHA-256 of the chunks on all processors",
		[SHA256_COPY] = "limit: SHA-256 and memcpy on all processors",
	};
	double ours[MAX_ROUNDS], limit[MAX_ROUNDS], python[MAX_ROUNDS];
	int rounds = (int)option_rounds;
	struct tt_staged *array;

	staged_use_form(c->form);
	array = staged_make(c->form, c->state);
	for (int i = 0; i < rounds; i++) {
		ours[i] = measure_ours(c, array);
		if (c->limit != NONE)
			limit[i] = measure_limit(c->form, c->limit);
		if (to_python)
			python[i] = measure_python(c);
	}
	tt_staged_destroy(array);
	if (to_python)
		emit("G1", staged_case_name(c), "versioned_hdf5",
		     bench_median(ours, (size_t)rounds),
		     bench_median(python, (size_t)rounds), c->goal, true);
	if (c->limit != NONE)
		emit("G1", staged_case_name(c), limits[c->limit],
		     bench_median(ours, (size_t)rounds),
		     bench_median(limit, (size_t)rounds), c->limit_goal, true);
}

/* One point at the far end of an array of chunks chunks of one element. */
static double far_point(uint32_t rank, const uint64_t *shape, bool write)
{
	static const uint64_t one[2] = { 1, 1 };
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	struct tt_index index[2];
	struct tt_staged *array;
	struct tt_error err;
	int64_t end = bench_now() + (int64_t)(option_seconds * 1e9);
	size_t n = 0;

	opts.element = (struct tt_element){ 'f', false, 8 };
	opts.rank = rank;
	opts.shape = shape;
	opts.chunk = one;
	staged_must(tt_staged_create(&array, &opts, &err), &err);
	for (uint32_t i = 0; i < rank; i++)
		index[i] = TT_INDEX_AT((int64_t)shape[i] - 1);
	while (n < MAX_TIMES && (n < 3 || bench_now() < end)) {
		int64_t begin = bench_now();

		if (write)
			staged_set(array, index, rank, staged_seven());
		else
			staged_get(array, index, rank);
		times[n++] = (double)(bench_now() - begin);
	}
	tt_staged_destroy(array);
	return bench_median(times, n);
}

static void run_far(void)
{
	static const uint64_t five[2] = { 1, 5 }, line[2] = { 1, 5000000 },
			      plane[2] = { 2500, 2000 };
	const struct {
		const char *name;
		const uint64_t *shape;
		bool write;
	} far[] = { { "read, 1 x 5,000,000 chunks", line, false },
		    { "write, 1 x 5,000,000 chunks", line, true },
		    { "read, 2,500 x 2,000 chunks", plane, false },
		    { "write, 2,500 x 2,000 chunks", plane, true } };

	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		double ours[MAX_ROUNDS], few[MAX_ROUNDS];
		int rounds = (int)option_rounds;

		for (int k = 0; k < rounds; k++) {
			ours[k] = far_point(2, far[i].shape, far[i].write);
			few[k] = far_point(2, five, far[i].write);
		}
		emit("G2", far[i].name, "one point in 5 chunks",
		     bench_median(ours, (size_t)rounds),
		     bench_median(few, (size_t)rounds), 2, false);
	}
}

int main(int argc, char **argv)
{
	const char *script = getenv("BENCH_STAGED_PYTHON");
	static const struct bench_option options[] = {
		{ "seconds", &option_seconds, NULL, "of each measurement" },
		{ "rounds", &option_rounds, NULL, "of which the median counts" },
		{ "case", NULL, &option_case, "only those whose name has this in it" },
		{ "python", NULL, &option_python, "a python that has versioned_hdf5" },
	};

	option_python = getenv("TT_PEERS");
	bench_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
	if (option_rounds < 1 || option_rounds > MAX_ROUNDS)
		bench_die("--rounds must be 1 to %d", MAX_ROUNDS);
	if (option_python && *option_python && script)
		start_python(script);
	else
		bench_skip("staged", "versioned_hdf5",
			   "give --python PYTHON or TT_PEERS, and run it by make bench");
	for (size_t i = 0; i < staged_case_count; i++)
		if (!option_case ||
		    strstr(staged_case_name(&staged_cases[i]), option_case))
			run_case(&staged_cases[i]);
	if (!option_case)
		run_far();
	return 0;
}
