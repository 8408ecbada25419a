/* SPDX-License-Identifier: Apache-2.0 */
#include "live/power/model.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u
#define SECTOR 512u
#define INODES_MAX 4096
#define OPS_MAX 8192
#define PLACES_MAX 1024

/* A file or a directory; known by number for ever, whatever its names are. */
struct inode {
	ino_t ino;
	int fd; /* open, so that the number is not given to another file */
	bool is_dir;
	unsigned char *disk; /* what the disk holds, disk_size bytes */
	size_t disk_size;
	size_t grown_from, grown_to; /* bytes that come with the size; none when equal */
	int made;		     /* a directory in an image being made: whether, */
	char made_as[PATH_MAX];	     /* a file: under which path */
	struct name *names;	     /* of a directory, as of its last sync */
	size_t name_count;
};

struct name {
	char name[256];
	int inode;
};

/* One operation on names that no sync has made durable yet. */
struct op {
	int from_dir, to_dir; /* -1: none; a rename has both */
	char from[256], to[256];
	int inode;
	bool on_disk; /* written back by chance */
	bool in_image;
};

static struct inode inodes[INODES_MAX];
static int inode_count;
static struct op ops[OPS_MAX];
static int op_count;
static struct {
	const char *name;
	unsigned times;
} places[PLACES_MAX];
static int place_count;

static bool active;
static uint64_t random_state;
static uint64_t
	writeback_in; /* a page or an operation goes to disk at one place of so many; 0 never */
static model_place_fn *place_fn;
static void *place_ctx;
static model_passage_fn *passage_fn;
static void *passage_ctx;
static const char *boot_path;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;

/* A model that is wrong must not look like a library that is right. */
static void die(const char *what, const char *name)
{
	fprintf(stderr, "# power model: %s: %s: %s\n", what, name, strerror(errno));
	_exit(99);
}

#define MUST(cond, name) \
	do { \
		if (!(cond)) \
			die(#cond, name); \
	} while (0)

uint64_t model_random(uint64_t n)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return n ? (z ^ (z >> 31)) % n : 0;
}

/* ---- Inodes ---- */

static int find_ino(ino_t ino)
{
	for (int i = 0; i < inode_count; i++)
		if (inodes[i].ino == ino)
			return i;
	return -1;
}

static int add_inode(const struct stat *st, int fd)
{
	struct inode *inode = &inodes[inode_count];
	char path[64];

	MUST(inode_count < INODES_MAX, "too many files");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*inode = (struct inode){ .ino = st->st_ino, .is_dir = S_ISDIR(st->st_mode) };
	inode->fd = open(path, O_RDONLY | O_CLOEXEC);
	MUST(inode->fd >= 0, path);
	return inode_count++;
}

static size_t size_of(const struct inode *inode)
{
	struct stat st;

	MUST(fstat(inode->fd, &st) == 0, "fstat");
	return (size_t)st.st_size;
}

/* The bytes as every process sees them now; mapped stores included. */
static unsigned char *bytes_of(const struct inode *inode, size_t *size_out)
{
	size_t size = size_of(inode), got = 0;
	unsigned char *bytes = malloc(size + 1);

	MUST(bytes, "malloc");
	while (got < size) {
		ssize_t n = pread(inode->fd, bytes + got, size - got, (off_t)got);

		MUST(n > 0, "pread");
		got += (size_t)n;
	}
	*size_out = size;
	return bytes;
}

static void sync_file(struct inode *inode)
{
	free(inode->disk);
	inode->disk = bytes_of(inode, &inode->disk_size);
	inode->grown_from = inode->grown_to = 0;
}

/* ---- Names ---- */

static void put_name(struct name **names, size_t *count, const char *name, int inode)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp((*names)[i].name, name) == 0) {
			(*names)[i].inode = inode;
			return;
		}
	*names = realloc(*names, (*count + 1) * sizeof(**names));
	MUST(*names, "realloc");
	snprintf((*names)[*count].name, sizeof((*names)[0].name), "%s", name);
	(*names)[(*count)++].inode = inode;
}

