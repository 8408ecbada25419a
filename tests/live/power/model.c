/* SPDX-License-Identifier: Apache-2.0 */
/* What the model knows of files and names, and the places where the power may fail. */
#include "live/power/model_parts.h"

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

#define INODES_MAX 4096
#define OPS_MAX 8192
#define PLACES_MAX 1024

struct inode model_inodes[INODES_MAX];
int model_inode_count;
struct op model_ops[OPS_MAX];
int model_op_count;
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

void model_die(const char *what, const char *name)
{
	fprintf(stderr, "# power model: %s: %s: %s\n", what, name, strerror(errno));
	_exit(99);
}

uint64_t model_random(uint64_t n)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return n ? (z ^ (z >> 31)) % n : 0;
}

/* ---- Inodes ---- */

int model_find_ino(ino_t ino)
{
	for (int i = 0; i < model_inode_count; i++)
		if (model_inodes[i].ino == ino)
			return i;
	return -1;
}

static int add_inode(const struct stat *st, int fd)
{
	struct inode *inode = &model_inodes[model_inode_count];
	char path[64];

	MUST(model_inode_count < INODES_MAX, "too many files");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*inode = (struct inode){ .ino = st->st_ino, .is_dir = S_ISDIR(st->st_mode) };
	inode->fd = open(path, O_RDONLY | O_CLOEXEC);
	MUST(inode->fd >= 0, path);
	return model_inode_count++;
}

static size_t size_of(const struct inode *inode)
{
	struct stat st;

	MUST(fstat(inode->fd, &st) == 0, "fstat");
	return (size_t)st.st_size;
}

/* The bytes as every process sees them now; mapped stores included. */
unsigned char *model_bytes_of(const struct inode *inode, size_t *size_out)
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
	inode->disk = model_bytes_of(inode, &inode->disk_size);
	inode->grown_from = inode->grown_to = 0;
}

/* ---- Names ---- */

void model_put_name(struct name **names, size_t *count, const char *name, int inode)
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
void model_apply(const struct op *op, int dir, struct name **names, size_t *count)
{
	if (op->from_dir == dir)
		drop_name(*names, count, op->from, op->inode);
	if (op->to_dir == dir)
		model_put_name(names, count, op->to, op->inode);
}

/* All so far: what the directory looks like to processes. */
static void sync_dir(int dir)
{
	struct inode *inode = &model_inodes[dir];
	int kept = 0;

	for (int i = 0; i < model_op_count; i++)
		model_apply(&model_ops[i], dir, &inode->names, &inode->name_count);
	for (int i = 0; i < model_op_count; i++) {
		/* the other half of a rename between directories is as durable as this one */
		if (model_ops[i].from_dir == dir || model_ops[i].to_dir == dir)
			model_ops[i].on_disk = true;
		if (model_ops[i].from_dir == dir)
			model_ops[i].from_dir = -1;
		if (model_ops[i].to_dir == dir)
			model_ops[i].to_dir = -1;
		if (model_ops[i].from_dir >= 0 || model_ops[i].to_dir >= 0)
			model_ops[kept++] = model_ops[i];
	}
	model_op_count = kept;
}

static struct op *add_op(int inode)
{
	MUST(model_op_count < OPS_MAX, "too many operations");
	model_ops[model_op_count] =
		(struct op){ .from_dir = -1, .to_dir = -1, .inode = inode };
	return &model_ops[model_op_count++];
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
	found.dir = model_find_ino(st.st_ino);
	snprintf(found.name, sizeof(found.name), "%s", slash ? slash + 1 : path);
	return found;
}

/* What the name stands for now. */
struct model_name model_find(int dirfd, const char *path)
{
	struct model_name found = locate(dirfd, path);
	struct stat st;

	if (found.dir >= 0 && fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		found.inode = model_find_ino(st.st_ino);
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
	    (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
	    model_find_ino(st.st_ino) >= 0)
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
	inode = model_find_ino(st.st_ino);
	if (inode < 0)
		return;
	if (model_inodes[inode].is_dir)
		sync_dir(inode);
	else
		sync_file(&model_inodes[inode]);
}

static struct inode *file_of(int fd)
{
	struct stat st;
	int inode = fstat(fd, &st) == 0 ? model_find_ino(st.st_ino) : -1;

	return inode < 0 || model_inodes[inode].is_dir ? NULL : &model_inodes[inode];
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
		child = model_find_ino(st.st_ino);
		if (child < 0 && S_ISDIR(st.st_mode)) {
			child = scan(fd, found->d_name);
		} else if (child < 0 && S_ISREG(st.st_mode)) {
			int at = openat(fd, found->d_name, O_RDONLY | O_CLOEXEC);

			MUST(at >= 0, found->d_name);
			child = add_inode(&st, at);
			close(at);
			sync_file(&model_inodes[child]);
		}
		if (child >= 0)
			model_put_name(&model_inodes[self].names,
				       &model_inodes[self].name_count, found->d_name,
				       child);
	}
	closedir(dir);
	return self;
}

void model_start(const char *root, uint64_t seed)
{
	inside++;
	for (int i = 0; i < model_inode_count; i++) { /* of a model before */
		close(model_inodes[i].fd);
		free(model_inodes[i].disk);
		free(model_inodes[i].names);
		model_inodes[i] = (struct inode){ .fd = -1 };
	}
	model_inode_count = model_op_count = 0;
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

/* The kernel writes back what it likes when it likes. */
static void write_back(void)
{
	struct inode *inode = &model_inodes[model_random((uint64_t)model_inode_count)];
	unsigned char *now;
	size_t size;

	if (model_op_count > 0 && model_random(3) == 0)
		model_ops[model_random((uint64_t)model_op_count)].on_disk = true;
	if (inode->is_dir)
		return;
	now = model_bytes_of(inode, &size);
	if (size > inode->disk_size && model_random(2) == 0) {
		inode->disk = realloc(inode->disk, size);
		MUST(inode->disk, "realloc");
		memset(inode->disk + inode->disk_size, 0, size - inode->disk_size);
		memcpy(inode->disk + inode->grown_from, now + inode->grown_from,
		       inode->grown_to - inode->grown_from);
		inode->disk_size = size;
	}
	if (inode->disk_size > 0)
		model_write_page(
			inode->disk, inode->disk_size, now, size,
			model_random((inode->disk_size + PAGE - 1) / PAGE) * PAGE, PAGE);
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
