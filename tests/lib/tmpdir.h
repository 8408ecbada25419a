/* SPDX-License-Identifier: Apache-2.0 */
/* A private directory for one test, made the working directory, removed with all in it. */
#ifndef TEST_TMPDIR_H
#define TEST_TMPDIR_H

void tmpdir_enter(void);
/* In memory where that can be had and TMPDIR names no other place: for tests of many small syncs,
 * of which the disk would be most of the time. */
void tmpdir_enter_memory(void);
void tmpdir_leave(void);
/* The absolute path. */
const char *tmpdir_path(void);

#endif
