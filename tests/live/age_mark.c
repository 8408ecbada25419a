/* SPDX-License-Identifier: Apache-2.0 */
/* usage: age_mark RING...   the machine seems to have been started again since */
#include <stdio.h>

#include "age_mark.h"

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++) {
		int aged = age_ring(argv[i]);

		printf("%s: %d\n", argv[i], aged);
		if (aged < 0)
			status = 1;
	}
	return status;
}
