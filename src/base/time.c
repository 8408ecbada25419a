/* SPDX-License-Identifier: Apache-2.0 */
/* Times as text and back.  An instant is held as whole seconds since 1970 in 128 bits and
 * attoseconds inside the second, so that every count of every unit and every RFC 3339 text
 * has one exact value here; rounding happens once, on the way to the count asked for. */
#include "ticktail/time.h"

#include <stdio.h>
#include <string.h>

#define ATTO INT64_C(1000000000000000000)
#define DAY_S 86400
#define ERA_DAYS 146097	   /* days of 400 Gregorian years */
#define YEAR_DIGITS_MAX 29 /* of the last year that a count of years by 2^32 reaches */

typedef __int128 wide;

struct civil {
	wide year;
	int month, day; /* from 1 */
};

struct instant {
	wide seconds;
	int64_t atto;
	bool more; /* non-zero digits finer than an attosecond */
};

static wide floor_div(wide a, wide b)
{
	wide q = a / b;

	return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* Days since 1970-01-01; years start in March here, so that the leap day is the last. */
static wide days_from_civil(struct civil c)
{
	wide year = c.year - (c.month <= 2);
	wide era = floor_div(year, 400);
	int of_era = (int)(year - era * 400);
	int of_year = (153 * (c.month + (c.month > 2 ? -3 : 9)) + 2) / 5 + c.day - 1;

	return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
	       719468;
}

static struct civil civil_from_days(wide days)
{
	struct civil c;
	wide era = floor_div(days + 719468, ERA_DAYS);
	int day = (int)(days + 719468 - era * ERA_DAYS);
	int year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	int of_year = day - (365 * year + year / 4 - year / 100);
	int month = (5 * of_year + 2) / 153;

	c.day = of_year - (153 * month + 2) / 5 + 1;
	c.month = month < 10 ? month + 3 : month - 9;
	c.year = era * 400 + year + (c.month <= 2);
	return c;
}

static int days_of_month(wide year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

/* Decimal places of a second that a unit counts, -1 for coarser ones. */
static int unit_places(enum tt_unit unit)
{
	switch (unit) {
	case TT_UNIT_s: return 0;
	case TT_UNIT_ms: return 3;
	case TT_UNIT_us: return 6;
	case TT_UNIT_ns: return 9;
	case TT_UNIT_ps: return 12;
	case TT_UNIT_fs: return 15;
	case TT_UNIT_as: return 18;
	default: return -1;
	}
}

static int unit_seconds(enum tt_unit unit)
{
	switch (unit) {
	case TT_UNIT_W: return 7 * DAY_S;
	case TT_UNIT_D: return DAY_S;
	case TT_UNIT_h: return 3600;
	case TT_UNIT_m: return 60;
	default: return 1;
	}
}

static int64_t power_of_ten(int n)
{
	int64_t value = 1;

	while (n-- > 0)
		value *= 10;
	return value;
}

/* ---- Printing ---- */

static char *put_digits(char *at, wide value, int width)
{
	char text[48];
	int n = 0;

	do
		text[n++] = (char)('0' + (int)(value % 10));
	while ((value /= 10) > 0);
	while (n < width)
		text[n++] = '0';
	while (n > 0)
		*at++ = text[--n];
	return at;
}

static char *put_date(char *at, struct civil c)
{
	if (c.year < 0)
		*at++ = '-';
	at = put_digits(at, c.year < 0 ? -c.year : c.year, 4);
	*at++ = '-';
	at = put_digits(at, c.month, 2);
	*at++ = '-';
	return put_digits(at, c.day, 2);
}

static char *put_clock(char *at, int second_of_day, int64_t fraction, int places)
{
	*at++ = 'T';
	at = put_digits(at, second_of_day / 3600, 2);
	*at++ = ':';
	at = put_digits(at, second_of_day / 60 % 60, 2);
	*at++ = ':';
	at = put_digits(at, second_of_day % 60, 2);
	if (places > 0) {
		*at++ = '.';
		at = put_digits(at, fraction, places);
	}
	*at++ = 'Z';
	return at;
}

static char *put_count(char *at, wide count, enum tt_unit unit)
{
	int places = unit_places(unit);
	wide seconds, days;
	int64_t fraction = 0;

	if (unit == TT_UNIT_Y)
		return put_date(at, (struct civil){ 1970 + count, 1, 1 });
	if (unit == TT_UNIT_M) {
		wide year = floor_div(count, 12);

		return put_date(at, (struct civil){ 1970 + year,
						    (int)(count - year * 12) + 1, 1 });
	}
	seconds = places > 0 ? floor_div(count, power_of_ten(places))
			     : count * unit_seconds(unit);
	if (places > 0)
		fraction = (int64_t)(count - seconds * power_of_ten(places));
	days = floor_div(seconds, DAY_S);
	at = put_date(at, civil_from_days(days));
	if (unit == TT_UNIT_W || unit == TT_UNIT_D)
		return at;
	return put_clock(at, (int)(seconds - days * DAY_S), fraction, places);
}

size_t tt_time_format(char out[TT_TIME_TEXT], int64_t value, enum tt_unit unit,
		      uint32_t step)
{
	char *end;

	if (value == TT_NAT) {
		memcpy(out, "NaT", sizeof("NaT"));
		return 3;
	}
	if (unit == TT_UNIT_NONE || unit == TT_UNIT_GENERIC)
		return (size_t)snprintf(out, TT_TIME_TEXT, "%lld", (long long)value);
	end = put_count(out, (wide)value * (step ? step : 1), unit);
	*end = '\0';
	return (size_t)(end - out);
}

/* ---- Parsing ---- */

struct cursor {
	const char *at, *end;
};

static bool take(struct cursor *c, char wanted)
{
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

static bool take_one_of(struct cursor *c, const char *wanted)
{
	if (c->at == c->end || *c->at == '\0' || !strchr(wanted, *c->at))
		return false;
	c->at++;
	return true;
}

/* min to max digits; false when there are fewer. */
static bool take_digits(struct cursor *c, int min, int max, wide *out)
{
	int n = 0;

	for (*out = 0; n < max && c->at < c->end && *c->at >= '0' && *c->at <= '9'; n++)
		*out = *out * 10 + (*c->at++ - '0');
	return n >= min;
}

static bool take_number(struct cursor *c, int high, int *out)
{
	wide value;

	if (!take_digits(c, 2, 2, &value) || value > high)
		return false;
	*out = (int)value;
	return true;
}

static bool take_date(struct cursor *c, struct civil *out)
{
	bool negative = take(c, '-');
	wide year;

	if (!negative)
		take(c, '+');
	if (!take_digits(c, 4, YEAR_DIGITS_MAX, &year) || !take(c, '-') ||
	    !take_number(c, 12, &out->month) || !take(c, '-') ||
	    !take_number(c, 31, &out->day))
		return false;
	out->year = negative ? -year : year;
	return out->month >= 1 && out->day >= 1 &&
	       out->day <= days_of_month(out->year, out->month);
}

/* The digits behind the point; those finer than an attosecond only tell whether there were
 * any. */
static bool take_fraction(struct cursor *c, struct instant *out)
{
	int64_t scale = ATTO;
	const char *first = c->at;

	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
		scale /= 10;
		if (scale > 0)
			out->atto += (*c->at - '0') * scale;
		else
			out->more |= *c->at != '0';
	}
	return c->at > first;
}

static bool take_zone(struct cursor *c, int *offset_s)
{
	bool west;
	int hours, minutes;

	*offset_s = 0;
	if (c->at == c->end || take_one_of(c, "Zz"))
		return true;
	west = take(c, '-');
	if (!west && !take(c, '+'))
		return false;
	if (!take_number(c, 23, &hours) || !take(c, ':') || !take_number(c, 59, &minutes))
		return false;
	*offset_s = (hours * 3600 + minutes * 60) * (west ? -1 : 1);
	return true;
}

static bool take_clock(struct cursor *c, struct instant *out)
{
	int hour, minute, second, offset_s;

	if (!take_number(c, 23, &hour) || !take(c, ':') || !take_number(c, 59, &minute) ||
	    !take(c, ':') || !take_number(c, 60, &second))
		return false;
	if (take(c, '.') && !take_fraction(c, out))
		return false;
	if (!take_zone(c, &offset_s))
		return false;
	out->seconds += hour * 3600 + minute * 60 + second - offset_s;
	/* a leap second ends a UTC day; it is the first second of the next one here */
	return second < 60 || out->seconds - floor_div(out->seconds, DAY_S) * DAY_S == 0;
}

static bool take_instant(struct cursor *c, struct instant *out)
{
	struct civil date;

	*out = (struct instant){ 0 };
	if (!take_date(c, &date))
		return false;
	out->seconds = days_from_civil(date) * DAY_S;
	if (c->at < c->end && (!take_one_of(c, "Tt ") || !take_clock(c, out)))
		return false;
	return c->at == c->end;
}

/* The count of whole months or years up to the instant; *inexact: it lies inside one. */
static wide count_calendar(const struct instant *in, enum tt_unit unit, bool *inexact)
{
	wide days = floor_div(in->seconds, DAY_S);
	struct civil c = civil_from_days(days);

	*inexact |= in->seconds != days * DAY_S || c.day != 1;
	if (unit == TT_UNIT_M)
		return (c.year - 1970) * 12 + c.month - 1;
	*inexact |= c.month != 1;
	return c.year - 1970;
}

/* false when 128 bits do not hold the count: then no unit's 64 do. */
static bool count_units(const struct instant *in, enum tt_unit unit, bool *inexact,
			wide *out)
{
	int places = unit_places(unit);
	int64_t atto_each = power_of_ten(18 - (places < 0 ? 0 : places));

	*inexact = in->more || in->atto % atto_each != 0;
	if (unit == TT_UNIT_Y || unit == TT_UNIT_M) {
		*out = count_calendar(in, unit, inexact);
		return true;
	}
	if (places >= 0)
		return !__builtin_mul_overflow(in->seconds, (wide)power_of_ten(places),
					       out) &&
		       !__builtin_add_overflow(*out, (wide)(in->atto / atto_each), out);
	*out = floor_div(in->seconds, unit_seconds(unit));
	*inexact |= *out * unit_seconds(unit) != in->seconds;
	return true;
}

int tt_time_parse(const char *text, size_t len, enum tt_unit unit, uint32_t step,
		  enum tt_time_round round, int64_t *out)
{
	struct cursor c = { text, text + len };
	struct instant in;
	bool inexact;
	wide count, steps;

	if (len == 3 && memcmp(text, "NaT", 3) == 0) {
		*out = TT_NAT;
		return TT_OK;
	}
	if (unit == TT_UNIT_NONE || unit == TT_UNIT_GENERIC || !take_instant(&c, &in))
		return TT_E_FORMAT;
	if (!count_units(&in, unit, &inexact, &count))
		return TT_E_RANGE;
	steps = floor_div(count, step ? step : 1);
	inexact |= steps * (step ? step : 1) != count;
	if (inexact && round == TT_TIME_EXACT)
		return TT_E_RANGE;
	if (inexact && round == TT_TIME_ROUND_UP)
		steps++;
	if (steps > INT64_MAX || steps <= INT64_MIN)
		return TT_E_RANGE;
	*out = (int64_t)steps;
	return TT_OK;
}
