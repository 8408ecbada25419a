/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "ticktail/error.h"

static int map_range(struct tti_map *map, int fd, off_t offset, size_t bytes, int prot)
{
	void *addr = mmap(NULL, bytes, prot, MAP_SHARED, fd, offset);

	if (addr == MAP_FAILED)
		return -errno;
	madvise(addr, bytes, MADV_DONTFORK); /* advice: correct without it */
	*map = (struct tti_map){ addr, bytes, getpid() };
	return TT_OK;
}

int tti_map_open(struct tti_map *map, int fd, uint64_t bytes, bool writable)
{
	*map = (struct tti_map){ 0 };
	if (bytes == 0)
		return TT_OK;
	if (bytes > SIZE_MAX / 2)
		return -EFBIG;
	return map_range(map, fd, 0, (size_t)bytes,
			 writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

int tti_map_part(struct tti_map *map, int fd, uint64_t offset, size_t bytes)
{
	*map = (struct tti_map){ 0 };
	return map_range(map, fd, (off_t)offset, bytes, PROT_READ | PROT_WRITE);
}

void tti_map_close(struct tti_map *map)
{
	int saved = errno;

	if (map->addr && map->pid == getpid())
		munmap(map->addr, map->bytes);
	*map = (struct tti_map){ 0 };
	errno = saved;
}
