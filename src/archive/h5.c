/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/h5.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct tti_h5_quiet tti_h5_quiet_begin(void)
{
	struct tti_h5_quiet quiet = { .is_v2 = 0 };

	/* a printer of the old kind stays: it could not be given back through the new calls */
	H5Eauto_is_v2(H5E_DEFAULT, &quiet.is_v2);
	if (quiet.is_v2) {
		H5Eget_auto2(H5E_DEFAULT, &quiet.print, &quiet.data);
		H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	}
	return quiet;
}

void tti_h5_quiet_end(struct tti_h5_quiet *quiet)
{
	if (quiet->is_v2)
		H5Eset_auto2(H5E_DEFAULT, quiet->print, quiet->data);
}

void tti_h5_close(hid_t *id)
{
	int saved = errno;

	if (*id >= 0) {
		TTI_H5_QUIET;
		/* an identifier that closed with its file is no error here */
		if (H5Iis_valid(*id) > 0)
			H5Idec_ref(*id);
	}
	*id = -1;
	errno = saved;
}

#define TEXT_ROOM 256

static herr_t take_innermost(unsigned n, const H5E_error2_t *entry, void *data)
{
	char *text = data;

	(void)n;
	if (!entry->desc || !*entry->desc)
		return 0;
	snprintf(text, TEXT_ROOM, "%s", entry->desc);
	return 1; /* stop: the walk began at the innermost */
}

int tti_h5_fail(struct tt_error *err, int code, const char *path, const char *what)
{
	char text[TEXT_ROOM] = "libhdf5 gives no reason";
	char *newline;

	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, text);
	H5Eclear2(H5E_DEFAULT);
	/* no fault of the file */
	if (strstr(text, "memory allocation failed"))
		return tti_fail_sys(err, -ENOMEM, path ? path : "libhdf5",
				    what ? what : text);
	while ((newline = strchr(text, '\n')))
		*newline = ' ';
	if (path && what)
		return tti_fail(err, code, "%s: %s: %s", path, what, text);
	if (path || what)
		return tti_fail(err, code, "%s: %s", path ? path : what, text);
	return tti_fail(err, code, "%s", text);
}
