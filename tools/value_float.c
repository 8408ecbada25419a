/* SPDX-License-Identifier: Apache-2.0 */
/* Floating point numbers as text, shortest and exact.
 *
 * Printing: the fewest significant digits that read back as the same number of the same
 * precision, and of those the nearest.  The C library rounds correctly, so trying one digit
 * count after the other is exact; the only candidate it does not offer is the neighbour of the
 * nearest, which matters at powers of two, where the gap below is half the gap above.
 * Layout: fixed for exponents -5 < e < 16, else d.ddde+XX.
 *
 * Parsing: correctly rounded once.  binary16 goes through a double rounded to odd, so that the
 * second rounding cannot undo the first. */
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "value.h"

#define STACK_TEXT 128

/* ---- Layout ---- */

static size_t put_special(char *out, bool nan, bool negative)
{
	const char *text = nan ? "nan" : negative ? "-inf" : "inf";
	size_t len = strlen(text);

	memcpy(out, text, len);
	return len;
}

static size_t put_exponent(char *at, int exponent)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "e%c%02d", exponent < 0 ? '-' : '+',
			 exponent < 0 ? -exponent : exponent);

	memcpy(at, text, (size_t)n);
	return (size_t)n;
}

/* digits[0] is the one before the point of d.ddd x 10^exponent. */
static size_t put_layout(char *out, bool negative, const char *digits, int n,
			 int exponent)
{
	char *at = out;

	while (n > 1 && digits[n - 1] == '0')
		n--;
	if (negative)
		*at++ = '-';
	if (exponent <= -5 || exponent >= 16) {
		*at++ = digits[0];
		if (n > 1)
			*at++ = '.';
		memcpy(at, digits + 1, (size_t)n - 1);
		at += n - 1;
		return (size_t)(at - out) + put_exponent(at, exponent);
	}
	if (exponent < 0) {
		*at++ = '0';
		*at++ = '.';
		for (int i = exponent + 1; i < 0; i++)
			*at++ = '0';
		memcpy(at, digits, (size_t)n);
		return (size_t)(at - out) + (size_t)n;
	}
	for (int i = 0; i <= exponent; i++)
		*at++ = i < n ? digits[i] : '0';
	if (n > exponent + 1) {
		*at++ = '.';
		memcpy(at, digits + exponent + 1, (size_t)(n - exponent - 1));
		at += n - exponent - 1;
	}
	return (size_t)(at - out);
}

/* ---- The search, over the four precisions ---- */

struct format {
	int certain; /* so many digits survive the way through the number (DIG) */
	int enough;  /* so many always tell it from its neighbours */
	long double smallest_normal;
	bool (*is_same)(const char *text, long double number);
};

static bool same_double(const char *text, long double number)
{
	return strtod(text, NULL) == (double)number;
}

static bool same_float(const char *text, long double number)
{
	return strtof(text, NULL) == (float)number;
}

static bool same_long_double(const char *text, long double number)
{
	return strtold(text, NULL) == number;
}

static bool same_half(const char *text, long double number)
{
	uint16_t bits;

	return !cli_parse_half(text, strlen(text), &bits) &&
	       cli_half_to_double(bits) == (double)number;
}

static const struct format half_format = { 3, 5, 0x1p-14L, same_half };
static const struct format float_format = { 6, 9, 0x1p-126L, same_float };
static const struct format double_format = { 15, 17, 0x1p-1022L, same_double };
static const struct format long_double_format = { 18, 21, 0x1p-16382L, same_long_double };

/* Add one (up) or take one from the last digit; false when that changes the number of digits,
 * which no shortest text needs. */
static bool step_digits(char *digits, int n, bool up)
{
	for (int i = n - 1; i >= 0; i--) {
		if (digits[i] != (up ? '9' : '0')) {
			digits[i] = (char)(digits[i] + (up ? 1 : -1));
			return digits[0] != '0';
		}
		digits[i] = up ? '0' : '9';
	}
	return false;
}

static bool is_candidate(const struct format *f, const char *digits, int n, int exponent,
			 long double number)
{
	char text[64];

	snprintf(text, sizeof(text), "%c.%.*se%d", digits[0], n - 1, digits + 1,
		 exponent);
	return f->is_same(text, number);
}

/* n digits that read back as number (> 0), if there are any. */
static bool find_digits(const struct format *f, long double number, int n, char *digits,
			int *exponent)
{
	char text[64], other[32];

	snprintf(text, sizeof(text), "%.*Le", n - 1, number);
	digits[0] = text[0];
	memcpy(digits + 1, text + 2, (size_t)n - 1);
	*exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
	if (is_candidate(f, digits, n, *exponent, number))
		return true;
	for (int up = 0; up <= 1; up++) {
		memcpy(other, digits, (size_t)n);
		if (step_digits(other, n, up) &&
		    is_candidate(f, other, n, *exponent, number)) {
			memcpy(digits, other, (size_t)n);
			return true;
		}
	}
	return false;
}

