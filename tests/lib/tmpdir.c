/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/tmpdir.h"

#include <check.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[PATH_MAX];

static void enter(const char *otherwise)
{
	const char *base = getenv("TMPDIR");

	snprintf(path, sizeof(path), "%s/ticktail-XXXXXX", base ? base : otherwise);
	ck_assert_ptr_nonnull(mkdtemp(path));
	ck_assert_int_eq(chdir(path), 0);
}

void tmpdir_enter(void)
{
	enter("/tmp");
}

void tmpdir_enter_memory(void)
{
	enter(access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
}

static int remove_one(const char *name, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(name);
}

void tmpdir_leave(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *tmpdir_path(void)
{
	return path;
}
