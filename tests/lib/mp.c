/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/mp.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct mp_gate {
	_Atomic(uint32_t) count;
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void nap(void)
{
	const struct timespec ts = { 0, 1000000 };

	nanosleep(&ts, NULL);
}

pid_t mp_spawn(mp_actor *actor, void *arg)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(99);
	_exit(actor(arg));
}

int mp_wait(pid_t pid, int seconds)
{
	int64_t deadline = now_ns() + seconds * INT64_C(1000000000);
	int status;
	pid_t got;

	while ((got = waitpid(pid, &status, WNOHANG)) == 0 && now_ns() < deadline)
		nap();
	if (got == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return -1000;
	}
	if (got < 0)
		return -1001;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void *mp_shared(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);

	return at == MAP_FAILED ? NULL : at;
}

struct mp_gate *mp_gate_new(void)
{
	return mp_shared(sizeof(struct mp_gate));
}

void mp_gate_add(struct mp_gate *gate)
{
	atomic_fetch_add(&gate->count, 1);
}

bool mp_gate_wait(struct mp_gate *gate, uint32_t n, int seconds)
{
	int64_t deadline = now_ns() + seconds * INT64_C(1000000000);

	while (atomic_load(&gate->count) < n) {
		if (now_ns() > deadline)
			return false;
		nap();
	}
	return true;
}

bool mp_drop_root(void)
{
	return geteuid() == 0 && setgroups(0, NULL) == 0 && setgid(65534) == 0 &&
	       setuid(65534) == 0;
}

static int is_mapped(void *page)
{
	return msync(page, 1, MS_ASYNC) == 0;
}

bool mp_dontfork_works(void)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool works = page != MAP_FAILED && madvise(page, 4096, MADV_DONTFORK) == 0 &&
		     mp_wait(mp_spawn(is_mapped, page), 10) == 0;

	if (page != MAP_FAILED)
		munmap(page, 4096);
	return works;
}
