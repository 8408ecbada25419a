/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping and waking.  Where futexes are refused (a seccomp filter), sleeping becomes a short
 * nap and waking nothing: slower, not wrong. */
#include "live/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "ticktail/error.h"

static struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

int tti_futex_wait(const uint32_t *word, uint32_t seen, int64_t timeout_ns)
{
	struct timespec timeout = to_timespec(timeout_ns > 0 ? timeout_ns : 0);
	int code;

	if (syscall(SYS_futex, word, FUTEX_WAIT, seen, &timeout, NULL, 0) == 0)
		return TT_OK;
	code = -errno;
	if (code == -EAGAIN || code == -EINTR)
		return TT_OK;
	if (code != -ETIMEDOUT) {
		timeout = to_timespec(timeout_ns < 1000000 ? timeout_ns : 1000000);
		nanosleep(&timeout, NULL);
	}
	return code;
}

void tti_futex_wake(const uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
