/* SPDX-License-Identifier: Apache-2.0 */
/* Text to elements of rows, a function a kind.  Strict: all of the text is the value, and what
 * the element cannot hold exactly is refused, not cut (floats are rounded, as in C). */
#include <string.h>
#include <stdlib.h>
#include <ticktail/time.h>

#include "cmd.h"
#include "value.h"

static const char no_integer[] = "is no integer";
static const char out_of_range[] = "is out of range";

/* [sign]digits as a magnitude that fits 64 bits. */
static const char *read_integer(const char *text, size_t len, bool *negative,
				uint64_t *out)
{
	uint64_t number = 0;
	bool overflow = false;
	size_t i = 0;

	*negative = len > 0 && text[0] == '-';
	if (len > 0 && (text[0] == '-' || text[0] == '+'))
		i = 1;
	if (i == len)
		return no_integer;
	for (; i < len; i++) {
		unsigned digit = (unsigned char)text[i] - '0';

		if (digit > 9)
			return no_integer;
		overflow |= __builtin_mul_overflow(number, 10u, &number) ||
			    __builtin_add_overflow(number, digit, &number);
	}
	*out = number;
	return overflow ? out_of_range : NULL;
}

static const char *parse_uint(const struct cli_value *value, const char *text, size_t len,
			      void *out)
{
	bool negative;
	uint64_t number;
	const char *wrong = read_integer(text, len, &negative, &number);

	if (wrong)
		return wrong;
	if ((negative && number > 0) || (value->size < 8 && number >> 8 * value->size))
		return out_of_range;
	cli_store(value, &number, out, value->size);
	return NULL;
}

static const char *read_i64(const char *text, size_t len, int64_t *out)
{
	bool negative;
	uint64_t number;
	const char *wrong = read_integer(text, len, &negative, &number);

	if (wrong)
		return wrong;
	if (number > (uint64_t)INT64_MAX + negative)
		return out_of_range;
	*out = negative ? (int64_t)(0 - number) : (int64_t)number;
	return NULL;
}

static const char *parse_int(const struct cli_value *value, const char *text, size_t len,
			     void *out)
{
	int64_t number = 0;
	const char *wrong = read_i64(text, len, &number);
	int64_t limit = INT64_MAX >> (64 - 8 * value->size);

	if (wrong)
		return wrong;
	if (number > limit || number < -limit - 1)
		return out_of_range;
	cli_store(value, &number, out, value->size);
	return NULL;
}

static const char *parse_bool(const struct cli_value *value, const char *text, size_t len,
			      void *out)
{
	bool is_true =
		(len == 4 && memcmp(text, "true", 4) == 0) || (len == 1 && *text == '1');
	bool is_false =
		(len == 5 && memcmp(text, "false", 5) == 0) || (len == 1 && *text == '0');

	(void)value;
	if (!is_true && !is_false)
		return "is none of true, false, 1, 0";
	*(unsigned char *)out = is_true;
	return NULL;
}

static const char *parse_f2(const struct cli_value *value, const char *text, size_t len,
			    void *out)
{
	uint16_t number;
	const char *wrong = cli_parse_half(text, len, &number);

	if (!wrong)
		cli_store(value, &number, out, sizeof(number));
	return wrong;
}

static const char *parse_f4(const struct cli_value *value, const char *text, size_t len,
			    void *out)
{
	float number;
	const char *wrong = cli_parse_float(text, len, &number);

	if (!wrong)
		cli_store(value, &number, out, sizeof(number));
	return wrong;
}

static const char *parse_f8(const struct cli_value *value, const char *text, size_t len,
			    void *out)
{
	double number;
	const char *wrong = cli_parse_double(text, len, &number);

	if (!wrong)
		cli_store(value, &number, out, sizeof(number));
	return wrong;
}

static const char *parse_f16(const struct cli_value *value, const char *text, size_t len,
			     void *out)
{
	union {
		long double number;
		unsigned char bytes[16];
	} u = { .bytes = { 0 } };
	long double number;
	const char *wrong = cli_parse_long_double(text, len, &number);

	if (wrong)
		return wrong;
	memcpy(u.bytes, &number, 10); /* the other six are padding and stay zero */
	cli_store(value, u.bytes, out, sizeof(u.bytes));
	return NULL;
}

/* Where the imaginary part of "1.5-2j" begins: its sign, but not one of an exponent. */
static size_t imaginary_at(const char *text, size_t len)
{
	for (size_t i = len - 1; i > 0; i--)
		if ((text[i] == '-' || text[i] == '+') && text[i - 1] != 'e' &&
		    text[i - 1] != 'E')
			return i;
	return 0;
}

