/* SPDX-License-Identifier: Apache-2.0 */
/* G1, G2: the staged-changes array against versioned_hdf5's Python class and against limits.
 *
 *	staged [--seconds S] [--rounds N] [--case TEXT] [--python PYTHON]
 *
 * Each case is one operation on a copy (copy-on-write, as Python's) of an array made once; making
 * and dropping the copy is not timed.  Limits: memcpy of the bytes that a case moves, into memory
 * as fresh as its own; SHA-256 of as many messages of a chunk's size on all processors.  Python measures the same cases in a
 * process of its own, in turn with ours, with its arrays made the same way.
 * G2: one point in five million chunks against one point in five. */
#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ticktail/staged.h>

#include "bench.h"

enum { MAX_ROUNDS = 15, MAX_TIMES = 1 << 16, MAX_THREADS = 64 };

static double option_seconds = 0.15, option_rounds = 3;
static const char *option_python, *option_case;

enum limit { NONE, MEMCPY_INTO, MEMCPY_FRESH, SHA256 };

enum state { FULL, BASE, STAGED, FRAGMENTED };
static const char *const state_names[] = { "full", "base", "staged", "fragmented" };

struct form {
	uint32_t rank;
	uint64_t shape[3], chunk[3];
	struct tt_element element;
	const char *words; /* of the case's name */
	const char *dtype; /* Python's */
};
static const struct form tiny = {
	2, { 301, 302 }, { 3, 3 }, { 'i', false, 2 }, "301x302 c3", "i2"
};
static const struct form c25 = {
	2, { 1000, 1000 }, { 25, 25 }, { 'f', false, 8 }, "1000x1000 c25", "f8"
};
static const struct form c50 = {
	2, { 1000, 1000 }, { 50, 50 }, { 'f', false, 8 }, "1000x1000 c50", "f8"
};
static const struct form c250 = {
	2, { 1000, 1000 }, { 250, 250 }, { 'f', false, 8 }, "1000x1000 c250", "f8"
};
static const struct form wide = {
	3, { 2, 15220, 2 }, { 600, 2, 4 }, { 'f', false, 8 }, "2x15220x2", "f8"
};

/* ---- Operations ---- */

struct bench_case;
typedef void run_fn(const struct bench_case *c, struct tt_staged *array);

struct bench_case {
	const struct form *form;
	enum state state;
	const char *words; /* staged_python.py knows them */
	run_fn *run;
	enum limit limit;
	double goal, limit_goal; /* against Python, against the limit; 0: shown */
};

static struct tt_nd whole; /* of the form now measured: numbers, and room for a result */
static struct tt_nd result;

static void must(int rc, const struct tt_error *err)
{
	if (rc < 0)
		bench_die("%s", err->text);
}

static void get(struct tt_staged *array, const struct tt_index *index, uint32_t count,
		struct tt_nd *out)
{
	struct tt_error err;

	must(tt_staged_get(array, index, count, out, &err), &err);
}

static void set(struct tt_staged *array, const struct tt_index *index, uint32_t count,
		const struct tt_nd *value)
{
	struct tt_error err;

	must(tt_staged_set(array, index, count, value, &err), &err);
}

static void run_get_all(const struct bench_case *c, struct tt_staged *array)
{
	(void)c;
	get(array, NULL, 0, &result);
}

static void get_fresh(struct tt_staged *array, const struct tt_index *index,
		      uint32_t count)
{
	struct tt_nd out = { .rank = 0 };

	get(array, index, count, &out);
	free(out.data);
}

static void middle(const struct form *form, struct tt_index *index)
{
	for (uint32_t i = 0; i < form->rank; i++)
		index[i] = TT_INDEX_AT((int64_t)(form->shape[i] / 2));
}

static void every_other(const struct form *form, struct tt_index *index)
{
	for (uint32_t i = 0; i < form->rank; i++) {
		index[i] = TT_INDEX_ALL;
		index[i].step = 2;
	}
}

static void run_get_point(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_index index[3];

	middle(c->form, index);
	get_fresh(array, index, c->form->rank);
}

static void run_get_other(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_index index[3];

	every_other(c->form, index);
	get_fresh(array, index, c->form->rank);
}

