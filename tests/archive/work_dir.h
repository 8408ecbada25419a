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

#include "lib/suite.h"

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
	return run_suite(&(struct suite){ .name = name,
					  .enter = work_dir_enter,
					  .leave = work_dir_leave,
					  .timeout_s = 60,
					  .add = add });
}

#endif
