/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ticktail/time.h"

static const char *text_of(int64_t value, enum tt_unit unit, uint32_t step)
{
	static char text[TT_TIME_TEXT];
	size_t len = tt_time_format(text, value, unit, step);

	ck_assert_uint_eq(len, strlen(text));
	return text;
}

static int parse(const char *text, enum tt_unit unit, enum tt_time_round round,
		 int64_t *out)
{
	return tt_time_parse(text, strlen(text), unit, 1, round, out);
}

static int64_t value_of(const char *text, enum tt_unit unit)
{
	int64_t value = 77;

	ck_assert_msg(parse(text, unit, TT_TIME_EXACT, &value) == TT_OK, "%s", text);
	return value;
}

START_TEST(each_unit_prints_its_digits)
{
	ck_assert_str_eq(text_of(1, TT_UNIT_Y, 1), "1971-01-01");
	ck_assert_str_eq(text_of(-1, TT_UNIT_M, 1), "1969-12-01");
	ck_assert_str_eq(text_of(1, TT_UNIT_W, 1), "1970-01-08");
	ck_assert_str_eq(text_of(-1, TT_UNIT_D, 1), "1969-12-31");
	ck_assert_str_eq(text_of(25, TT_UNIT_h, 1), "1970-01-02T01:00:00Z");
	ck_assert_str_eq(text_of(-1, TT_UNIT_m, 1), "1969-12-31T23:59:00Z");
	ck_assert_str_eq(text_of(951782400, TT_UNIT_s, 1), "2000-02-29T00:00:00Z");
	ck_assert_str_eq(text_of(-1, TT_UNIT_ms, 1), "1969-12-31T23:59:59.999Z");
	ck_assert_str_eq(text_of(1, TT_UNIT_us, 1), "1970-01-01T00:00:00.000001Z");
	ck_assert_str_eq(text_of(1, TT_UNIT_us, 25), "1970-01-01T00:00:00.000025Z");
	ck_assert_str_eq(text_of(1381219200123456789, TT_UNIT_ns, 1),
			 "2013-10-08T08:00:00.123456789Z");
	ck_assert_str_eq(text_of(1, TT_UNIT_ps, 1), "1970-01-01T00:00:00.000000000001Z");
	ck_assert_str_eq(text_of(1, TT_UNIT_fs, 1),
			 "1970-01-01T00:00:00.000000000000001Z");
	ck_assert_str_eq(text_of(-1, TT_UNIT_as, 1),
			 "1969-12-31T23:59:59.999999999999999999Z");
	ck_assert_str_eq(text_of(TT_NAT, TT_UNIT_ns, 1), "NaT");
	ck_assert_str_eq(text_of(INT64_MAX, TT_UNIT_ns, 1),
			 "2262-04-11T23:47:16.854775807Z");
	ck_assert_str_eq(text_of(INT64_MIN + 1, TT_UNIT_ns, 1),
			 "1677-09-21T00:12:43.145224193Z");
	ck_assert_str_eq(text_of(INT64_MAX, TT_UNIT_Y, 1), "9223372036854777777-01-01");
	ck_assert_str_eq(text_of(-1971, TT_UNIT_Y, 1), "-0001-01-01");
	ck_assert_str_eq(text_of(5, TT_UNIT_GENERIC, 1), "5");
}
END_TEST

START_TEST(zones_and_fractions_are_understood)
{
	ck_assert_int_eq(value_of("1970-01-01T00:00:00Z", TT_UNIT_ns), 0);
	ck_assert_int_eq(value_of("1970-01-01", TT_UNIT_ns), 0);
	ck_assert_int_eq(value_of("1970-01-01 00:00:01", TT_UNIT_s), 1);
	ck_assert_int_eq(value_of("1970-01-01t01:00:00+01:00", TT_UNIT_s), 0);
	ck_assert_int_eq(value_of("1969-12-31T19:30:00.5-04:30", TT_UNIT_ms), 500);
	ck_assert_int_eq(value_of("1970-01-01T00:00:00.123456789012345678z", TT_UNIT_as),
			 123456789012345678);
	ck_assert_int_eq(
		value_of("1970-01-01T00:00:00.1000000000000000000000", TT_UNIT_ms), 100);
	ck_assert_int_eq(value_of("1900-03-01", TT_UNIT_D), -25508);
	ck_assert_int_eq(value_of("-0001-01-01", TT_UNIT_Y), -1971);
	ck_assert_int_eq(value_of("2016-12-31T23:59:60Z", TT_UNIT_s), 1483228800);
	ck_assert_int_eq(value_of("2017-01-01T00:59:60+01:00", TT_UNIT_s), 1483228800);
	ck_assert_int_eq(value_of("NaT", TT_UNIT_s), TT_NAT);
	ck_assert_int_eq(value_of("2262-04-11T23:47:16.854775807Z", TT_UNIT_ns),
			 INT64_MAX);
}
END_TEST

START_TEST(what_is_no_time_is_refused)
{
	static const char *const bad[] = {
		"",
		"1970",
		"1970-01",
		"1970-1-1",
		"70-01-01",
		"1970-13-01",
		"1970-00-01",
		"1970-02-29",
		"1900-02-29",
		"2001-02-29",
		"1970-04-31",
		"1970-01-01T",
		"1970-01-01T24:00:00",
		"1970-01-01T00:60:00",
		"1970-01-01T00:00:61Z",
		"1970-01-01T00:00:60Z",
		"1970-01-01T00:00",
		"1970-01-01T00:00:00.Z",
		"1970-01-01T00:00:00+1:00",
		"1970-01-01T00:00:00+24:00",
		"1970-01-01T00:00:00Zx",
		"1970-01-01T00:00:00 Z",
		" 1970-01-01",
		"1970-01-01 ",
		"nat",
		"now",
		"1970-01-01T00:00:00+0100",
		"--1970-01-01",
		"1970-01-01X00:00:00",
	};
	int64_t value;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(parse(bad[i], TT_UNIT_ns, TT_TIME_EXACT, &value) ==
				      TT_E_FORMAT,
			      "'%s'", bad[i]);
}
END_TEST

