/* SPDX-License-Identifier: Apache-2.0 */
/* What of a directory tree would be left after a loss of power.
 *
 * The calls of wraps.c tell the model what the process does to files and names under one
 * directory.  For each file it keeps the bytes that a disk would hold: those of the last sync,
 * and pages that were written back since by chance.  For each directory it keeps the names of
 * its last sync and every operation on names since.  At any place an image can be made of it:
 * any subset of the pages that differ, the old or the new size, any subset of the operations
 * on names, in order; a rename is one operation.  That is more than any file system allows
 * itself, and all that POSIX promises; but for one thing: a size that a write made larger never
 * covers bytes of it that were not written (so ext4, XFS and btrfs; not so a size that
 * fallocate or ftruncate set).
 *
 * Invariant: the model never changes a file of the tree; what it draws comes from one seed. */
#ifndef TEST_POWER_MODEL_H
#define TEST_POWER_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What is under root now is on disk.  One model a process. */
void model_start(const char *root, uint64_t seed);

/* Called at the places where the power may fail, with all other calls kept waiting.  It may
 * call model_image(). */
typedef void model_place_fn(void *ctx, const char *place, unsigned times_seen);
void model_on_place(model_place_fn *fn, void *ctx);
/* Between these no thread is at a place: for model_on_place(), and to change what fn reads,
 * while other threads run.  No wrapped call in between. */
void model_lock(void);
void model_unlock(void);

/* A place: before and after each call, at each failpoint, and where a test wants one. */
void model_place(const char *name);

/* Called after each failpoint, with nobody kept waiting: it may wait for another thread. */
typedef void model_passage_fn(void *ctx, const char *failpoint);
void model_on_passage(model_passage_fn *fn, void *ctx);
void model_passed(const char *failpoint); /* for wraps.c */

/* Make dest, a directory that is not there yet, what might be left if the power failed now. */
void model_image(const char *dest);
/* The least that might be left: what was synced, and nothing else once model_keep_back() said
 * that the kernel writes nothing back by itself. */
void model_image_least(const char *dest);
void model_keep_back(void);
/* Where the last image has the file of that number, "" or NULL where it has not. */
const char *model_made_as(uint64_t ino);

/* From now on every call is noted, in order, as a line "CALL NAME" or "CALL NAME TO" with the
 * last component of names; files of rings are called 1.npy, 2.npy, ... in the order in which
 * they are met, files without a name "nameless", temporary copies "copy", root ".".  What was
 * noted is forgotten by the next call. */
void model_trace_begin(void);
const char *model_trace(void);

/* A number below n from the model's seed. */
uint64_t model_random(uint64_t n);

/* ---- for wraps.c ---- */

/* false: not to be recorded (no model, or the model's own call). */
bool model_enter(const char *call);
void model_leave(const char *call);
void model_opened(int fd, int dirfd, const char *path);
void model_synced(int fd);
void model_note(const char *call, int fd, const char *path, const char *to);
/* A write that may make the file longer: told before it, and after it when it worked. */
size_t model_size(int fd);
void model_appended(int fd, size_t size_before, size_t from, size_t to);
void model_linked(int dirfd, const char *path);
void model_unlinked(int dirfd, const char *path);
/* Told before the call, which may take to's name from another file, whether it will work is
 * not known yet: the handle goes to model_renamed() when it did, to nothing when not. */
struct model_name {
	int dir; /* -1: not under root */
	int inode;
	char name[256];
};
struct model_name model_find(int dirfd, const char *path);
void model_renamed(const struct model_name *from, int dirfd, const char *to);

/* What /proc/sys/kernel/random/boot_id gives instead: another one after each loss. */
void model_boot(const char *path_of_boot_id);
const char *model_boot_path(void);

#endif
