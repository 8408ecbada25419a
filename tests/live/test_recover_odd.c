/* SPDX-License-Identifier: Apache-2.0 */
/* Links, FIFOs, devices, directories and sockets in the places of a ring's own files: whoever
 * writes or maintains says what stands there and what to do, readers go by the files, and recover
 * puts the thing aside under another name.  What a link points to is never opened or made. */
#include "recover_ring_help.h"

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include "ticktail/status.h"

static const char treasure[] = "treasure of eight words: keep it as it is";

static void make_link(const char *path)
{
	write_file("target", treasure, sizeof(treasure));
	ck_assert_int_eq(symlink("../target", path), 0);
}
static void make_dangling(const char *path)
{
	ck_assert_int_eq(symlink("../made-through-a-link", path), 0);
}
static void make_loop(const char *path)
{
	ck_assert_int_eq(symlink(strrchr(path, '/') + 1, path), 0);
}
static void make_fifo(const char *path)
{
	ck_assert_int_eq(mkfifo(path, 0644), 0);
}
static void make_directory(const char *path)
{
	char inner[64];

	ck_assert_int_eq(mkdir(path, 0755), 0);
	snprintf(inner, sizeof(inner), "%s/full", path);
	write_file(inner, "x", 1);
}
static void make_device(const char *path)
{
	ck_assert_int_eq(mknod(path, S_IFCHR | 0600, makedev(1, 7)), 0);
}
static void make_socket(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	close(fd);
}

static const struct kind {
	const char *words;
	void (*make)(const char *path);
	mode_t mode;
} kinds[] = {
	{ "a symbolic link", make_link, S_IFLNK },
	{ "a symbolic link", make_dangling, S_IFLNK },
	{ "a symbolic link", make_loop, S_IFLNK },
	{ "a FIFO", make_fifo, S_IFIFO },
	{ "a directory", make_directory, S_IFDIR },
	{ "a socket", make_socket, S_IFSOCK },
	{ "a device", make_device, S_IFCHR },
};
#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

static const char *const names[] = { ".lock", ".ticktail", ".writer" };

/* The ring with the thing of this test in it; false: it cannot be made here. */
static bool make_odd(int i)
{
	char path[64];
	const struct kind *kind = &kinds[i / 3];

	make_ring();
	snprintf(path, sizeof(path), "r/%s", names[i % 3]);
	ck_assert_int_eq(unlink(path), 0);
	if (kind->make == make_device && geteuid() != 0) {
		printf("# SKIP a device takes root\n");
		return false;
	}
	kind->make(path);
	return true;
}

static void targets_are_as_they_were(int i)
{
	char bytes[sizeof(treasure)];

	ck_assert_int_lt(access("made-through-a-link", F_OK), 0);
	if (kinds[i / 3].make != make_link)
		return;
	ck_assert_int_eq(size_of("target"), (off_t)sizeof(treasure));
	read_file("target", bytes, sizeof(bytes));
	ck_assert_int_eq(memcmp(bytes, treasure, sizeof(bytes)), 0);
}

static bool says(const char *text, int i)
{
	return strstr(text, names[i % 3]) && strstr(text, kinds[i / 3].words) &&
	       strstr(text, "recover");
}

#define REFUSES(call) \
	do { \
		int refused = (call); \
		ck_assert_msg(refused == TT_E_FORMAT && says(err.text, _i), \
			      "%s: %d: %s", #call, refused, err.text); \
	} while (0)

static unsigned told;

static void count_words(void *ctx, const struct tt_damage *damage)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s %s", damage->path, damage->what);
	told += says(text, *(const int *)ctx);
}

