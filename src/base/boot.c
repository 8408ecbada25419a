/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's id of this boot, from the one place that has it. */
#include "base/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/fs.h"
#include "base/num.h"

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define TEXT_BYTES 36 /* 8-4-4-4-12 digits */

static int parse(const char text[TEXT_BYTES], uint8_t out[TTI_BOOT_ID_BYTES])
{
	unsigned digits = 0;

	for (unsigned i = 0; i < TEXT_BYTES; i++) {
		int value = tti_digit_value(text[i]);

		if (text[i] == '-')
			continue;
		if (value > 15 || digits == 2 * TTI_BOOT_ID_BYTES)
			return -EINVAL;
		out[digits / 2] =
			(uint8_t)(digits % 2 ? out[digits / 2] | value : value << 4);
		digits++;
	}
	return digits == 2 * TTI_BOOT_ID_BYTES && !tti_boot_is_zero(out) ? 0 : -EINVAL;
}

int tti_boot_id(uint8_t out[TTI_BOOT_ID_BYTES])
{
	tti_auto_fd fd = open(BOOT_ID_PATH, O_RDONLY | O_CLOEXEC);
	char text[TEXT_BYTES];
	size_t got = 0;

	if (fd < 0)
		return -errno;
	while (got < sizeof(text)) { /* not seekable everywhere, so no pread */
		ssize_t n = read(fd, text + got, sizeof(text) - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		got += (size_t)n;
	}
	return parse(text, out);
}
