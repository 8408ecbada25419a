/* SPDX-License-Identifier: Apache-2.0 */
/* What recovering a file and recovering a ring share: the report, the file that takes the bytes
 * that are cut, and putting a mended copy in the place of a damaged file.
 * Invariant: a damaged file has its second name before its first one goes to the copy. */
#ifndef TTI_RECOVER_H
#define TTI_RECOVER_H

#include <limits.h>
#include "live/place.h"
#include "live/salvage.h"
#include "ticktail/recover.h"

/* A new item at the end of the report, its counts from salvage (may be NULL); NULL: no
 * memory.  path and what are copied. */
struct tt_recover_item *tti_recover_say(struct tt_recover_report *report,
					const char *path, enum tt_recover_did did,
					const char *what,
					const struct tti_salvage *salvage);
/* aside: a name in the directory of the item's path; copied. */
int tti_recover_aside(struct tt_recover_item *item, const char *aside);
void tti_recover_sum(struct tt_recover_report *report);

/* Lay the caller's options over the defaults. */
int tti_recover_take_opts(struct tt_recover_opts *mine,
			  const struct tt_recover_opts *opts, const char *path,
			  struct tt_error *err);
/* What opts say of a row -> *out (dtype is not owned); false when they do not. */
bool tti_recover_like(struct tti_npy *out, const struct tt_recover_opts *opts);

/* Where cut bytes go.  Opened with the first of them. */
struct tti_cut_file {
	const char *path; /* NULL: nowhere */
	int fd;
	uint64_t at;
};

/* Put a copy of what salvage found in fd in the place of the file that place names. */
struct tti_replace {
	const struct tti_place *place;
	int fd; /* of the damaged file, locked where a lock is due */
	const struct tti_salvage *salvage;
	bool closed;		  /* no rows will be added: it gets no room for more */
	const char *aside_prefix; /* of the name it is kept under: "" or "." */
	struct tti_cut_file *cut;
};
/* aside_out: the name it is kept under. */
int tti_recover_replace(const struct tti_replace *args, char aside_out[NAME_MAX + 1],
			struct tt_error *err);

#endif
