/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of formats share: types of a text, a header around a dict. */
#ifndef FORMAT_HELP_H
#define FORMAT_HELP_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/dtype.h"

static inline struct tt_dtype *parsed(const char *text, bool align)
{
	struct tt_dtype *dtype;
	struct tt_error err = { 0 };
	int rc = tt_dtype_parse(&dtype, text, strlen(text), align, &err);

	ck_assert_msg(rc == TT_OK, "%s: %s", text, err.text);
	return dtype;
}

/* A header around a dict: version, length, padding as NumPy does it. */
static inline size_t wrap(uint8_t *out, uint8_t major, const char *dict)
{
	size_t prefix = major == 1 ? 10 : 12, len = strlen(dict);
	size_t total = (prefix + len + 1 + 63) / 64 * 64;

	memcpy(out, "\x93NUMPY", 6);
	out[6] = major;
	out[7] = 0;
	for (size_t i = 8; i < prefix; i++)
		out[i] = (uint8_t)((total - prefix) >> 8 * (i - 8));
	memset(out + prefix, ' ', total - prefix);
	memcpy(out + prefix, dict, len);
	out[total - 1] = '\n';
	return total;
}

/* The tests that add names.  What main() returns. */
static inline int format_suite(const char *name, void (*add)(TCase *))
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 120); /* sanitizers on a busy machine */
	add(tcase);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
