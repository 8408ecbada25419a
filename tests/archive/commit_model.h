/* SPDX-License-Identifier: Apache-2.0 */
/* A small archive in numbered states, for the tests of commits.  A commit from state n to n + 1
 * does all that real ones do: new chunks past the end (full and filtered ones), a filtered table
 * rewritten in place, a string of variable length replaced, a group added. */
#ifndef COMMIT_MODEL_H
#define COMMIT_MODEL_H

#include "archive/driver.h"

struct model_opts {
	enum tti_driver_mode mode;
	enum tt_archive_io io;
	int64_t wait_ns;
};

/* Open a run; *state_out is where it stands, 0 for a new archive. */
int model_open(struct tti_driver **out, const char *path, const struct model_opts *opts,
	       int *state_out, struct tt_error *err);
/* Everything of the next state but the commit. */
int model_write(struct tti_driver *driver, int state, struct tt_error *err);
/* The three together; the state reached, or a negative error. */
int model_commit(const char *path, const struct model_opts *opts, struct tt_error *err);

/* The state that the archive is in, checked in every byte; -1 when it is a mix, with words in
 * err; a driver's error as it is.  notes_out (512 bytes) may be NULL. */
int model_state(const char *path, char *notes_out, struct tt_error *err);

#endif
