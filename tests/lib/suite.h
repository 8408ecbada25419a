/* SPDX-License-Identifier: Apache-2.0 */
/* Running the tests of a program, each in a directory of its own. */
#ifndef TEST_LIB_SUITE_H
#define TEST_LIB_SUITE_H

#include <check.h>
#include <stdlib.h>

struct suite {
	const char *name;
	void (*enter)(void), (*leave)(void); /* around each test */
	double timeout_s;		     /* of a test; 0: check's own */
	/* tests that run once each, and what adds others; may be NULL */
	const TTest *const *tests;
	size_t count;
	void (*add)(TCase *tcase);
};

/* What main() returns. */
static inline int run_suite(const struct suite *of)
{
	Suite *suite = suite_create(of->name);
	TCase *tcase = tcase_create(of->name);
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, of->enter, of->leave);
	if (of->timeout_s > 0)
		tcase_set_timeout(tcase, of->timeout_s);
	for (size_t i = 0; i < of->count; i++)
		tcase_add_test(tcase, of->tests[i]);
	if (of->add)
		of->add(tcase);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
