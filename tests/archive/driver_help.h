/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the driver share: an archive in numbered states. */
#ifndef DRIVER_HELP_H
#define DRIVER_HELP_H

#include "commit_model.h"
#include "work_dir.h"

static struct tt_error err;
static const struct model_opts creating = { .mode = TTI_DRIVER_CREATE };
static const struct model_opts writing = { .mode = TTI_DRIVER_WRITE };

static inline int shell(const char *command)
{
	return system(command);
}

static inline void make_archive(int states)
{
	for (int i = 1; i <= states; i++)
		ck_assert_msg(model_commit("a.h5", &creating, &err) == i, "%s", err.text);
}

static inline void check_state(int wanted)
{
	int state = model_state("a.h5", NULL, &err);

	ck_assert_msg(state == wanted, "state %d, not %d: %s", state, wanted, err.text);
}

#endif
