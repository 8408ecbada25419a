/* SPDX-License-Identifier: Apache-2.0 */
/* The main() of a fuzz target where libFuzzer is not linked: every file of the
 * directories given, and mutations of each, through the target; one TAP line a file.
 *
 * Each file has a child process and a deadline, so that a crash or a loop is one failed
 * line and the input is kept (in $TT_KEEP, if set).  TT_SEED replays the mutations,
 * TT_LONG makes them many. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_BYTES (1 << 20)
#define DEADLINE_S 120

/* What the child is at; the parent reads it when the child died. */
struct progress {
	uint64_t mutation; /* 0: the file as it is */
	size_t size;
	uint8_t input[INPUT_BYTES];
};

static struct progress *progress;
static uint64_t seed, mutations = 200;
static unsigned tests, failures;

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t n)
{
	return n ? (size_t)(next_random(state) % n) : 0;
}

static void insert(const void *bytes, size_t n, size_t at)
{
	if (progress->size + n > INPUT_BYTES)
		return;
	memmove(progress->input + at + n, progress->input + at, progress->size - at);
	memcpy(progress->input + at, bytes, n);
	progress->size += n;
}

static void cut(size_t at, size_t n)
{
	memmove(progress->input + at, progress->input + at + n, progress->size - at - n);
	progress->size -= n;
}

/* Numbers at the borders, written over eight bytes. */
static void put_number(uint64_t *random, size_t at)
{
	static const uint64_t numbers[] = { 0,		1,	   UINT64_MAX, INT64_MAX,
					    UINT32_MAX, INT32_MAX, 1u << 31,   64 };
	uint64_t number = numbers[below(random, sizeof(numbers) / sizeof(numbers[0]))];
	size_t n = progress->size - at < 8 ? progress->size - at : 8;

	memcpy(progress->input + at, &number, n);
}

static void mutate_once(uint64_t *random)
{
	static const char *const words[] = {
		"(",  ")",  "[", "]",	"{",	  "}",	   "'",	    "\"",
		"\\", ",",  ":", "0",	"9999",	  "-1",	   "'<f8'", "V0",
		"L",  "\n", "#", "'''", "M8[ns]", "\\x00", "\xff",  " ",
	};
	const char *word = words[below(random, sizeof(words) / sizeof(words[0]))];
	size_t at = below(random, progress->size + 1), left = progress->size - at;
	size_t n = below(random, left < 32 ? left + 1 : 32);
	uint8_t piece[32];

	switch (below(random, 7)) {
	case 0:
		if (left)
			progress->input[at] ^= (uint8_t)(1u << below(random, 8));
		break;
	case 1:
		if (left)
			progress->input[at] = (uint8_t)next_random(random);
		break;
	case 2: cut(at, n); break;
	case 3: insert(word, strlen(word), at); break;
	case 4:
		memcpy(piece, progress->input + at, n);
		insert(piece, n, below(random, progress->size + 1));
		break;
	case 5: put_number(random, at); break;
	case 6: progress->size = below(random, 8) ? progress->size : at; break;
	}
}

static void mutate(uint64_t mutation, const char *name)
{
	uint64_t random = seed ^ mutation << 32;
	size_t times;

	for (; *name; name++)
		random = random * 31 + (unsigned char)*name;
	times = 1 + below(&random, 6);
	while (times-- > 0)
		mutate_once(&random);
}

/* The target gets exactly as many bytes as it is told. */
static void run_target(void)
{
	uint8_t *copy = malloc(progress->size ? progress->size : 1);

	if (!copy)
		exit(98);
	memcpy(copy, progress->input, progress->size);
	LLVMFuzzerTestOneInput(copy, progress->size);
	free(copy);
}

static void child(const uint8_t *bytes, size_t size, const char *name)
{
	alarm(DEADLINE_S);
	for (uint64_t i = 0; i <= mutations; i++) {
		memcpy(progress->input, bytes, size);
		progress->size = size;
		progress->mutation = i;
		if (i > 0)
			mutate(i, name);
		run_target();
	}
	exit(0); /* with the leak check of a sanitizer */
}

static void keep_input(const char *name)
{
	const char *dir = getenv("TT_KEEP");
	char path[512];
	FILE *file;

	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/crash-%s-%llu", dir, name,
		 (unsigned long long)progress->mutation);
	file = fopen(path, "wb");
	if (!file)
		return;
	fwrite(progress->input, 1, progress->size, file);
	if (fclose(file) == 0)
		printf("# input kept as %s\n", path);
}

static void report(const char *name, int status)
{
	tests++;
	if (status == 0) {
		printf("ok %u - %s\n", tests, name);
		return;
	}
	failures++;
	printf("not ok %u - %s: %s %d in mutation %llu of TT_SEED=%llu\n", tests, name,
	       WIFSIGNALED(status) ? "signal" : "exit",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
	       (unsigned long long)progress->mutation, (unsigned long long)seed);
	keep_input(name);
}

static int run_file(const char *dir, const char *name)
{
	static uint8_t bytes[INPUT_BYTES / 2];
	char path[4096];
	FILE *file;
	size_t size;
	int status;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "rb");
	if (!file) {
		printf("Bail out! %s: %s\n", path, strerror(errno));
		return -1;
	}
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		child(bytes, size, name);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		printf("Bail out! fork: %s\n", strerror(errno));
		return -1;
	}
	report(name, status);
	return 0;
}

static int run_dir(const char *dir)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, alphasort), rc = 0;

	if (n < 0) {
		printf("Bail out! %s: %s\n", dir, strerror(errno));
		return -1;
	}
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.' && rc == 0)
			rc = run_file(dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return rc;
}

static uint64_t choose_seed(void)
{
	const char *given = getenv("TT_SEED");
	uint64_t chosen = 0;
	FILE *file;

	if (given)
		return strtoull(given, NULL, 10);
	file = fopen("/dev/urandom", "rb");
	if (file) {
		if (fread(&chosen, 4, 1, file) != 1)
			chosen = (uint64_t)getpid();
		fclose(file);
	}
	return chosen;
}

/* Arguments that begin with '-' are libFuzzer's. */
int main(int argc, char **argv)
{
	seed = choose_seed();
	if (getenv("TT_LONG"))
		mutations = 20000;
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (progress == MAP_FAILED) {
		printf("Bail out! mmap: %s\n", strerror(errno));
		return 1;
	}
	printf("# TT_SEED=%llu, %llu mutations a file\n", (unsigned long long)seed,
	       (unsigned long long)mutations);
	for (int i = 1; i < argc; i++)
		if (argv[i][0] != '-' && run_dir(argv[i]) < 0)
			return 1;
	printf("1..%u\n", tests);
	return failures ? 1 : 0;
}
