/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of bench.h that ask the machine: directories, processors, children. */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Places ---- */

static char made_dir[512];
static pid_t made_by;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	remove(path);
	return 0;
}

void bench_remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_dir(void)
{
	if (getpid() == made_by)
		bench_remove_tree(made_dir);
}

static void on_signal(int number)
{
	remove_dir();
	signal(number, SIG_DFL);
	raise(number);
}

const char *bench_dir(bool memory)
{
	const char *base = getenv("BENCH_DIR");

	if (made_dir[0])
		return made_dir;
	if (!base || !*base)
		base = memory && access("/dev/shm", W_OK) == 0 ? "/dev/shm"
							       : getenv("TMPDIR");
	if (!base || !*base)
		base = ".";
	snprintf(made_dir, sizeof(made_dir), "%s/ticktail-bench.XXXXXX", base);
	if (!mkdtemp(made_dir))
		bench_die("%s: %s", made_dir, strerror(errno));
	made_by = getpid();
	atexit(remove_dir);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	return made_dir;
}

const char *bench_fs(const char *dir)
{
	static const struct {
		long magic;
		const char *name;
	} known[] = { { 0xEF53, "ext4" },
		      { 0x01021994, "tmpfs" },
		      { 0x58465342, "xfs" },
		      { 0x9123683E, "btrfs" },
		      { 0x794C7630, "overlay" } };
	struct statfs fs;

	if (statfs(dir, &fs) < 0)
		return "unknown";
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if ((long)fs.f_type == known[i].magic)
			return known[i].name;
	return "other";
}

/* ---- Processors ---- */

/* As the process was started, before anything was pinned. */
static cpu_set_t *allowed(void)
{
	static cpu_set_t set;
	static bool known;

	if (!known && sched_getaffinity(0, sizeof(set), &set) < 0)
		CPU_ZERO(&set);
	known = true;
	return &set;
}

bool bench_has_two_cpus(void)
{
	return CPU_COUNT(allowed()) >= 2;
}

/* Roles get the allowed processors in turn; -1 when none is known. */
static int cpu_of(int role)
{
	int count = CPU_COUNT(allowed()), skip = count ? role % count : 0;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed()) && skip-- == 0)
			return cpu;
	return -1;
}

static void pin_thread(pid_t tid, int role)
{
	int cpu = cpu_of(role);
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(tid, sizeof(set), &set);
}

void bench_pin(int role)
{
	pin_thread(0, role);
}

/* The threads of this process but the calling one; at most 64. */
static size_t other_threads(pid_t *out)
{
	DIR *dir = opendir("/proc/self/task");
	pid_t self = gettid();
	struct dirent *entry;
	size_t count = 0;

	while (dir && count < 64 && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && tid != self)
			out[count++] = tid;
	}
	if (dir)
		closedir(dir);
	return count;
}

void bench_pin_others(int role)
{
	pid_t tids[64];
	size_t count = other_threads(tids);

	for (size_t i = 0; i < count; i++)
		pin_thread(tids[i], role);
}

unsigned bench_others(void)
{
	pid_t tids[64];

	return (unsigned)other_threads(tids);
}

int64_t bench_others_cpu_ns(void)
{
	pid_t tids[64];
	size_t count = other_threads(tids);
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		/* the kernel's number of a thread's own clock of processor time */
		clockid_t clock = (clockid_t)((~(unsigned)tids[i] << 3) | 6);
		struct timespec ts;

		if (clock_gettime(clock, &ts) == 0)
			sum += (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
	}
	return sum;
}

const char *bench_pinned(const char *roles)
{
	static char text[160];

	snprintf(text, sizeof(text), "%s (processors %d and %d)%s", roles, cpu_of(0),
		 cpu_of(1), bench_has_two_cpus() ? "" : ": one processor for all");
	return text;
}

/* ---- Children ---- */

pid_t bench_spawn(bench_child_fn *fn, void *arg)
{
	pid_t pid;

	allowed();
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		bench_die("fork: %s", strerror(errno));
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	_exit(fn(arg));
}

void bench_wait(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			bench_die("waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		bench_die("a child died of signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		bench_die("a child failed with exit %d", WEXITSTATUS(status));
}

void bench_stop(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	kill(-pid, SIGKILL); /* and what it started, when it leads a group */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

void *bench_shared(size_t bytes)
{
	void *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (place == MAP_FAILED)
		bench_die("mmap: %s", strerror(errno));
	return place;
}

void bench_sleep(double seconds)
{
	struct timespec ts = { (time_t)seconds,
			       (long)((seconds - (double)(time_t)seconds) * 1e9) };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}
