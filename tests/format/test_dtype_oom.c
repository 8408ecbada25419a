/* SPDX-License-Identifier: Apache-2.0 */
/* Element types when memory runs out: each allocation in turn fails once.  The program is
 * linked with --wrap, so the library's own calls come here. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/dtype.h"
#include "format/npy.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t n);
void *__real_realloc(void *old, size_t n);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__wrap_realloc(void *old, size_t n);
char *__wrap_strdup(const char *text);

static long countdown = -1; /* allocations until one fails; negative: none */

static int fails_now(void)
{
	return countdown >= 0 && countdown-- == 0;
}

void *__wrap_malloc(size_t n)
{
	return fails_now() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t n)
{
	return fails_now() ? NULL : __real_calloc(count, n);
}

void *__wrap_realloc(void *old, size_t n)
{
	return fails_now() ? NULL : __real_realloc(old, n);
}

char *__wrap_strdup(const char *text)
{
	return fails_now() ? NULL : __real_strdup(text);
}

static const char *const texts[] = {
	"ts:i8,sym:S8,px:f8,n:{x:i4,y:{z:U3}[2]}[2]",
	("[(('a title', 'a'), '<i4', (2, 3)), ('', '|V4'), "
	 "('b', [('c', ('>f4', (2,)), (3,))])]"),
	"{'names':['a'],'titles':['t'],'formats':[[('c','f4',(2,))]],'offsets':[8]}",
	"a:i1,b:i1,c:i1,d:i1,e:i1,f:i1,g:i1,h:i1,i:i1,j:i1,k:i1",
};

START_TEST(parsing_reports_no_memory)
{
	const char *text = texts[_i];
	struct tt_error err;
	long n = 0;
	int rc;

	do {
		struct tt_dtype *dtype = NULL;

		err = (struct tt_error){ 0 };
		countdown = n++;
		rc = tt_dtype_parse(&dtype, text, strlen(text), true, &err);
		countdown = -1;
		ck_assert_msg(rc == TT_OK || rc == -ENOMEM, "%d %s", rc, err.text);
		ck_assert((dtype != NULL) == (rc == TT_OK));
		if (rc < 0)
			ck_assert(err.code == rc && strstr(err.text, "out of memory"));
		tt_dtype_unref(dtype);
	} while (rc < 0);
	ck_assert_int_gt(n, 5);
}
END_TEST

START_TEST(selecting_and_shaping_report_no_memory)
{
	static const uint64_t shape[] = { 2, 3 };
	const char *const names[] = { "n[1].y[0].z", "ts" };
	struct tt_dtype *dtype, *some = NULL, *array = NULL;
	int rc, n = 0;

	ck_assert_int_eq(tt_dtype_parse(&dtype, texts[0], strlen(texts[0]), true, NULL),
			 0);
	do {
		countdown = n++;
		rc = tt_dtype_select(&some, dtype, names, 2, NULL);
		if (rc == TT_OK)
			rc = tt_dtype_subarray(&array, some, 2, shape, NULL);
		countdown = -1;
		ck_assert(rc == TT_OK || rc == -ENOMEM);
		ck_assert((array != NULL) == (rc == TT_OK));
		tt_dtype_unref(some);
		tt_dtype_unref(array);
	} while (rc < 0);
	tt_dtype_unref(dtype);
}
END_TEST

START_TEST(headers_report_no_memory)
{
	static const uint64_t shape[] = { 1, 3 };
	struct tt_dtype *dtype;
	struct tti_npy npy;
	void *bytes = NULL;
	size_t len = 0;
	int rc, n = 0;

	ck_assert_int_eq(tt_dtype_parse(&dtype, texts[1], strlen(texts[1]), true, NULL),
			 0);
	do {
		countdown = n++;
		bytes = NULL;
		rc = tti_npy_format(&bytes, &len,
				    &(struct tti_npy_form){ dtype, 2, shape, true },
				    NULL);
		if (rc == TT_OK)
			rc = tti_npy_parse(&npy, bytes, len, "test", NULL);
		countdown = -1;
		ck_assert_msg(rc == TT_OK || rc == -ENOMEM, "%d", rc);
		free(bytes);
	} while (rc < 0);
	ck_assert(tt_dtype_equal(npy.dtype, dtype));
	tti_npy_fini(&npy);
	tt_dtype_unref(dtype);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dtype_oom");
	TCase *tcase = tcase_create("oom");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(tcase, parsing_reports_no_memory, 0, (int)TTI_LEN(texts));
	tcase_add_test(tcase, selecting_and_shaping_report_no_memory);
	tcase_add_test(tcase, headers_report_no_memory);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
