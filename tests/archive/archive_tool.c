/* SPDX-License-Identifier: Apache-2.0 */
/* An archive, through the public calls, for scripts to compare with what other programs say:
 *	versions ARCHIVE		NAME PREV COMMITTED CURRENT TIMESTAMP, and the datasets
 *	compare ARCHIVE VERSION DATASET FILE.npy
 *					the same type, shape and bytes, read in pieces
 *	list ARCHIVE			stdin has lines VERSION<tab>DATASET<tab>FILE.npy
 *	verify ARCHIVE			damage, a line each; exit 3
 *	backup ARCHIVE DEST
 * TT_SEED chooses the pieces.  libhdf5 does not survive every damaged file; a death or an
 * endless loop inside it is exit 4, so that a script can tell it from one of ours. */
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/num.h"
#include "format/npy.h"
#include "ticktail/archive.h"

static struct tt_error err;

static int failed(const char *what)
{
	fprintf(stderr, "%s: error %d: %s\n", what, err.code, err.text);
	return 1;
}

static int versions(const char *path)
{
	struct tt_archive *a;
	char **names;
	size_t count;

	if (tt_archive_open(&a, path, NULL, &err) < 0)
		return failed("open");
	if (*tt_archive_notes(a))
		printf("notes\t%s\n", tt_archive_notes(a));
	for (size_t i = 0; i < tt_archive_version_count(a); i++) {
		const struct tt_archive_version *v = tt_archive_version(a, i);

		printf("%s\t%s\t%d\t%d\t%s", v->name, v->prev ? v->prev : "-",
		       v->committed, v->current, v->timestamp);
		if (tt_archive_datasets(a, i, &names, &count, &err) < 0)
			return failed(v->name);
		for (size_t k = 0; k < count; k++)
			printf("\t%s", names[k]);
		tt_archive_free_names(names, count);
		putchar('\n');
	}
	tt_archive_close(a);
	return 0;
}

/* ---- compare ---- */

struct npy {
	char *bytes;
	struct tti_npy head;
};

static int load(struct npy *out, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return tti_fail(&err, TT_E_FORMAT, "%s: cannot be read", path);
	out->bytes = malloc(st.st_size);
	if (tti_pread_all(fd, out->bytes, st.st_size, 0) < 0 ||
	    tti_npy_header_length(out->bytes, st.st_size, &out->head.data_off, path,
				  &err) < 0 ||
	    tti_npy_parse(&out->head, out->bytes, out->head.data_off, path, &err) < 0)
		return TT_E_FORMAT;
	close(fd);
	return TT_OK;
}

static uint64_t rnd(void)
{
	return ((uint64_t)random() << 31) ^ random();
}

/* Rows [at, at + n) must be those of the file. */
static int piece(struct tt_dataset *d, const struct npy *npy, uint64_t at, uint64_t n)
{
	uint64_t width = tt_dataset_info(d)->row_bytes;
	char *rows = malloc(n * width + 1);
	int rc;

	rows[n * width] = 0x5a;
	rc = tt_dataset_read(d, at, n, rows, &err);
	if (rc == TT_OK &&
	    (memcmp(rows, npy->bytes + npy->head.data_off + at * width, n * width) != 0 ||
	     rows[n * width] != 0x5a))
		rc = tti_fail(&err, TT_E_DAMAGED, "rows %" PRIu64 " + %" PRIu64 " differ",
			      at, n);
	free(rows);
	return rc;
}

static int same_rows(struct tt_dataset *d, const struct npy *npy)
{
	uint64_t total = npy->head.shape[0], at = 0;
	int rc = piece(d, npy, 0, total);

	while (rc == TT_OK && at < total) {
		uint64_t n = tti_min_u64(1 + rnd() % (total / 5 + 1), total - at);

		rc = piece(d, npy, at, n);
		at += n;
	}
	for (int i = 0; rc == TT_OK && i < 20 && total > 0; i++) {
		at = rnd() % total;
		rc = piece(d, npy, at, rnd() % (total - at + 1));
	}
	if (rc == TT_OK && tt_dataset_read(d, total, 1, NULL, &err) != TT_E_RANGE)
		rc = tti_fail(&err, TT_E_DAMAGED, "a row past the end was given");
	return rc;
}