START_TEST(finer_digits_round_only_when_asked)
{
	int64_t value;

	ck_assert_int_eq(
		parse("1970-01-01T00:00:00.0015", TT_UNIT_ms, TT_TIME_EXACT, &value),
		TT_E_RANGE);
	ck_assert_int_eq(
		parse("1970-01-01T00:00:00.0015", TT_UNIT_ms, TT_TIME_ROUND_UP, &value),
		0);
	ck_assert_int_eq(value, 2);
	ck_assert_int_eq(
		parse("1969-12-31T23:59:59.9995", TT_UNIT_ms, TT_TIME_ROUND_DOWN, &value),
		0);
	ck_assert_int_eq(value, -1);
	ck_assert_int_eq(parse("1970-01-02", TT_UNIT_M, TT_TIME_EXACT, &value),
			 TT_E_RANGE);
	ck_assert_int_eq(parse("1970-01-02", TT_UNIT_M, TT_TIME_ROUND_UP, &value), 0);
	ck_assert_int_eq(value, 1);
	ck_assert_int_eq(parse("1970-01-01T00:00:00.0000000000000000001", TT_UNIT_as,
			       TT_TIME_ROUND_UP, &value),
			 0);
	ck_assert_int_eq(value, 1);
	ck_assert_int_eq(tt_time_parse("1970-01-01T00:00:00.000030", 26, TT_UNIT_us, 25,
				       TT_TIME_EXACT, &value),
			 TT_E_RANGE);
	ck_assert_int_eq(tt_time_parse("1970-01-01T00:00:00.000050", 26, TT_UNIT_us, 25,
				       TT_TIME_EXACT, &value),
			 TT_OK);
	ck_assert_int_eq(value, 2);
}
END_TEST

START_TEST(what_a_unit_cannot_hold_is_out_of_range)
{
	int64_t value;

	ck_assert_int_eq(parse("2262-04-11T23:47:16.854775808Z", TT_UNIT_ns,
			       TT_TIME_EXACT, &value),
			 TT_E_RANGE);
	ck_assert_int_eq(parse("1677-09-21T00:12:43.145224192Z", TT_UNIT_ns,
			       TT_TIME_EXACT, &value),
			 TT_E_RANGE);
	ck_assert_int_eq(
		parse("999999999999999999999999-01-01", TT_UNIT_Y, TT_TIME_EXACT, &value),
		TT_E_RANGE);
	ck_assert_int_eq(parse("9999999999999999999999999999-01-01", TT_UNIT_as,
			       TT_TIME_EXACT, &value),
			 TT_E_RANGE);
	ck_assert_int_eq(parse("999999999999999999999999999999-01-01", TT_UNIT_Y,
			       TT_TIME_EXACT, &value),
			 TT_E_FORMAT);
}
END_TEST

static uint64_t state;

static int64_t random_value(void)
{
	uint64_t mixed;

	state += 0x9e3779b97f4a7c15u;
	mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
	mixed ^= mixed >> 31;
	return (int64_t)mixed >> (mixed & 63);
}

START_TEST(what_is_printed_is_read_back)
{
	const char *seed = getenv("TT_SEED");
	static const uint32_t steps[] = { 1, 2, 7, 25, 1000, 4294967295u };
	const int count = getenv("TT_LONG") ? 200000 : 40000;

	state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
	fprintf(stderr, "# TT_SEED=%llu\n", (unsigned long long)state);
	for (int i = 0; i < count; i++) {
		enum tt_unit unit = (enum tt_unit)(TT_UNIT_Y + i % 13);
		uint32_t step = steps[i / 13 % 6];
		int64_t value = random_value(), back = 0;
		const char *text = text_of(value, unit, step);

		if (value == TT_NAT)
			continue;
		ck_assert_msg(tt_time_parse(text, strlen(text), unit, step, TT_TIME_EXACT,
					    &back) == TT_OK &&
				      back == value,
			      "%lld unit %d step %u: %s", (long long)value, unit, step,
			      text);
	}
}
END_TEST

START_TEST(days_agree_with_the_c_library)
{
	const int64_t step = getenv("TT_LONG") ? 13 : 97;

	for (int64_t day = -800000; day < 3000000; day += step) {
		time_t t = (time_t)(day * 86400);
		struct tm tm;
		char text[64];

		gmtime_r(&t, &tm);
		snprintf(text, sizeof(text), "%04d-%02d-%02d", tm.tm_year + 1900,
			 tm.tm_mon + 1, tm.tm_mday);
		if (tm.tm_year + 1900 >= 0)
			ck_assert_str_eq(text_of(day, TT_UNIT_D, 1), text);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("time");
	TCase *all = tcase_create("time");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(all, each_unit_prints_its_digits);
	tcase_add_test(all, zones_and_fractions_are_understood);
	tcase_add_test(all, what_is_no_time_is_refused);
	tcase_add_test(all, finer_digits_round_only_when_asked);
	tcase_add_test(all, what_a_unit_cannot_hold_is_out_of_range);
	tcase_add_test(all, what_is_printed_is_read_back);
	tcase_add_test(all, days_agree_with_the_c_library);
	suite_add_tcase(suite, all);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