static void run_get_list(const struct bench_case *c, struct tt_staged *array)
{
	static const int64_t list[] = { 3, 55, 194 };
	struct tt_index index = { .kind = TT_INDEX_INTS, .ints = list, .count = 3 };

	(void)c;
	get_fresh(array, &index, 1);
}

static void run_plan(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_staged_plan *plan;
	struct tt_error err;

	(void)c;
	must(tt_staged_plan(&plan, array, &(struct tt_plan_what){ .op = TT_PLAN_GET },
			    &err),
	     &err);
	tt_staged_plan_free(plan);
}

static void run_set_all(const struct bench_case *c, struct tt_staged *array)
{
	(void)c;
	set(array, NULL, 0, &whole);
}

static const struct tt_nd *seven(void)
{
	static int64_t number = 7;
	static struct tt_nd nd = { .element = { 'i', false, 8 }, .data = &number };

	return &nd;
}

static void run_set_point(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_index index[3];

	middle(c->form, index);
	set(array, index, c->form->rank, seven());
}

static void run_set_other(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_index index[3];

	every_other(c->form, index);
	set(array, index, c->form->rank, seven());
}

static void resize(const struct bench_case *c, struct tt_staged *array,
		   const uint64_t *shape)
{
	struct tt_error err;

	(void)c;
	must(tt_staged_resize(array, shape, &err), &err);
}

static void run_resize_row(const struct bench_case *c, struct tt_staged *array)
{
	uint64_t shape[3];

	memcpy(shape, c->form->shape, sizeof(shape));
	shape[0]++;
	resize(c, array, shape);
}

static void run_resize_double(const struct bench_case *c, struct tt_staged *array)
{
	uint64_t shape[3];

	for (int i = 0; i < 3; i++)
		shape[i] = 2 * c->form->shape[i];
	resize(c, array, shape);
}

static void run_resize_half(const struct bench_case *c, struct tt_staged *array)
{
	uint64_t shape[3];

	for (int i = 0; i < 3; i++)
		shape[i] = c->form->shape[i] / 2;
	resize(c, array, shape);
}

static void run_resize_edges(const struct bench_case *c, struct tt_staged *array)
{
	uint64_t shape[3];

	for (uint32_t i = 0; i < c->form->rank; i++)
		shape[i] = c->form->shape[i] + (i == 1 && c->form->rank == 3 ? 2 : 1);
	resize(c, array, shape);
}

static void run_load(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_error err;

	(void)c;
	must(tt_staged_load(array, &err), &err);
}

static void run_commit(const struct bench_case *c, struct tt_staged *array)
{
	struct tt_error err;

	(void)c;
	must(tt_staged_commit(array, tt_staged_alloc_memory, NULL, 0, &err), &err);
}

