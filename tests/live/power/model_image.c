/* SPDX-License-Identifier: Apache-2.0 */
/* What may be left of the tree, made anew as files.  Nothing of the model changes but what an
 * image being made needs. */
#include "live/power/model_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR 512u

void model_write_page(unsigned char *disk, size_t disk_size, const unsigned char *now,
		      size_t size, size_t at, size_t unit)
{
	size_t end = at + unit;

	end = end < size ? end : size;
	end = end < disk_size ? end : disk_size;
	if (at < end)
		memcpy(disk + at, now + at, end - at);
}

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
	unsigned char *now = model_bytes_of(inode, &size), *disk;
	size_t image_size = chance(odds->page) ? size : inode->disk_size;
	struct stat st;
	int fd;

	disk = calloc(1, image_size + 1);
	MUST(disk && fstat(inode->fd, &st) == 0, path);
	memcpy(disk, inode->disk ? inode->disk : disk,
	       image_size < inode->disk_size ? image_size : inode->disk_size);
	for (size_t at = 0; at < image_size; at += odds->unit)
		if (chance(odds->page))
			model_write_page(disk, image_size, now, size, at, odds->unit);
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

	MUST(mkdir(path, 0700) == 0 && fstat(model_inodes[dir].fd, &st) == 0 &&
		     chmod(path, st.st_mode & 07777) == 0,
	     path);
	model_inodes[dir].made = 1;
	for (size_t i = 0; i < model_inodes[dir].name_count; i++)
		model_put_name(&names, &count, model_inodes[dir].names[i].name,
			       model_inodes[dir].names[i].inode);
	for (int i = 0; i < model_op_count; i++)
		if (model_ops[i].in_image)
			model_apply(&model_ops[i], dir, &names, &count);
	for (size_t i = 0; i < count; i++) {
		struct inode *inode = &model_inodes[names[i].inode];
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
	for (int i = 0; i < model_inode_count; i++)
		if (model_inodes[i].ino == ino && !model_inodes[i].is_dir)
			return model_inodes[i].made_as;
	return NULL;
}

static void make_image(const char *dest, const struct odds *odds)
{
	for (int i = 0; i < model_op_count; i++)
		model_ops[i].in_image = model_ops[i].on_disk || chance(odds->name);
	for (int i = 0; i < model_inode_count; i++) {
		model_inodes[i].made = 0;
		model_inodes[i].made_as[0] = '\0';
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
