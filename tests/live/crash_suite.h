/* SPDX-License-Identifier: Apache-2.0 */
/* A suite of two: killed at each failpoint of a list, in several states, and no failpoint of the
 * list is without a passage. */
#ifndef CRASH_SUITE_H
#define CRASH_SUITE_H

#include <check.h>
#include <stdlib.h>

#include "live/crash_help.h"

/* Every failpoint of the list was passed in what ran since crash_run_logged() first did. */
static inline void crash_need_passed(const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		ck_assert_msg(crash_passages(names[i]) > 0, "%s is never passed",
			      names[i]);
}

static inline void crash_suite_enter(void)
{
	ck_assert(crash_dir_enter());
}

static inline void crash_suite_leave(void)
{
	ck_assert(crash_dir_leave());
}

/* killed gets the number of a state, 0 to states - 1.  What main() returns. */
static inline int crash_suite(const char *name, const TTest *killed, int states,
			      const TTest *every)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 300);
	tcase_add_checked_fixture(tcase, crash_suite_enter, crash_suite_leave);
	tcase_add_loop_test(tcase, killed, 0, states);
	tcase_add_test(tcase, every);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