static const struct bench_case cases[] = {
	{ &tiny, BASE, "get all", run_get_all, NONE, 10, 0 },
	{ &tiny, STAGED, "get all", run_get_all, MEMCPY_INTO, 10, 0 },
	{ &tiny, FRAGMENTED, "get all", run_get_all, NONE, 10, 0 },
	{ &tiny, FULL, "get all", run_get_all, NONE, 10, 0 },
	{ &tiny, STAGED, "plan get all", run_plan, NONE, 10, 0 },
	{ &tiny, BASE, "get point", run_get_point, NONE, 10, 0 },
	{ &tiny, BASE, "get ::2", run_get_other, NONE, 10, 0 },
	{ &tiny, BASE, "get list", run_get_list, NONE, 10, 0 },
	{ &tiny, BASE, "set point", run_set_point, NONE, 10, 0 },
	{ &tiny, STAGED, "set point", run_set_point, NONE, 10, 0 },
	{ &tiny, BASE, "set ::2", run_set_other, NONE, 10, 0 },
	{ &tiny, BASE, "set all", run_set_all, NONE, 10, 0 },
	{ &tiny, STAGED, "set all", run_set_all, NONE, 10, 0 },
	{ &tiny, BASE, "resize +1 row", run_resize_row, NONE, 10, 0 },
	{ &tiny, STAGED, "resize double", run_resize_double, NONE, 10, 0 },
	{ &tiny, STAGED, "resize half", run_resize_half, NONE, 10, 0 },
	{ &tiny, BASE, "resize edges", run_resize_edges, NONE, 10, 0 },
	{ &tiny, BASE, "load", run_load, NONE, 10, 0 },
	{ &tiny, STAGED, "commit", run_commit, SHA256, 0, 0 },
	{ &tiny, FRAGMENTED, "commit", run_commit, NONE, 0, 0 },
	{ &c25, BASE, "get all", run_get_all, MEMCPY_INTO, 0, 0 },
	{ &c25, BASE, "set point", run_set_point, NONE, 10, 0 },
	{ &c25, STAGED, "commit", run_commit, SHA256, 0, 0.8 },
	{ &c50, BASE, "get all", run_get_all, MEMCPY_INTO, 0, 0.7 },
	{ &c50, STAGED, "get all", run_get_all, MEMCPY_INTO, 0, 0.7 },
	{ &c50, BASE, "set all", run_set_all, MEMCPY_FRESH, 0, 0.7 },
	{ &c50, BASE, "set point", run_set_point, NONE, 10, 0 },
	{ &c50, STAGED, "commit", run_commit, SHA256, 0, 0.8 },
	{ &c250, BASE, "get all", run_get_all, MEMCPY_INTO, 0, 0.7 },
	{ &c250, BASE, "set all", run_set_all, MEMCPY_FRESH, 0, 0.7 },
	{ &c250, STAGED, "commit", run_commit, SHA256, 0, 0.8 },
	{ &wide, STAGED, "get all", run_get_all, NONE, 10, 0 },
	{ &wide, STAGED, "set point", run_set_point, NONE, 10, 0 },
	{ &wide, STAGED, "set all", run_set_all, NONE, 10, 0 },
	{ &wide, STAGED, "resize edges", run_resize_edges, NONE, 10, 0 },
	{ &wide, STAGED, "commit", run_commit, SHA256, 0, 0 },
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static const char *case_name(const struct bench_case *c)
{
	static char name[120];

	snprintf(name, sizeof(name), "%s, %s, %s", c->form->words, state_names[c->state],
		 c->words);
	return name;
}

/* ---- Arrays ---- */

static uint64_t form_bytes(const struct form *form)
{
	uint64_t bytes = form->element.bytes;

	for (uint32_t i = 0; i < form->rank; i++)
		bytes *= form->shape[i];
	return bytes;
}

/* Of a chunk, cut at the array's size. */
static uint64_t chunk_bytes(const struct form *form)
{
	uint64_t bytes = form->element.bytes;

	for (uint32_t i = 0; i < form->rank; i++)
		bytes *=
			form->chunk[i] < form->shape[i] ? form->chunk[i] : form->shape[i];
	return bytes;
}

static void number_memory(const struct form *form, void *memory)
{
	uint64_t n = form_bytes(form) / form->element.bytes;

	for (uint64_t i = 0; i < n; i++) {
		if (form->element.bytes == 2)
			((int16_t *)memory)[i] = (int16_t)i;
		else
			((double *)memory)[i] = (double)i;
	}
}

/* whole and result for the form. */
static void use_form(const struct form *form)
{
	free(whole.data);
	free(result.data);
	whole.data = malloc(form_bytes(form));
	result.data = calloc(1, form_bytes(form));
	if (!whole.data || !result.data)
		bench_die("out of memory");
	number_memory(form, whole.data);
	tt_nd_c_order(&whole, form->element, form->rank, form->shape, whole.data);
	tt_nd_c_order(&result, form->element, form->rank, form->shape, result.data);
}

static void fragment(const struct form *form, struct tt_staged *array)
{
	for (uint64_t i = 0; i < form->shape[0]; i += form->chunk[0])
		for (uint64_t j = 0; j < form->shape[1]; j += form->chunk[1]) {
			struct tt_index index[2] = {
				TT_INDEX_RANGE((int64_t)i, (int64_t)(i + form->chunk[0])),
				TT_INDEX_RANGE((int64_t)j, (int64_t)(j + form->chunk[1]))
			};
			struct tt_nd part = whole;

			part.data = (char *)whole.data + (int64_t)i * whole.strides[0] +
				    (int64_t)j * whole.strides[1];
			for (int k = 0; k < 2; k++) {
				uint64_t at = k == 0 ? i : j;
				uint64_t left = form->shape[k] - at;

				part.shape[k] =
					left < form->chunk[k] ? left : form->chunk[k];
			}
			set(array, index, 2, &part);
		}
}

static struct tt_staged *make(const struct form *form, enum state state)
{
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	struct tt_staged *array;
	struct tt_error err;

	if (state == BASE) {
		must(tt_staged_from_array(
			     &array,
			     &(struct tt_staged_over){ sizeof(struct tt_staged_over),
						       &whole, form->chunk, NULL,
						       TT_FROM_BASES, false },
			     &err),
		     &err);
		return array;
	}
	opts.element = form->element;
	opts.rank = form->rank;
	opts.shape = form->shape;
	opts.chunk = form->chunk;
	must(tt_staged_create(&array, &opts, &err), &err);
	if (state == STAGED)
		set(array, NULL, 0, &whole);
	if (state == FRAGMENTED)
		fragment(form, array);
	return array;
}

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

		must(tt_staged_copy(&copy, array, &err), &err);
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
	EVP_MD_CTX_free(state);
	EVP_MD_free(sha256);
	if (!ok)
		bench_die("libcrypto refused");
	return NULL;
}

