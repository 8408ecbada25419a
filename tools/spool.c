/* SPDX-License-Identifier: Apache-2.0 */
/* The temporary file for rows that cannot be passed on yet.  Its name is taken away at once, so
 * that nothing stays behind however the program ends. */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "output.h"

int cli_spool_open(const struct cli_ctx *ctx, int *fd)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/ticktail.XXXXXX",
			 dir && *dir ? dir : "/tmp");

	*fd = -1;
	if (n < 0 || (size_t)n >= sizeof(path))
		return cli_fail_code(ctx, "TMPDIR", -ENAMETOOLONG);
	*fd = mkostemp(path, O_CLOEXEC);
	if (*fd < 0)
		return cli_fail_code(ctx, path, -errno);
	unlink(path);
	return 0;
}

int cli_spool_put(const struct cli_ctx *ctx, int fd, const void *bytes, size_t n)
{
	int rc = cli_write_all(fd, bytes, n);

	return rc < 0 ? cli_fail_space(ctx, rc, "rows kept aside in TMPDIR", fd, n) : 0;
}
