/* SPDX-License-Identifier: Apache-2.0 */
/* What staged.c measures: operations on arrays of several shapes and states. */
#ifndef BENCH_STAGED_CASES_H
#define BENCH_STAGED_CASES_H

#include <ticktail/staged.h>

enum limit { NONE, MEMCPY_INTO, MEMCPY_FRESH, SHA256, SHA256_COPY };

enum state { FULL, BASE, STAGED, FRAGMENTED };

struct form {
	uint32_t rank;
	uint64_t shape[3], chunk[3];
	struct tt_element element;
	const char *words; /* of the case's name */
	const char *dtype; /* Python's */
};

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
extern const struct bench_case staged_cases[];
extern const size_t staged_case_count;
const char *staged_case_name(const struct bench_case *c); /* until the next call */
extern const char *const staged_state_names[];

/* Of the form in use: numbers, and room for a result. */
extern struct tt_nd staged_whole, staged_result;
void staged_use_form(const struct form *form);
struct tt_staged *staged_make(const struct form *form, enum state state);
uint64_t staged_chunk_bytes(const struct form *form);

/* Ends the program on an error. */
void staged_must(int rc, const struct tt_error *err);
void staged_get(struct tt_staged *array, const struct tt_index *index, uint32_t count);
void staged_set(struct tt_staged *array, const struct tt_index *index, uint32_t count,
		const struct tt_nd *value);
const struct tt_nd *staged_seven(void); /* a scalar */

#endif
