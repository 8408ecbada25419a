/* SPDX-License-Identifier: Apache-2.0 */
/* usage: age_mark RING-OR-FILE...   the machine seems to have been started again since
 *        age_mark RING FILE END   and only END rows of FILE (its number) had been synced */
#include <stdio.h>
#include <stdlib.h>

#include "age_mark.h"

int main(int argc, char **argv)
{
	int status = 0;

	if (argc == 4)
		return age_ring_to(argv[1], strtoull(argv[2], NULL, 10),
				   strtoull(argv[3], NULL, 10)) < 0;
	for (int i = 1; i < argc; i++) {
		struct stat st;
		bool is_ring = stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode);
		int aged = is_ring ? age_ring(argv[i]) : age_file(argv[i]);

		printf("%s: %d\n", argv[i], aged);
		if (aged < 0)
			status = 1;
	}
	return status;
}