START_TEST(each_odd_thing_is_refused_in_words)
{
	struct tt_ring_opts opts = TT_RING_OPTS_INIT;
	struct tt_ring_prune_opts prune = TT_RING_PRUNE_OPTS_INIT;
	struct tt_ring_writer *writer;
	struct tt_ring_status status;
	static bool seen[RING_ROWS];
	uint64_t found;
	int i = _i;

	if (!make_odd(_i))
		return;
	REFUSES(tt_ring_writer_open(&writer, "r", NULL, &err));
	REFUSES(tt_ring_merge("r", 2, NULL, NULL, NULL, &err));
	prune.keep_bytes = 1;
	REFUSES(tt_ring_prune("r", &prune, NULL, &err));
	opts.keep = 8;
	REFUSES(tt_ring_set("r", &opts, &err));
	told = 0;
	OK(tt_ring_verify("r", count_words, &i, &found, &err));
	ck_assert_uint_eq(told, 1);
	OK(tt_ring_status("r", &status, &err));
	ck_assert_uint_eq(status.damage_count, 1);
	ck_assert_str_eq(status.damage[0].file_name, names[_i % 3]);
	ck_assert_msg(strstr(status.damage[0].text, kinds[_i / 3].words), "%s",
		      status.damage[0].text);
	tt_ring_status_free(&status);
	read_ring(seen);
	for (size_t row = 0; row < RING_ROWS; row++)
		ck_assert_msg(seen[row], "row %zu", row);
	targets_are_as_they_were(_i);
	tt_ring_info_free(&before);
}
END_TEST

/* It went aside as what it is. */
static void is_aside(int i)
{
	char path[80];
	struct stat st;

	snprintf(path, sizeof(path), "r/%s.bad-1", names[i % 3]);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & S_IFMT, kinds[i / 3].mode);
	snprintf(path, sizeof(path), "r/%s", names[i % 3]);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(S_ISREG(st.st_mode));
	ck_assert_int_eq(st.st_mode & 0022, 0);
}

START_TEST(each_odd_thing_is_put_aside)
{
	struct tt_recover_opts opts = TT_RECOVER_OPTS_INIT;
	static bool seen[RING_ROWS];
	bool any = false;

	if (!make_odd(_i))
		return;
	opts.dry_run = true;
	OK(tt_ring_recover("r", &opts, &report, &err));
	for (size_t k = 0; k < report.item_count; k++)
		any = any || strstr(report.items[k].what, kinds[_i / 3].words);
	ck_assert(any);
	tt_recover_report_free(&report);
	recover_ring("odd");
	is_aside(_i);
	targets_are_as_they_were(_i);
	ck_assert_uint_eq(read_ring(seen), 0);
	for (size_t row = 0; row < RING_ROWS; row++)
		ck_assert_msg(seen[row], "row %zu", row);
	ring_goes_on();
	ring_is_clean();
	tt_ring_info_free(&before);
}
END_TEST

/* A writer that lives has its lock in a file that is no longer there. */
START_TEST(a_writer_under_which_it_was_put_is_named)
{
	struct tt_ring_writer *writer;
	char pid[32];

	make_ring();
	writer = open_writer("r");
	ck_assert_int_eq(rename("r/.writer", "r/elsewhere"), 0);
	make_link("r/.writer");
	ck_assert_int_eq(tt_ring_recover("r", NULL, &report, &err), TT_E_BUSY);
	snprintf(pid, sizeof(pid), "process %d", (int)getpid());
	ck_assert_msg(strstr(err.text, pid) && strstr(err.text, "symbolic link"), "%s",
		      err.text);
	tt_recover_report_free(&report);
	ck_assert_int_eq(tt_ring_writer_close(writer), 0);
	recover_ring("odd");
	tt_ring_info_free(&before);
}
END_TEST

/* With both gone nothing tells whether a writer lives. */
START_TEST(two_odd_things_take_a_hand)
{
	make_ring();
	ck_assert_int_eq(unlink("r/.writer") + unlink("r/.ticktail"), 0);
	make_fifo("r/.writer");
	make_directory("r/.ticktail");
	ck_assert_int_eq(tt_ring_recover("r", NULL, &report, &err), TT_E_FORMAT);
	ck_assert_msg(strstr(err.text, "stop all writers, remove r/.writer"), "%s",
		      err.text);
	tt_recover_report_free(&report);
	ck_assert_int_eq(unlink("r/.writer"), 0);
	recover_ring("odd");
	tt_ring_info_free(&before);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_loop_test(tcase, each_odd_thing_is_refused_in_words, 0, 3 * KINDS);
	tcase_add_loop_test(tcase, each_odd_thing_is_put_aside, 0, 3 * KINDS);
	tcase_add_test(tcase, a_writer_under_which_it_was_put_is_named);
	tcase_add_test(tcase, two_odd_things_take_a_hand);
}

int main(void)
{
	return ring_suite_with("recover odd things", add);
}
