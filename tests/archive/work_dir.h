/* SPDX-License-Identifier: Apache-2.0 */
/* A working directory under /var/tmp, which is a disk more often than /tmp; other users may
 * enter it. */
#ifndef WORK_DIR_H
#define WORK_DIR_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char work_dir[64];

static inline void work_dir_enter(void)
{
	strcpy(work_dir, "/var/tmp/tt-archive-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(work_dir));
	ck_assert_int_eq(chmod(work_dir, 0755), 0);
	ck_assert_int_eq(chdir(work_dir), 0);
}

/* Some tests take the right to write away. */
static inline void work_dir_leave(void)
{
	char command[192];

	snprintf(command, sizeof(command), "chmod -R u+rwX %s; rm -rf %s", work_dir,
		 work_dir);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(system(command), 0);
}

/* The tests that add names, each in a directory of its own.  What main() returns. */
static inline int work_dir_suite(const char *name, void (*add)(TCase *))
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, work_dir_enter, work_dir_leave);
	tcase_set_timeout(tcase, 60);
	add(tcase);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