static size_t print_shortest(const struct format *f, long double number, bool negative,
			     char *out)
{
	char digits[32];
	int exponent = 0;
	/* a shorter text than certain shows up there as trailing zeros; not among denormals */
	int n = number < f->smallest_normal ? 1 : f->certain;

	if (number == 0) {
		memcpy(out, "-0", 2);
		if (!negative)
			out[0] = '0';
		return negative ? 2 : 1;
	}
	while (n < f->enough && !find_digits(f, number, n, digits, &exponent))
		n++;
	if (n == f->enough)
		find_digits(f, number, n, digits, &exponent);
	return put_layout(out, negative, digits, n, exponent);
}

/* Prices: few digits behind the point.  A whole number below 2^53 over a power of ten up to
 * 10^22 is one correctly rounded division, so equality proves that the decimal reads back;
 * below 10^15 no other decimal of so few digits does. */
static size_t print_decimal(double number, bool negative, char *out)
{
	static const double powers[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };
	char digits[32];

	for (int places = 0; places < (int)(sizeof(powers) / sizeof(powers[0]));
	     places++) {
		double scaled = nearbyint(number * powers[places]);
		uint64_t whole = (uint64_t)scaled;
		int n = 0;

		if (scaled >= 1e15)
			return 0;
		if (scaled / powers[places] != number)
			continue;
		for (uint64_t rest = whole; rest > 0; rest /= 10)
			n++;
		for (int i = n - 1; i >= 0; i--, whole /= 10)
			digits[i] = (char)('0' + whole % 10);
		return put_layout(out, negative, digits, n, n - 1 - places);
	}
	return 0;
}

size_t cli_print_double(double number, char *out)
{
	bool negative = signbit(number);
	double magnitude = fabs(number);
	size_t len;

	if (!isfinite(number))
		return put_special(out, isnan(number), negative);
	if (magnitude >= 1e-5 && magnitude < 1e15) {
		len = print_decimal(magnitude, negative, out);
		if (len > 0)
			return len;
	}
	return print_shortest(&double_format, magnitude, negative, out);
}

size_t cli_print_float(float number, char *out)
{
	if (!isfinite(number))
		return put_special(out, isnan(number), signbit(number));
	return print_shortest(&float_format, fabsf(number), signbit(number), out);
}

size_t cli_print_half(uint16_t bits, char *out)
{
	double number = cli_half_to_double(bits);

	if (!isfinite(number))
		return put_special(out, isnan(number), signbit(number));
	return print_shortest(&half_format, fabs(number), signbit(number), out);
}

size_t cli_print_long_double(long double number, char *out)
{
	if (!isfinite(number))
		return put_special(out, isnan(number), signbit(number));
	return print_shortest(&long_double_format, fabsl(number), signbit(number), out);
}

/* ---- Parsing ---- */

static bool is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && strncasecmp(text, word, len) == 0;
}

static size_t count_digits(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] >= '0' && text[n] <= '9')
		n++;
	return n;
}

/* What strtod takes, without hexadecimal, leading spaces and nan(...). */
static bool is_number(const char *text, size_t len)
{
	size_t whole, part = 0;

	if (len > 0 && (*text == '-' || *text == '+'))
		text++, len--;
	if (is_word(text, len, "nan") || is_word(text, len, "inf") ||
	    is_word(text, len, "infinity"))
		return true;
	whole = count_digits(text, len);
	text += whole, len -= whole;
	if (len > 0 && *text == '.') {
		part = count_digits(text + 1, len - 1);
		text += part + 1, len -= part + 1;
	}
	if (whole + part == 0)
		return false;
	if (len > 0 && (*text == 'e' || *text == 'E')) {
		size_t sign = len > 1 && (text[1] == '-' || text[1] == '+');
		size_t n = count_digits(text + 1 + sign, len - 1 - sign);

		return n > 0 && n + sign + 1 == len;
	}
	return len == 0;
}

/* A terminated copy of a number's text, in buf or on the heap; NULL: no memory. */
static char *terminate(const char *text, size_t len, char buf[STACK_TEXT])
{
	char *copy = len < STACK_TEXT ? buf : malloc(len + 1);

	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	return copy;
}

static const char not_a_number[] = "is not a number";
static const char out_of_range[] = "is out of range";
static const char no_memory[] = "does not fit into memory";

/* One text in one precision; the ways differ only in the function of the C library. */
enum precision { FLOAT, DOUBLE, LONG_DOUBLE };

union number {
	float f;
	double d;
	long double l;
};