/* inode < 0: whatever is there; else only when it is that one. */
static void drop_name(struct name *names, size_t *count, const char *name, int inode)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp(names[i].name, name) == 0 &&
		    (inode < 0 || names[i].inode == inode)) {
			names[i] = names[--*count];
			return;
		}
}

/* One operation as far as it concerns dir. */
static void apply(const struct op *op, int dir, struct name **names, size_t *count)
{
	if (op->from_dir == dir)
		drop_name(*names, count, op->from, op->inode);
	if (op->to_dir == dir)
		put_name(names, count, op->to, op->inode);
}

/* All so far: what the directory looks like to processes. */
static void sync_dir(int dir)
{
	struct inode *inode = &inodes[dir];
	int kept = 0;

	for (int i = 0; i < op_count; i++)
		apply(&ops[i], dir, &inode->names, &inode->name_count);
	for (int i = 0; i < op_count; i++) {
		/* the other half of a rename between directories is as durable as this one */
		if (ops[i].from_dir == dir || ops[i].to_dir == dir)
			ops[i].on_disk = true;
		if (ops[i].from_dir == dir)
			ops[i].from_dir = -1;
		if (ops[i].to_dir == dir)
			ops[i].to_dir = -1;
		if (ops[i].from_dir >= 0 || ops[i].to_dir >= 0)
			ops[kept++] = ops[i];
	}
	op_count = kept;
}

static struct op *add_op(int inode)
{
	MUST(op_count < OPS_MAX, "too many operations");
	ops[op_count] = (struct op){ .from_dir = -1, .to_dir = -1, .inode = inode };
	return &ops[op_count++];
}

/* Directory and last component; dir -1 when it is not below root. */
static struct model_name locate(int dirfd, const char *path)
{
	struct model_name found = { .dir = -1, .inode = -1 };
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];
	struct stat st;

	if (!slash)
		snprintf(parent, sizeof(parent), ".");
	else if (slash == path)
		snprintf(parent, sizeof(parent), "/");
	else
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	if (fstatat(dirfd, parent, &st, 0) < 0)
		return found;
	found.dir = find_ino(st.st_ino);
	snprintf(found.name, sizeof(found.name), "%s", slash ? slash + 1 : path);
	return found;
}

/* What the name stands for now. */
struct model_name model_find(int dirfd, const char *path)
{
	struct model_name found = locate(dirfd, path);
	struct stat st;

	if (found.dir >= 0 && fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		found.inode = find_ino(st.st_ino);
	return found;
}

static void link_to(const struct model_name *to, int inode)
{
	struct op *op = add_op(inode);

	op->to_dir = to->dir;
	memcpy(op->to, to->name, sizeof(op->to));
}

void model_opened(int fd, int dirfd, const char *path)
{
	struct model_name to = locate(dirfd, path);
	struct stat st, named;
	bool has_name;
	int inode;

	if (to.dir < 0 || fstat(fd, &st) < 0 ||
	    (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) || find_ino(st.st_ino) >= 0)
		return;
	has_name = fstatat(dirfd, path, &named, 0) == 0 && named.st_ino == st.st_ino;
	inode = add_inode(&st, fd);
	if (has_name) /* else O_TMPFILE, or gone again */
		link_to(&to, inode);
}

void model_synced(int fd)
{
	struct stat st;
	int inode;

	if (fstat(fd, &st) < 0)
		return;
	inode = find_ino(st.st_ino);
	if (inode < 0)
		return;
	if (inodes[inode].is_dir)
		sync_dir(inode);
	else
		sync_file(&inodes[inode]);
}

static struct inode *file_of(int fd)
{
	struct stat st;
	int inode = fstat(fd, &st) == 0 ? find_ino(st.st_ino) : -1;