static int same_kind(const struct tt_dataset_info *info, const struct tti_npy *head)
{
	if (!info->dtype)
		return tti_fail(&err, TT_E_UNSUPPORTED, "strings of variable length");
	if (!tt_dtype_equal(info->dtype, head->dtype))
		return tti_fail(&err, TT_E_DTYPE, "the type is %s, not %s",
				tt_dtype_descr(info->dtype), tt_dtype_descr(head->dtype));
	if (info->rank != head->rank ||
	    memcmp(info->shape, head->shape, 8 * head->rank) != 0)
		return tti_fail(&err, TT_E_MISMATCH, "the shape is another");
	return TT_OK;
}

static int compare(struct tt_archive *a, const char *version, const char *dataset,
		   const char *file)
{
	struct npy npy = { 0 };
	struct tt_dataset *d = NULL;
	size_t at;
	int rc = load(&npy, file);

	if (rc == TT_OK)
		rc = tt_archive_find_version(a, version, &at, &err);
	if (rc == TT_OK)
		rc = tt_dataset_open(&d, a, at, dataset, &err);
	if (rc == TT_OK)
		rc = same_kind(tt_dataset_info(d), &npy.head);
	if (rc == TT_OK)
		rc = same_rows(d, &npy);
	tt_dataset_close(d);
	tti_npy_fini(&npy.head);
	free(npy.bytes);
	if (rc < 0)
		fprintf(stderr, "version %s dataset %s: ", version, dataset);
	return rc < 0 ? failed(file) : 0;
}

static int list(const char *path)
{
	struct tt_archive *a;
	char *line = NULL;
	size_t room = 0;
	int bad = 0;

	if (tt_archive_open(&a, path, NULL, &err) < 0)
		return failed("open");
	while (getline(&line, &room, stdin) > 0) {
		char *version = strtok(line, "\t"), *dataset = strtok(NULL, "\t"),
		     *file = strtok(NULL, "\n");

		bad |= compare(a, version, dataset, file);
	}
	free(line);
	tt_archive_close(a);
	return bad;
}

static int compare_one(char **argv)
{
	struct tt_archive *a;
	int rc;

	if (tt_archive_open(&a, argv[0], NULL, &err) < 0)
		return failed("open");
	rc = compare(a, argv[1], argv[2], argv[3]);
	tt_archive_close(a);
	return rc;
}

/* ---- verify ---- */

static void print_damage(void *ctx, const struct tt_damage *d)
{
	(void)ctx;
	printf("%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\n", d->path,
	       d->version ? d->version : "-", d->dataset ? d->dataset : "-", d->chunk,
	       d->row, d->row_count, d->what);
}

static int verify(const char *path)
{
	uint64_t found = 0;

	if (tt_archive_verify(path, print_damage, NULL, &found, &err) < 0)
		return failed("verify");
	return found ? 3 : 0;
}

/* Whose code was running: the first frame below the kernel's return to libc that is not libc's.
 * What comes before are this handler and, in a sanitizer's build, its own frames; its
 * replacements of memcpy and the like may also stand between libhdf5 and the fault. */
static void on_signal(int sig)
{
	void *frames[64];
	int count = backtrace(frames, 64);
	bool below = false;
	Dl_info info;

	for (int i = 0; i < count; i++) {
		if (!dladdr(frames[i], &info) || !info.dli_fname)
			continue;
		if (strstr(info.dli_fname, "/libc.so")) {
			below = true;
			continue;
		}
		if (!below || strstr(info.dli_fname, "/libasan.so"))
			continue;
		if (strstr(info.dli_fname, "libhdf5"))
			_exit(4);
		break;
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

static void watch(void)
{
	void *frame;

	backtrace(&frame, 1); /* loads what it needs while memory is sound */
	signal(SIGSEGV, on_signal);
	signal(SIGBUS, on_signal);
	signal(SIGFPE, on_signal);
	signal(SIGABRT, on_signal);
	signal(SIGALRM, on_signal);
	alarm(60);
}

int main(int argc, char **argv)
{
	const char *seed = getenv("TT_SEED");

	watch();
	srandom(seed ? (unsigned)strtoul(seed, NULL, 10) : 1);
	if (argc == 3 && strcmp(argv[1], "versions") == 0)
		return versions(argv[2]);
	if (argc == 6 && strcmp(argv[1], "compare") == 0)
		return compare_one(argv + 2);
	if (argc == 3 && strcmp(argv[1], "list") == 0)
		return list(argv[2]);
	if (argc == 3 && strcmp(argv[1], "verify") == 0)
		return verify(argv[2]);
	if (argc == 4 && strcmp(argv[1], "backup") == 0)
		return tt_archive_backup(argv[2], argv[3], &err) < 0 ? failed("backup")
								     : 0;
	return 2;
}
