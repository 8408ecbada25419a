/* SPDX-License-Identifier: Apache-2.0 */
/* One word for each kind of error, for programs that watch: the only table of them. */
#include "base/error.h"

#include <errno.h>

static const struct {
	int code;
	const char *tag;
} tags[] = {
	{ TT_OK, "OK" },
	{ TT_E_DAMAGED, "DAMAGED" },
	{ TT_E_FORMAT, "BAD_FORMAT" },
	{ TT_E_DTYPE, "BAD_DTYPE" },
	{ TT_E_FULL, "FILE_FULL" },
	{ TT_E_BUSY, "BUSY" },
	{ TT_E_RANGE, "OUT_OF_RANGE" },
	{ TT_E_MISMATCH, "MISMATCH" },
	{ TT_E_SUPERSEDED, "SUPERSEDED" },
	{ TT_E_TORN, "TORN" },
	{ TT_E_TIMEOUT, "TIMEOUT" },
	{ TT_E_CHANGED, "CHANGED" },
	{ TT_E_UNSUPPORTED, "UNSUPPORTED" },
	{ TT_E_MISUSE, "MISUSE" },
	{ -ENOSPC, "DISK_FULL" },
	{ -EDQUOT, "DISK_FULL" },
	{ -EFBIG, "FILE_TOO_LARGE" },
	{ -EIO, "IO_ERROR" },
	{ -ENXIO, "IO_ERROR" },
	{ -ENODEV, "IO_ERROR" },
	{ -ESTALE, "IO_ERROR" },
	{ -EMFILE, "TOO_MANY_FILES" },
	{ -ENFILE, "TOO_MANY_FILES" },
	{ -ENOMEM, "NO_MEMORY" },
	{ -EROFS, "READ_ONLY" },
	{ -EACCES, "PERMISSION" },
	{ -EPERM, "PERMISSION" },
	{ -ENOENT, "NOT_FOUND" },
	{ -ENOTDIR, "NOT_FOUND" },
	{ -EEXIST, "EXISTS" },
	{ -ENODATA, "TRUNCATED" },
	{ -EPIPE, "PIPE_CLOSED" },
	{ -EINTR, "INTERRUPTED" },
	{ -EAGAIN, "BUSY" },
	{ -EBUSY, "BUSY" },
	{ -ETIMEDOUT, "TIMEOUT" },
};

const char *tt_error_tag(int code)
{
	for (unsigned i = 0; i < TTI_LEN(tags); i++)
		if (tags[i].code == code)
			return tags[i].tag;
	return "OTHER";
}
