/* SPDX-License-Identifier: Apache-2.0 */
/* A private directory for one test, made the working directory, removed with all in it. */
#ifndef TEST_TMPDIR_H
#define TEST_TMPDIR_H

void tmpdir_enter(void);
void tmpdir_leave(void);
/* The absolute path. */
const char *tmpdir_path(void);

#endif