	return inode < 0 || inodes[inode].is_dir ? NULL : &inodes[inode];
}

size_t model_size(int fd)
{
	const struct inode *inode = file_of(fd);

	return inode ? size_of(inode) : 0;
}

void model_appended(int fd, size_t size_before, size_t from, size_t to)
{
	struct inode *inode = file_of(fd);

	if (!inode || to <= size_before)
		return;
	if (inode->grown_from == inode->grown_to)
		inode->grown_from = from;
	inode->grown_to = to;
}

void model_linked(int dirfd, const char *path)
{
	struct model_name to = model_find(dirfd, path);

	if (to.dir >= 0) {
		MUST(to.inode >= 0, path); /* a file that was made where nobody looked */
		link_to(&to, to.inode);
	}
}

void model_unlinked(int dirfd, const char *path)
{
	struct model_name from = locate(dirfd, path);
	struct op *op;

	if (from.dir < 0)
		return;
	op = add_op(-1); /* whatever it names */
	op->from_dir = from.dir;
	memcpy(op->from, from.name, sizeof(op->from));
}

void model_renamed(const struct model_name *from, int dirfd, const char *to)
{
	struct model_name there = locate(dirfd, to);
	struct op *op;

	if (from->dir < 0 && there.dir < 0)
		return;
	MUST(from->inode >= 0, to);
	op = add_op(from->inode);
	op->from_dir = from->dir;
	op->to_dir = there.dir;
	memcpy(op->from, from->name, sizeof(op->from));
	memcpy(op->to, there.name, sizeof(op->to));
}

/* ---- Start ---- */

static int scan(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), self;
	struct dirent *found;
	struct stat st;
	DIR *dir;

