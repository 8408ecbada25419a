/* SPDX-License-Identifier: Apache-2.0 */
/* Who may open the archive: its descriptor, its locks, and what a dead run left behind.
 *
 * Ours against ours: an open-file-description lock on byte TTI_LOCK_WRITER for a run.  Against
 * every HDF5 program: flock, exclusive for a run and shared for a reader, taken here whatever
 * the environment says of HDF5's own locking.  Invariant of an open access: the descriptor is
 * the file that the path names, and both locks of its mode are held. */
#ifndef TTI_ACCESS_H
#define TTI_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "archive/driver.h"
#include "archive/journal.h"

struct tti_access {
	int fd, dir;
	enum tti_driver_mode mode;
	bool is_new;	   /* fd is the temporary file, not yet in place */
	char *path;	   /* real path, also of a file that is not there yet */
	const char *shown; /* as the caller gave it, for messages; not owned */
	char temporary[256];
	char notes[1024];
	struct tti_journal_place place; /* of the journal */
	struct tti_journal journal; /* READ: pending, not applied: to be read through */
	bool read_through;
};
#define TTI_ACCESS_EMPTY \
	{ \
		.fd = -1, .dir = -1, .journal = TTI_JOURNAL_EMPTY \
	}

int tti_access_open(struct tti_access *access, const char *path,
		    enum tti_driver_mode mode, const struct tti_driver_opts *opts,
		    struct tt_error *err);
/* Drops the locks; removes a new file that was not put in place.  Accepts an empty one. */
void tti_access_close(struct tti_access *access);

/* Give the new file its name: TT_OK, or -EEXIST. */
int tti_access_put_in_place(struct tti_access *access, struct tt_error *err);

/* Add a sentence to the notes; what does not fit is left out. */
void tti_access_note(struct tti_access *access, const char *fmt, ...) TTI_PRINTF(2, 3);

#endif
