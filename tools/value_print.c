/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of rows to text, a function a kind. */
#include <string.h>
#include <ticktail/time.h>

#include "cmd.h"
#include "value.h"

static void reverse(unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		unsigned char c = bytes[i];

		bytes[i] = bytes[n - 1 - i];
		bytes[n - 1 - i] = c;
	}
}

void cli_load(const struct cli_value *value, const void *in, void *out, size_t size)
{
	memcpy(out, in, size);
	if (value->swap)
		reverse(out, size);
}

void cli_store(const struct cli_value *value, const void *in, void *out, size_t size)
{
	memcpy(out, in, size);
	if (value->swap)
		reverse(out, size);
}

static size_t print_u64(uint64_t number, char *out)
{
	char digits[20];
	size_t n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	for (size_t i = 0; i < n; i++)
		out[i] = digits[n - 1 - i];
	return n;
}

static size_t print_i64(int64_t number, char *out)
{
	if (number >= 0)
		return print_u64((uint64_t)number, out);
	*out = '-';
	return 1 + print_u64(0 - (uint64_t)number, out + 1);
}

static uint64_t load_uint(const struct cli_value *value, const void *in)
{
	uint64_t number = 0;

	/* a little-endian host: the low bytes come first */
	cli_load(value, in, &number, value->size);
	return number;
}

static size_t print_uint(const struct cli_value *value, const void *in, char *out)
{
	return print_u64(load_uint(value, in), out);
}

static int64_t load_int(const struct cli_value *value, const void *in)
{
	int shift = (int)(64 - 8 * value->size);

	return (int64_t)(load_uint(value, in) << shift) >> shift;
}

static size_t print_int(const struct cli_value *value, const void *in, char *out)
{
	return print_i64(load_int(value, in), out);
}

static size_t print_bool(const struct cli_value *value, const void *in, char *out)
{
	bool is_true = *(const unsigned char *)in != 0;

	(void)value;
	memcpy(out, is_true ? "true" : "false", is_true ? 4 : 5);
	return is_true ? 4 : 5;
}

static size_t print_f2(const struct cli_value *value, const void *in, char *out)
{
	uint16_t bits;

	cli_load(value, in, &bits, sizeof(bits));
	return cli_print_half(bits, out);
}

static size_t print_f4(const struct cli_value *value, const void *in, char *out)
{
	float number;

	cli_load(value, in, &number, sizeof(number));
	return cli_print_float(number, out);
}

static size_t print_f8(const struct cli_value *value, const void *in, char *out)
{
	double number;

	cli_load(value, in, &number, sizeof(number));
	return cli_print_double(number, out);
}

static size_t print_f16(const struct cli_value *value, const void *in, char *out)
{
	long double number;

	cli_load(value, in, &number, sizeof(number));
	return cli_print_long_double(number, out);
}

/* A complex number is two floats of half the size: "1.5-2j". */
static size_t print_complex(const struct cli_value *value, const void *in, char *out)
{
	cli_print_fn *part = value->size == 8	 ? print_f4
			     : value->size == 16 ? print_f8
						 : print_f16;
	size_t half = value->size / 2, n = part(value, in, out), imaginary;

	imaginary = part(value, (const char *)in + half, out + n + 1);
	if (out[n + 1] == '-') {
		memmove(out + n, out + n + 1, imaginary);
		n += imaginary;
	} else {
		out[n] = '+';
		n += 1 + imaginary;
	}
	out[n] = 'j';
	return n + 1;
}

static size_t print_bytes(const struct cli_value *value, const void *in, char *out)
{
	const unsigned char *bytes = in;
	size_t n = value->size;

	while (n > 0 && bytes[n - 1] == 0)
		n--;
	return cli_escape_bytes(bytes, n, out);
}

/* A code point that UTF-8 cannot hold is written as the bytes it would have there. */
static size_t print_str(const struct cli_value *value, const void *in, char *out)
{
	size_t count = value->size / 4, n = 0;
	const char *at = in;
	uint32_t code;

	for (; count > 0; count--) {
		cli_load(value, at + 4 * (count - 1), &code, 4);
		if (code != 0)
			break;
	}
	for (size_t i = 0; i < count; i++) {
		unsigned char bytes[8];

		cli_load(value, at + 4 * i, &code, 4);
		n += cli_escape_bytes(bytes, cli_utf8_put(code, bytes), out + n);
	}
	return n;
}

static size_t print_void(const struct cli_value *value, const void *in, char *out)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *bytes = in;

	for (size_t i = 0; i < value->size; i++) {
		out[2 * i] = hex[bytes[i] >> 4];
		out[2 * i + 1] = hex[bytes[i] & 15];
	}
	return 2 * value->size;
}

static size_t print_datetime(const struct cli_value *value, const void *in, char *out)
{
	char text[TT_TIME_TEXT];
	size_t n =
		tt_time_format(text, load_int(value, in), value->unit, value->unit_step);

	memcpy(out, text, n);
	return n;
}

static size_t print_timedelta(const struct cli_value *value, const void *in, char *out)
{
	int64_t count = load_int(value, in);

	if (count == TT_NAT) {
		memcpy(out, "NaT", 3);
		return 3;
	}
	return print_i64(count, out);
}

static cli_print_fn *printer_of(const struct tt_leaf *leaf)
{
	switch (leaf->kind) {
	case TT_BOOL: return print_bool;
	case TT_INT: return print_int;
	case TT_UINT: return print_uint;
	case TT_FLOAT:
		return leaf->size == 2	 ? print_f2
		       : leaf->size == 4 ? print_f4
		       : leaf->size == 8 ? print_f8
					 : print_f16;
	case TT_COMPLEX: return print_complex;
	case TT_BYTES: return print_bytes;
	case TT_STR: return print_str;
	case TT_DATETIME: return print_datetime;
	case TT_TIMEDELTA: return print_timedelta;
	default: return print_void;
	}
}

void cli_value_init(struct cli_value *value, const struct tt_leaf *leaf)
{
	*value = (struct cli_value){
		.parse = cli_value_parser(leaf),
		.print = printer_of(leaf),
		.kind = leaf->kind,
		.swap = leaf->order == '>',
		.unit = leaf->unit,
		.unit_step = leaf->unit_step ? leaf->unit_step : 1,
		.size = leaf->size,
		.text_max = 2 * CLI_FLOAT_TEXT + 8,
	};
	if (leaf->kind == TT_BYTES)
		value->text_max += 4 * leaf->size;
	else if (leaf->kind == TT_STR)
		value->text_max += 7 * leaf->size; /* seven escaped bytes a code point */
	else if (leaf->kind == TT_VOID)
		value->text_max += 2 * leaf->size;
}