static const char *parse_complex(const struct cli_value *value, const char *text,
				 size_t len, void *out)
{
	cli_parse_fn *part = value->size == 8	 ? parse_f4
			     : value->size == 16 ? parse_f8
						 : parse_f16;
	void *imaginary = (char *)out + value->size / 2;
	const char *wrong;
	size_t at;

	if (len == 0 || (text[len - 1] != 'j' && text[len - 1] != 'J')) {
		wrong = part(value, text, len, out);
		return wrong ? wrong : part(value, "0", 1, imaginary);
	}
	at = imaginary_at(text, len);
	wrong = at == 0 ? part(value, "0", 1, out) : part(value, text, at, out);
	return wrong ? wrong : part(value, text + at, len - 1 - at, imaginary);
}

static const char *parse_bytes(const struct cli_value *value, const char *text,
			       size_t len, void *out)
{
	size_t n;

	if (len <= value->size && !memchr(text, '\\', len)) {
		memcpy(out, text, len);
		n = len;
	} else {
		n = cli_unescape(text, len, out, value->size);
		if (n == SIZE_MAX)
			return "is too long";
	}
	memset((char *)out + n, 0, value->size - n);
	return NULL;
}

static const char *decode_str(const struct cli_value *value, const unsigned char *bytes,
			      size_t n, char *out)
{
	size_t room = value->size / 4, count = 0;
	uint32_t code;

	for (size_t i = 0; i < n; count++) {
		size_t len = cli_utf8_get(bytes + i, n - i, &code);

		if (len == 0)
			return "is not UTF-8";
		if (count == room)
			return "is too long";
		cli_store(value, &code, out + 4 * count, 4);
		i += len;
	}
	memset(out + 4 * count, 0, value->size - 4 * count);
	return NULL;
}

/* Escapes first, then UTF-8: so an escaped byte can be part of a code point. */
static const char *parse_str(const struct cli_value *value, const char *text, size_t len,
			     void *out)
{
	const char *wrong;
	unsigned char *bytes;
	size_t n;

	if (!memchr(text, '\\', len))
		return decode_str(value, (const unsigned char *)text, len, out);
	bytes = malloc(len);
	if (!bytes)
		return "does not fit into memory";
	n = cli_unescape(text, len, bytes, len);
	wrong = decode_str(value, bytes, n, out);
	free(bytes);
	return wrong;
}

static const char *parse_void(const struct cli_value *value, const char *text, size_t len,
			      void *out)
{
	unsigned char *bytes = out;

	if (len % 2 != 0)
		return "is not hexadecimal: two digits a byte";
	if (len / 2 > value->size)
		return "is too long";
	if (len / 2 < value->size)
		return "is too short: all bytes are needed";
	for (size_t i = 0; i < value->size; i++) {
		int high = cli_hex_digit(text[2 * i]),
		    low = cli_hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return "is not hexadecimal: two digits a byte";
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	return NULL;
}

static const char *parse_timedelta(const struct cli_value *value, const char *text,
				   size_t len, void *out)
{
	int64_t count = TT_NAT;
	const char *wrong;

	if (len != 3 || memcmp(text, "NaT", 3) != 0) {
		wrong = read_i64(text, len, &count);
		if (wrong)
			return wrong;
	}
	cli_store(value, &count, out, sizeof(count));
	return NULL;
}

static const char *parse_datetime(const struct cli_value *value, const char *text,
				  size_t len, void *out)
{
	int64_t count;
	int rc;

	if (read_i64(text, len, &count) == NULL) {
		cli_store(value, &count, out, sizeof(count));
		return NULL;
	}
	rc = tt_time_parse(text, len, value->unit, value->unit_step, TT_TIME_EXACT,
			   &count);
	if (rc == TT_E_RANGE)
		return "cannot be held by the unit of the field";
	if (rc != TT_OK)
		return "is no time (RFC 3339, an integer or NaT)";
	cli_store(value, &count, out, sizeof(count));
	return NULL;
}

cli_parse_fn *cli_value_parser(const struct tt_leaf *leaf)
{
	switch (leaf->kind) {
	case TT_BOOL: return parse_bool;
	case TT_INT: return parse_int;
	case TT_UINT: return parse_uint;
	case TT_FLOAT:
		return leaf->size == 2	 ? parse_f2
		       : leaf->size == 4 ? parse_f4
		       : leaf->size == 8 ? parse_f8
					 : parse_f16;
	case TT_COMPLEX: return parse_complex;
	case TT_BYTES: return parse_bytes;
	case TT_STR: return parse_str;
	case TT_DATETIME: return parse_datetime;
	case TT_TIMEDELTA: return parse_timedelta;
	default: return parse_void;
	}
}
