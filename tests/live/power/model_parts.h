/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the model share.  Whoever holds the model's lock may look and change. */
#ifndef TEST_POWER_MODEL_PARTS_H
#define TEST_POWER_MODEL_PARTS_H

#include <limits.h>
#include <stddef.h>

#include "live/power/model.h"

#define PAGE 4096u

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

extern struct inode model_inodes[]; /* the first is root */
extern int model_inode_count;
extern struct op model_ops[];
extern int model_op_count;

/* A model that is wrong must not look like a library that is right. */
void model_die(const char *what, const char *name);
#define MUST(cond, name) \
	do { \
		if (!(cond)) \
			model_die(#cond, name); \
	} while (0)

/* Where it is in model_inodes, or -1. */
int model_find_ino(ino_t ino);
/* The bytes as every process sees them now; mapped stores included.  The caller frees them. */
unsigned char *model_bytes_of(const struct inode *inode, size_t *size_out);
void model_put_name(struct name **names, size_t *count, const char *name, int inode);
/* One operation as far as it concerns dir. */
void model_apply(const struct op *op, int dir, struct name **names, size_t *count);
/* Those of a page's or a sector's bytes that both sizes cover. */
void model_write_page(unsigned char *disk, size_t disk_size, const unsigned char *now,
		      size_t size, size_t at, size_t unit);

#endif