	MUST(fd >= 0 && fstat(fd, &st) == 0, path);
	self = add_inode(&st, fd);
	dir = fdopendir(fd);
	MUST(dir, path);
	while ((found = readdir(dir)) != NULL) {
		int child;

		if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
			continue;
		MUST(fstatat(fd, found->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0, path);
		child = find_ino(st.st_ino);
		if (child < 0 && S_ISDIR(st.st_mode)) {
			child = scan(fd, found->d_name);
		} else if (child < 0 && S_ISREG(st.st_mode)) {
			int at = openat(fd, found->d_name, O_RDONLY | O_CLOEXEC);

			MUST(at >= 0, found->d_name);
			child = add_inode(&st, at);
			close(at);
			sync_file(&inodes[child]);
		}
		if (child >= 0)
			put_name(&inodes[self].names, &inodes[self].name_count,
				 found->d_name, child);
	}
	closedir(dir);
	return self;
}

void model_start(const char *root, uint64_t seed)
{
	inside++;
	for (int i = 0; i < inode_count; i++) { /* of a model before */
		close(inodes[i].fd);
		free(inodes[i].disk);
		free(inodes[i].names);
		inodes[i] = (struct inode){ .fd = -1 };
	}
	inode_count = op_count = 0;
	random_state = seed * 2 + 1;
	writeback_in = (uint64_t[]){ 0, 40, 4 }[model_random(3)];
	scan(AT_FDCWD, root);
	active = true;
	inside--;
}

void model_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void model_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

void model_on_place(model_place_fn *fn, void *ctx)
{
	place_fn = fn;
	place_ctx = ctx;
}

void model_on_passage(model_passage_fn *fn, void *ctx)
{
	passage_ctx = ctx;
	passage_fn = fn;
}

void model_passed(const char *failpoint)
{
	if (passage_fn)
		passage_fn(passage_ctx, failpoint);
}

void model_keep_back(void)
{
	writeback_in = 0;
}

void model_boot(const char *path_of_boot_id)
{
	boot_path = path_of_boot_id;
}

const char *model_boot_path(void)
{
	return boot_path;
}

/* ---- Places ---- */

static unsigned times_seen(const char *name)
{
	int i = 0;

	while (i < place_count && strcmp(places[i].name, name) != 0)
		i++;
	if (i == place_count) {
		MUST(place_count < PLACES_MAX, name);
		places[place_count++].name = name;
	}
	return places[i].times++;
}

static void write_page(unsigned char *disk, size_t disk_size, const unsigned char *now,
		       size_t size, size_t at, size_t unit)
{
	size_t end = at + unit;

	end = end < size ? end : size;
	end = end < disk_size ? end : disk_size;
	if (at < end)
		memcpy(disk + at, now + at, end - at);
}

/* The kernel writes back what it likes when it likes. */
static void write_back(void)
{
	struct inode *inode = &inodes[model_random((uint64_t)inode_count)];
	unsigned char *now;
	size_t size;

	if (op_count > 0 && model_random(3) == 0)
		ops[model_random((uint64_t)op_count)].on_disk = true;
	if (inode->is_dir)
		return;
	now = bytes_of(inode, &size);
	if (size > inode->disk_size && model_random(2) == 0) {
		inode->disk = realloc(inode->disk, size);
		MUST(inode->disk, "realloc");
		memset(inode->disk + inode->disk_size, 0, size - inode->disk_size);
		memcpy(inode->disk + inode->grown_from, now + inode->grown_from,
		       inode->grown_to - inode->grown_from);
		inode->disk_size = size;
	}
	if (inode->disk_size > 0)
		write_page(inode->disk, inode->disk_size, now, size,
			   model_random((inode->disk_size + PAGE - 1) / PAGE) * PAGE,
			   PAGE);
	free(now);
}

static void place(const char *name)
{
	unsigned times = times_seen(name);

	if (writeback_in && model_random(writeback_in) == 0)
		write_back();
	if (place_fn)
		place_fn(place_ctx, name, times);
}

void model_place(const char *name)
{
	if (!active || inside)
		return;
	inside++;
	pthread_mutex_lock(&mutex);
	place(name);
	pthread_mutex_unlock(&mutex);
	inside--;
}

bool model_enter(const char *call)
{
	if (!active || inside)
		return false;
	inside++;
	pthread_mutex_lock(&mutex);
	place(call);
	return true;
}

void model_leave(const char *call)
{
	int saved = errno;

	place(call);
	pthread_mutex_unlock(&mutex);
	inside--;
	errno = saved;
}

/* ---- What was called ---- */

static char trace[1 << 20];
static size_t trace_len;
static bool tracing;
static char met[64][32]; /* names of a ring's files */

void model_trace_begin(void)
{
	tracing = true;
	trace_len = 0;
	trace[0] = '\0';
	memset(met, 0, sizeof(met));
}

const char *model_trace(void)
{
	return trace;
}

static bool find_root(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && find_ino(st.st_ino) == 0;
}

/* 1796005624040470109.npy.cut -> 1.npy.cut */
static void note_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t digits = strspn(name, "0123456789");
	int i = 0;

	if (name[0] == '#') /* O_TMPFILE */
		name = "nameless";
	else if (strncmp(name, ".ticktail-", 10) == 0) /* of an inode number or a pid */
		name = "copy";
	else if (find_root(path))
		name = ".";
	if (digits >= 10 && digits < sizeof(met[0])) {
		while (i < 63 && met[i][0] &&
		       (strncmp(met[i], name, digits) != 0 || met[i][digits]))
			i++;
		memcpy(met[i], name, digits);
		trace_len += (size_t)snprintf(trace + trace_len, 512, " %d", i + 1);
		name += digits;
	} else {
		trace_len += (size_t)snprintf(trace + trace_len, 512, " ");
	}
	trace_len += (size_t)snprintf(trace + trace_len, 512, "%.*s",
				      strstr(name, ".new-") /* a pid follows */
					      ? (int)(strstr(name, ".new-") - name) + 4
					      : 255,
				      name);
}

void model_note(const char *call, int fd, const char *path, const char *to)
{
	char link[64], file[PATH_MAX] = "";

	if (!tracing || trace_len + 2048 > sizeof(trace))
		return;
	if (fd >= 0) {
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, file, sizeof(file) - 1);
		file[n > 0 ? n : 0] = '\0';
		path = file;
	}
	trace_len += (size_t)snprintf(trace + trace_len, 512, "%s", call);
	if (path)
		note_name(path);
	if (to)
		note_name(to);
	trace_len += (size_t)snprintf(trace + trace_len, 2, "\n");
}

