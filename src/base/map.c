/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <errno.h>
#include <sys/mman.h>
#include "ticktail/error.h"

int tti_map_open(struct tti_map *map, int fd, uint64_t bytes, bool writable)
{
	void *addr;

	*map = (struct tti_map){ NULL, 0 };
	if (bytes == 0)
		return TT_OK;
	if (bytes > SIZE_MAX / 2)
		return -EFBIG;
	addr = mmap(NULL, (size_t)bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ,
		    MAP_SHARED, fd, 0);
	if (addr == MAP_FAILED)
		return -errno;
	madvise(addr, (size_t)bytes, MADV_DONTFORK); /* advice: correct without it */
	*map = (struct tti_map){ addr, (size_t)bytes };
	return TT_OK;
}

void tti_map_close(struct tti_map *map)
{
	int saved = errno;

	if (map->addr)
		munmap(map->addr, map->bytes);
	*map = (struct tti_map){ NULL, 0 };
	errno = saved;
}
