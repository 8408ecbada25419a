/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery killed at each of its steps and run again: nothing is lost by the first try, and the
 * second leaves what one alone would have left.  Names of failpoints are the arguments; linked
 * with the rooms that have them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ticktail/recover.h"

#define ROWS 60 /* in files of 8 */

static struct tt_error err;

#define NEED(cond) \
	do { \
		if (!(cond)) { \
			printf("# %s:%d: %s: %s\n", __FILE__, __LINE__, #cond, \
			       err.text); \
			return 1; \
		} \
	} while (0)

static int make_rows(void)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_dtype *dtype = NULL;
	uint64_t merged;

	NEED(tt_dtype_parse(&dtype, "i8", 2, false, &err) == 0);
	opts.capacity = 8;
	opts.keep = 3;
	opts.exact = true;
	opts.sync_ms = TT_SYNC_NONE;
	NEED(tt_ring_create("r", dtype, &opts, &err) == 0);
	tt_dtype_unref(dtype);
	NEED(tt_ring_writer_open(&writer, "r", NULL, &err) == 0);
	for (int64_t i = 1; i <= ROWS; i++)
		NEED(tt_ring_append(writer, &i, 1, NULL, &err) == 0);
	tt_ring_writer_close(writer);
	NEED(system("mkdir keep && cp -a r/*.npy keep/") == 0);
	NEED(tt_ring_merge("r", 2, NULL, NULL, &merged, &err) == 0 && merged == 4);
	return 0;
}

static int shell(const char *command)
{
	NEED(system(command) == 0);
	return 0;
}

/* Of two merged files one is damaged and has its parts still there, of the other one part is;
 * a sealed file in the queue is cut short and followed by garbage, the newest lost its tail, a
 * copy of the settings and both slots of marks are bad, and a FIFO stands in the place of
 * .writer. */
static int break_ring(void)
{
	return shell(
		"cd r; set -- *.npy_; cp ../keep/${1%_} .; "
		"next=$(ls ../keep | sed -n 2p); cp ../keep/$next .; "
		"head -c 150 $1 >x && cat x >$1; "
		"cp ../keep/$(ls ../keep | sed -n 4p) .; "
		"q=$(ls ../keep | sed -n 6p); head -c 170 $q >x && cat x >$q; "
		"n=$(ls ../keep | tail -n 1); "
		"head -c $(($(wc -c <$n) - 40)) $n >x && cat x >$n; "
		"printf '?' | dd of=.ticktail bs=1 seek=560 conv=notrunc 2>/dev/null; "
		"printf '?' | dd of=.ticktail bs=1 seek=8212 conv=notrunc 2>/dev/null; "
		"printf '?' | dd of=.ticktail bs=1 seek=8724 conv=notrunc 2>/dev/null; "
		"echo half >.next; rm x .writer; mkfifo .writer");
}

/* The newest file begins at row 1, as it is said. */
static int break_start(void)
{
	return shell(
		"cd r; n=$(ls *.npy | tail -n 1); "
		"printf '\\001' | "
		"dd of=$n bs=1 seek=$(($(wc -c <$n) - 40)) conv=notrunc 2>/dev/null");
}

static int check_rows(void)
{
	struct tt_ring_reader *reader;
	struct tt_view view;
	int64_t last = 0;
	uint64_t count = 0, lost;
	int rc;

	NEED(tt_ring_reader_open(&reader, "r", NULL, &err) == 0);
	while ((rc = tt_ring_read(reader, 100, 0, &view, NULL, &err)) == 1)
		for (uint64_t i = 0; i < view.count; i++) {
			int64_t row = ((const int64_t *)view.rows)[i];

			NEED(row > last);
			last = row;
			count++;
		}
	NEED(rc == 0);
	lost = tt_ring_reader_lost(reader);
	tt_ring_reader_close(reader);
	printf("# %llu rows, lost %llu\n", (unsigned long long)count,
	       (unsigned long long)lost);
	NEED(last == ROWS);
	NEED(count + lost == ROWS);
	return 0;
}

static int recover(void)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;
	struct tt_recover_report report;
	int rc = tt_ring_recover("r", &opts, &report, &err);

	tt_recover_report_free(&report);
	NEED(rc == 0);
	return 0;
}

static int check(void)
{
	struct tt_recover_report report;
	struct tt_ring_writer *writer;
	uint64_t found = 99;

	if (recover())
		return 1;
	NEED(tt_ring_verify("r", NULL, NULL, &found, &err) == 0 && found == 0);
	if (check_rows())
		return 1;
	NEED(tt_ring_recover("r", NULL, &report, &err) == 0);
	NEED(report.item_count == 0);
	tt_recover_report_free(&report);
	NEED(tt_ring_writer_open(&writer, "r", NULL, &err) == 0);
	NEED(*tt_ring_writer_repaired(writer) == '\0');
	tt_ring_writer_close(writer);
	return 0;
}

static int in_child(int (*fn)(void))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		alarm(60);
		_exit(fn());
	}
	return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

/* Killed at the nth passage; 2: it is passed less often. */
static int survives(const char *name, unsigned nth)
{
	char wanted[128];
	int status;

	if (system("rm -rf r keep") != 0 || make_rows() ||
	    (strcmp(name, "recover.start_stored") == 0 ? break_start() : break_ring()))
		return 1;
	snprintf(wanted, sizeof(wanted), "%s:%u", name, nth);
	setenv("TT_FAILPOINT", wanted, 1);
	status = in_child(recover);
	unsetenv("TT_FAILPOINT");
	if (status == 0)
		return 2;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		return 1;
	return in_child(check) != 0;
}

int main(int argc, char **argv)
{
	char dir[64] = "/tmp/tt-crash-XXXXXX", command[128];
	int failed = 0;

	if (!mkdtemp(dir) || chdir(dir) < 0)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++) {
		int rc = survives(argv[i], 1);
		bool good = rc == 0;

		if (rc == 2)
			printf("# %s is never passed\n", argv[i]);
		for (unsigned nth = 2; good && rc == 0 && nth < 20; nth++) {
			rc = survives(argv[i], nth);
			good = rc != 1;
		}
		printf("%s %d - killed at %s\n", good ? "ok" : "not ok", i, argv[i]);
		failed += !good;
	}
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (chdir("/") < 0 || system(command) != 0)
		return 2;
	return failed ? 1 : 0;
}