/* ---- Images ---- */

struct odds { /* in 100 */
	unsigned page, name, unit;
};

static bool chance(unsigned odds)
{
	return model_random(100) < odds;
}

static void make_file(struct inode *inode, const char *path, const struct odds *odds)
{
	size_t size, left;
	unsigned char *now = bytes_of(inode, &size), *disk;
	size_t image_size = chance(odds->page) ? size : inode->disk_size;
	struct stat st;
	int fd;

	disk = calloc(1, image_size + 1);
	MUST(disk && fstat(inode->fd, &st) == 0, path);
	memcpy(disk, inode->disk ? inode->disk : disk,
	       image_size < inode->disk_size ? image_size : inode->disk_size);
	for (size_t at = 0; at < image_size; at += odds->unit)
		if (chance(odds->page))
			write_page(disk, image_size, now, size, at, odds->unit);
	if (image_size >= inode->grown_to)
		memcpy(disk + inode->grown_from, now + inode->grown_from,
		       inode->grown_to - inode->grown_from);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	MUST(fd >= 0 && ftruncate(fd, (off_t)image_size) == 0, path);
	left = image_size;
	for (size_t at = 0; left > 0; at = image_size - left) {
		ssize_t put = pwrite(fd, disk + at, left, (off_t)at);

		MUST(put > 0, path);
		left -= (size_t)put;
	}
	MUST(fchmod(fd, st.st_mode & 0777) == 0, path);
	close(fd);
	free(disk);
	free(now);
}

static void make_dir(int dir, const char *path, const struct odds *odds)
{
	struct name *names = NULL;
	size_t count = 0;
	struct stat st;

	MUST(mkdir(path, 0700) == 0 && fstat(inodes[dir].fd, &st) == 0 &&
		     chmod(path, st.st_mode & 07777) == 0,
	     path);
	inodes[dir].made = 1;
	for (size_t i = 0; i < inodes[dir].name_count; i++)
		put_name(&names, &count, inodes[dir].names[i].name,
			 inodes[dir].names[i].inode);
	for (int i = 0; i < op_count; i++)
		if (ops[i].in_image)
			apply(&ops[i], dir, &names, &count);
	for (size_t i = 0; i < count; i++) {
		struct inode *inode = &inodes[names[i].inode];
		char child[PATH_MAX];

		snprintf(child, sizeof(child), "%s/%s", path, names[i].name);
		if (inode->is_dir) {
			/* a directory has one name: of a rename whose old one was not
			 * known, the first counts */
			if (!inode->made)
				make_dir(names[i].inode, child, odds);
		} else if (inode->made_as[0]) {
			MUST(link(inode->made_as, child) == 0, child);
		} else {
			make_file(inode, child, odds);
			snprintf(inode->made_as, sizeof(inode->made_as), "%s", child);
		}
	}
	free(names);
}

const char *model_made_as(uint64_t ino)
{
	for (int i = 0; i < inode_count; i++)
		if (inodes[i].ino == ino && !inodes[i].is_dir)
			return inodes[i].made_as;
	return NULL;
}

static void make_image(const char *dest, const struct odds *odds)
{
	for (int i = 0; i < op_count; i++)
		ops[i].in_image = ops[i].on_disk || chance(odds->name);
	for (int i = 0; i < inode_count; i++) {
		inodes[i].made = 0;
		inodes[i].made_as[0] = '\0';
	}
	make_dir(0, dest, odds); /* the first one that was scanned */
}

void model_image(const char *dest)
{
	static const unsigned chances[] = { 0, 10, 50, 90, 100 };
	struct odds odds = { chances[model_random(5)], chances[model_random(5)],
			     model_random(4) == 0 ? SECTOR : PAGE };

	make_image(dest, &odds);
}

void model_image_least(const char *dest)
{
	static const struct odds least = { .unit = PAGE };

	make_image(dest, &least);
}
