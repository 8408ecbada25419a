/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>
#include "ticktail/error.h"

static struct flock one_byte(short type, int64_t byte)
{
	/* l_pid must be 0 for open file description locks */
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
	};

	return lock;
}

int tti_lock_try(int fd, int64_t byte)
{
	struct flock lock = one_byte(F_WRLCK, byte);

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return TT_OK;
	return errno == EAGAIN || errno == EACCES ? TT_E_BUSY : -errno;
}

void tti_lock_drop(int fd, int64_t byte)
{
	struct flock lock = one_byte(F_UNLCK, byte);

	fcntl(fd, F_OFD_SETLK, &lock); /* the close that follows drops it too */
}

int tti_lock_is_held(int fd, int64_t byte)
{
	struct flock lock = one_byte(F_WRLCK, byte);

	if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
		return -errno;
	return lock.l_type != F_UNLCK;
}

int tti_lock_put_pid(int fd)
{
	struct flock lock = one_byte(F_WRLCK, TTI_LOCK_PID);

	return fcntl(fd, F_SETLK, &lock) < 0 ? -errno : TT_OK;
}

pid_t tti_lock_get_pid(int fd)
{
	struct flock lock = one_byte(F_WRLCK, TTI_LOCK_PID);

	if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK || lock.l_pid <= 0)
		return 0;
	return lock.l_pid;
}