static bool is_infinite(enum precision p, const union number *n)
{
	return p == FLOAT ? isinf(n->f) : p == DOUBLE ? isinf(n->d) : isinf(n->l);
}

static const char *convert(enum precision p, const char *text, size_t len,
			   union number *out)
{
	char buf[STACK_TEXT], *copy;

	if (!is_number(text, len))
		return not_a_number;
	copy = terminate(text, len, buf);
	if (!copy)
		return no_memory;
	if (p == FLOAT)
		out->f = strtof(copy, NULL);
	else if (p == DOUBLE)
		out->d = strtod(copy, NULL);
	else
		out->l = strtold(copy, NULL);
	if (copy != buf)
		free(copy);
	/* "inf" ends in a letter, a number that overflowed in a digit or a point */
	return is_infinite(p, out) && strchr("0123456789.", text[len - 1]) ? out_of_range
									   : NULL;
}

/* Few digits and a small exponent: both factors are exact, one rounding. */
static bool parse_short(const char *text, size_t len, double *out)
{
	static const double powers[] = { 1,    1e1,  1e2,  1e3,	 1e4,  1e5,  1e6,  1e7,
					 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	bool negative = len > 0 && *text == '-';
	uint64_t whole = 0;
	size_t digits = 0, places = 0, i = len > 0 && (*text == '-' || *text == '+');
	bool point = false;

	for (; i < len; i++) {
		if (text[i] == '.' && !point) {
			point = true;
			continue;
		}
		if (text[i] < '0' || text[i] > '9')
			return false;
		whole = whole * 10 + (uint64_t)(text[i] - '0');
		digits++;
		places += point;
	}
	if (digits == 0 || digits > 15)
		return false;
	*out = (double)whole / powers[places];
	if (negative)
		*out = -*out;
	return true;
}

const char *cli_parse_double(const char *text, size_t len, double *out)
{
	union number n;
	const char *wrong;

	if (parse_short(text, len, out))
		return NULL;
	wrong = convert(DOUBLE, text, len, &n);
	if (!wrong)
		*out = n.d;
	return wrong;
}

const char *cli_parse_float(const char *text, size_t len, float *out)
{
	union number n;
	const char *wrong = convert(FLOAT, text, len, &n);

	if (!wrong)
		*out = n.f;
	return wrong;
}

const char *cli_parse_long_double(const char *text, size_t len, long double *out)
{
	union number n;
	const char *wrong = convert(LONG_DOUBLE, text, len, &n);

	if (!wrong)
		*out = n.l;
	return wrong;
}

/* ---- binary16 ---- */

double cli_half_to_double(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	int fraction = bits & 1023;
	double magnitude;

	if (exponent == 31)
		magnitude = fraction ? NAN : INFINITY;
	else if (exponent == 0)
		magnitude = ldexp(fraction, -24);
	else
		magnitude = ldexp(fraction + 1024, exponent - 25);
	return bits & 0x8000 ? -magnitude : magnitude;
}

/* Round a double that lies on the right side of every binary16 midpoint; 0x7c00 on overflow. */
static uint16_t double_to_half(double number)
{
	uint16_t sign = signbit(number) ? 0x8000 : 0;
	double magnitude = fabs(number), scaled;
	int exponent;

	if (isnan(number))
		return sign | 0x7e00;
	if (magnitude >= 65520)
		return sign | 0x7c00;
	if (magnitude < 0x1p-14)
		return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(magnitude, 24)));
	frexp(magnitude, &exponent);
	scaled = nearbyint(ldexp(magnitude, 11 - exponent)); /* 1024 to 2048 */
	/* 2048 carries into the exponent by itself */
	return (uint16_t)(sign | (uint16_t)((exponent + 13) * 1024 + (int)scaled));
}

/* The double next to the number whose last bit is 1 unless the number is a double itself. */
static double round_to_odd(const char *text)
{
	int mode = fegetround();
	double low, high;
	uint64_t bits;

	fesetround(FE_DOWNWARD);
	low = strtod(text, NULL);
	fesetround(FE_UPWARD);
	high = strtod(text, NULL);
	fesetround(mode);
	memcpy(&bits, &low, sizeof(bits));
	return bits & 1 ? low : high;
}

const char *cli_parse_half(const char *text, size_t len, uint16_t *out)
{
	char buf[STACK_TEXT], *copy;
	double number;

	if (!is_number(text, len))
		return not_a_number;
	copy = terminate(text, len, buf);
	if (!copy)
		return no_memory;
	number = round_to_odd(copy);
	if (copy != buf)
		free(copy);
	*out = double_to_half(number);
	return (*out & 0x7fff) == 0x7c00 && strchr("0123456789.", text[len - 1])
		       ? out_of_range
		       : NULL;
}