static void hash_all(const unsigned char *bytes, size_t n, size_t message)
{
	struct share shares[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (size_t)cores;

	for (size_t i = 0; i < count; i++) {
		shares[i] = (struct share){ bytes + n / count * i, n / count, message };
		if (i > 0 &&
		    pthread_create(&threads[i], NULL, hash_share, &shares[i]) != 0)
			bench_die("pthread_create failed");
	}
	hash_share(&shares[0]);
	for (size_t i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void run_limit(const struct form *form, enum limit limit)
{
	size_t n = whole.shape[0] * (size_t)whole.strides[0];
	void *fresh;

	if (limit == SHA256) {
		hash_all(whole.data, n, chunk_bytes(form));
	} else if (limit == MEMCPY_INTO) {
		memcpy(result.data, whole.data, n);
	} else {
		fresh = malloc(n);
		if (!fresh)
			bench_die("out of memory");
		memcpy(fresh, whole.data, n);
		__asm__ volatile("" : : "r"(fresh) : "memory");
		free(fresh);
	}
}

static double measure_limit(const struct form *form, enum limit limit)
{
	int64_t end = bench_now() + (int64_t)(option_seconds * 1e9);
	size_t n = 0;

	while (n < MAX_TIMES && (n < 3 || bench_now() < end)) {
		int64_t begin = bench_now();

		run_limit(form, limit);
		times[n++] = (double)(bench_now() - begin);
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
	fprintf(to_python, "%s\t%s\t%s\t%s\t%s\t%s\n", case_name(c),
		state_names[c->state], shape, chunk, form->dtype, c->words);
	fflush(to_python);
	if (!fgets(line, sizeof(line), from_python) || !(tab = strchr(line, '\t')))
		bench_die("%s: python did not answer", case_name(c));
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
		[MEMCPY_FRESH] = "limit: memcpy of the bytes into fresh memory",
		[SHA256] = "limit: SHA-256 of the chunks on all processors",
	};
	double ours[MAX_ROUNDS], limit[MAX_ROUNDS], python[MAX_ROUNDS];
	int rounds = (int)option_rounds;
	struct tt_staged *array;

	use_form(c->form);
	array = make(c->form, c->state);
	for (int i = 0; i < rounds; i++) {
		ours[i] = measure_ours(c, array);
		if (c->limit != NONE)
			limit[i] = measure_limit(c->form, c->limit);
		if (to_python)
			python[i] = measure_python(c);
	}
	tt_staged_destroy(array);
	if (to_python)
		emit("G1", case_name(c), "versioned_hdf5",
		     bench_median(ours, (size_t)rounds),
		     bench_median(python, (size_t)rounds), c->goal, true);
	if (c->limit != NONE)
		emit("G1", case_name(c), limits[c->limit],
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
	must(tt_staged_create(&array, &opts, &err), &err);
	for (uint32_t i = 0; i < rank; i++)
		index[i] = TT_INDEX_AT((int64_t)shape[i] - 1);
	while (n < MAX_TIMES && (n < 3 || bench_now() < end)) {
		int64_t begin = bench_now();

		if (write)
			set(array, index, rank, seven());
		else
			get_fresh(array, index, rank);
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
	for (size_t i = 0; i < CASES; i++)
		if (!option_case || strstr(case_name(&cases[i]), option_case))
			run_case(&cases[i]);
	if (!option_case)
		run_far();
	return 0;
}
