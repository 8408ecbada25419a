/* SPDX-License-Identifier: Apache-2.0 */
/* A filter of the thread's own stops each of its calls until the starter has counted it
 * (SECCOMP_RET_USER_NOTIF). */
#include "lib/quiet_thread.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

struct quiet {
	_Atomic(uint64_t) calls;
	_Atomic(int) last;
	_Atomic(int) listener; /* 0 not yet, -1 there is none */
	void (*fn)(const struct quiet *quiet, void *ctx);
	void *ctx;
};

uint64_t quiet_calls(const struct quiet *quiet)
{
	return atomic_load(&quiet->calls);
}

int quiet_last(const struct quiet *quiet)
{
	return atomic_load(&quiet->last);
}

static int install(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void *quiet_main(void *arg)
{
	struct quiet *quiet = arg;
	int fd = install();

	atomic_store(&quiet->listener, fd > 0 ? fd : -1);
	if (fd > 0)
		quiet->fn(quiet, quiet->ctx);
	return NULL;
}

static void count_one(struct quiet *quiet, int fd)
{
	struct seccomp_notif asked;
	struct seccomp_notif_resp answer;

	memset(&asked, 0, sizeof(asked));
	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
		return;
	atomic_store(&quiet->last, asked.data.nr);
	atomic_fetch_add(&quiet->calls, 1);
	memset(&answer, 0, sizeof(answer));
	answer.id = asked.id;
	answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* A call may go on after it was stopped. */
static bool kernel_can(void)
{
	struct seccomp_notif_sizes sizes;
	struct utsname name;
	int major, minor;

	return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 5)) &&
	       syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0 &&
	       sizes.seccomp_notif <= sizeof(struct seccomp_notif) &&
	       sizes.seccomp_notif_resp <= sizeof(struct seccomp_notif_resp);
}

bool quiet_run(void (*fn)(const struct quiet *quiet, void *ctx), void *ctx)
{
	struct quiet quiet = { .fn = fn, .ctx = ctx };
	pthread_t thread;
	int fd;

	if (!kernel_can() || pthread_create(&thread, NULL, quiet_main, &quiet) != 0)
		return false;
	while ((fd = atomic_load(&quiet.listener)) == 0)
		usleep(100);
	while (fd > 0 && pthread_tryjoin_np(thread, NULL) == EBUSY) {
		struct pollfd wait = { fd, POLLIN, 0 };

		if (poll(&wait, 1, 10) > 0 && (wait.revents & POLLIN))
			count_one(&quiet, fd);
	}
	if (fd < 0)
		return pthread_join(thread, NULL), false;
	close(fd);
	return true;
}
