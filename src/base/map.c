/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
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

#ifndef MADV_POPULATE_READ /* since Linux 5.14 and glibc 2.35 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

int tti_map_populate(const struct tti_map *map, uint64_t offset, uint64_t n,
		     bool writable)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t from = offset & ~(page - 1);

	if (n == 0 || offset + n > map->bytes)
		return n == 0 ? TT_OK : -EINVAL;
	if (madvise((char *)map->addr + from, (size_t)(offset + n - from),
		    writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
		return TT_OK;
	return errno == EINVAL ? TT_OK : -errno; /* EINVAL: an older kernel */
}
