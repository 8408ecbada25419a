/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of numbers.  The common types (bool, integers, float, double) have a loop
 * for each pair; what is left (half, long double, complex, the other byte order) goes
 * element by element through the widest of its kind. */
#include "staged/cast.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "staged/nd.h"
#include "staged/transfer.h"

/* ---- Elements ---- */

bool tt_element_equal(struct tt_element a, struct tt_element b)
{
	return a.kind == b.kind && a.bytes == b.bytes && a.swapped == b.swapped;
}

static bool is_number(char kind)
{
	return kind == TT_BOOL || kind == TT_INT || kind == TT_UINT || kind == TT_FLOAT ||
	       kind == TT_COMPLEX;
}

static bool size_fits(struct tt_element e)
{
	switch (e.kind) {
	case TT_BOOL: return e.bytes == 1;
	case TT_INT:
	case TT_UINT: return e.bytes == 1 || e.bytes == 2 || e.bytes == 4 || e.bytes == 8;
	case TT_FLOAT:
		return e.bytes == 2 || e.bytes == 4 || e.bytes == 8 ||
		       e.bytes == sizeof(long double);
	case TT_COMPLEX:
		return e.bytes == 8 || e.bytes == 16 ||
		       e.bytes == 2 * sizeof(long double);
	default: return e.bytes > 0;
	}
}

int tt_element_check(struct tt_element element, struct tt_error *err)
{
	if (size_fits(element))
		return TT_OK;
	return tti_fail(err, TT_E_DTYPE,
			"an element of kind '%c' and %u bytes: there is none",
			element.kind, element.bytes);
}

struct tt_element tt_element_of(const struct tt_dtype *dtype)
{
	enum tt_kind kind = tt_dtype_kind(dtype);
	bool whole = tt_dtype_rank(dtype) == 0 && kind != TT_STRUCT;

	return (struct tt_element){ .kind = (char)(whole ? kind : TT_VOID),
				    .swapped = whole && tt_dtype_order(dtype) == '>',
				    .bytes = (uint32_t)tt_dtype_size(dtype) };
}

bool tti_can_cast(struct tt_element from, struct tt_element to)
{
	return tt_element_equal(from, to) || (is_number(from.kind) && is_number(to.kind));
}

/* ---- Floats to integers, as cvttsd2si does ---- */

static inline int32_t to_i32(double x)
{
	return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}

static inline int64_t to_i64(double x)
{
	return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static inline uint64_t to_u64(double x)
{
	if (x >= 0x1p63) /* 2^63 less, and its bit put back: too much gives 0 */
		return x < 0x1p64 ? (uint64_t)x : 0;
	return (uint64_t)to_i64(x);
}

/* From integer or float to each type; FLOATS says which the source is. */
#define TO_b(x) ((x) != 0)
#define INT_TO_i1(x) ((int8_t)(x))
#define INT_TO_u1(x) ((uint8_t)(x))
#define INT_TO_i2(x) ((int16_t)(x))
#define INT_TO_u2(x) ((uint16_t)(x))
#define INT_TO_i4(x) ((int32_t)(x))
#define INT_TO_u4(x) ((uint32_t)(x))
#define INT_TO_i8(x) ((int64_t)(x))
#define INT_TO_u8(x) ((uint64_t)(x))
#define INT_TO_f4(x) ((float)(x))
#define INT_TO_f8(x) ((double)(x))
#define FLT_TO_i1(x) ((int8_t)to_i32(x))
#define FLT_TO_u1(x) ((uint8_t)to_i32(x))
#define FLT_TO_i2(x) ((int16_t)to_i32(x))
#define FLT_TO_u2(x) ((uint16_t)to_i32(x))
#define FLT_TO_i4(x) (to_i32(x))
#define FLT_TO_u4(x) ((uint32_t)to_i64(x))
#define FLT_TO_i8(x) (to_i64(x))
#define FLT_TO_u8(x) (to_u64(x))
#define FLT_TO_f4(x) ((float)(x))
#define FLT_TO_f8(x) ((double)(x))

enum common { B, I1, U1, I2, U2, I4, U4, I8, U8, F4, F8, COMMON };
typedef void loop_fn(char *to, const char *from, uint64_t n, int64_t to_step,
		     int64_t from_step);

/* memcpy: elements of packed structs lie anywhere. */
#define LOOP(f, ftype, t, ttype, convert) \
	static void f##_to_##t(char *to, const char *from, uint64_t n, int64_t to_step, \
			       int64_t from_step) \
	{ \
		for (uint64_t i = 0; i < n; i++) { \
			ftype x; \
			ttype y; \
			memcpy(&x, from + (int64_t)i * from_step, sizeof(x)); \
			y = convert(x); \
			memcpy(to + (int64_t)i * to_step, &y, sizeof(y)); \
		} \
	}
#define LOOPS(f, ftype, CLASS) \
	LOOP(f, ftype, b, uint8_t, TO_b) \
	LOOP(f, ftype, i1, int8_t, CLASS##_TO_i1) \
	LOOP(f, ftype, u1, uint8_t, CLASS##_TO_u1) \
	LOOP(f, ftype, i2, int16_t, CLASS##_TO_i2) \
	LOOP(f, ftype, u2, uint16_t, CLASS##_TO_u2) \
	LOOP(f, ftype, i4, int32_t, CLASS##_TO_i4) \
	LOOP(f, ftype, u4, uint32_t, CLASS##_TO_u4) \
	LOOP(f, ftype, i8, int64_t, CLASS##_TO_i8) \
	LOOP(f, ftype, u8, uint64_t, CLASS##_TO_u8) \
	LOOP(f, ftype, f4, float, CLASS##_TO_f4) \
	LOOP(f, ftype, f8, double, CLASS##_TO_f8)
LOOPS(b, uint8_t, INT)
LOOPS(i1, int8_t, INT)
LOOPS(u1, uint8_t, INT)
LOOPS(i2, int16_t, INT)
LOOPS(u2, uint16_t, INT)
LOOPS(i4, int32_t, INT)
LOOPS(u4, uint32_t, INT)
LOOPS(i8, int64_t, INT)
LOOPS(u8, uint64_t, INT)
LOOPS(f4, float, FLT)
LOOPS(f8, double, FLT)
#define ROW(f) \
	{ \
		f##_to_b, f##_to_i1, f##_to_u1, f##_to_i2, f##_to_u2, f##_to_i4, \
			f##_to_u4, f##_to_i8, f##_to_u8, f##_to_f4, f##_to_f8 \
	}
static loop_fn *const loops[COMMON][COMMON] = { ROW(b),	 ROW(i1), ROW(u1), ROW(i2),
						ROW(u2), ROW(i4), ROW(u4), ROW(i8),
						ROW(u8), ROW(f4), ROW(f8) };

/* COMMON: not one of them. */
static enum common common_of(struct tt_element e)
{
	unsigned log = e.bytes == 1 ? 0 : e.bytes == 2 ? 1 : e.bytes == 4 ? 2 : 3;

	if (e.swapped && e.bytes > 1)
		return COMMON;
	if (e.kind == TT_BOOL)
		return B;
	if (e.kind == TT_INT)
		return (enum common)(I1 + 2 * log);
	if (e.kind == TT_UINT)
		return (enum common)(U1 + 2 * log);
	if (e.kind == TT_FLOAT && e.bytes == 4)
		return F4;
	return e.kind == TT_FLOAT && e.bytes == 8 ? F8 : COMMON;
}

/* ---- The rest, through the widest of a kind ---- */

struct wide {
	char kind; /* TT_INT, TT_UINT or TT_FLOAT (with im) */
	int64_t i;
	uint64_t u;
	long double re, im;
};

static double half_to_double(uint16_t half)
{
	int exponent = half >> 10 & 31, mantissa = half & 1023;
	double value = exponent == 31 ? (mantissa ? NAN : INFINITY)
		       : exponent     ? ldexp(1024 + mantissa, exponent - 25)
				      : ldexp(mantissa, -24);

	return half >> 15 ? -value : value;
}

/* To nearest, ties to even. */
static uint16_t double_to_half(double x)
{
	uint16_t sign = signbit(x) ? 0x8000 : 0;
	int exponent;
	double scaled;

	x = fabs(x);
	if (isnan(x))
		return sign | 0x7e00;
	if (x >= 65520.0) /* halfway to what would be the next */
		return sign | 0x7c00;
	if (x < 0x1p-14) /* denormal, or zero */
		return sign | (uint16_t)nearbyint(x * 0x1p24);
	frexp(x, &exponent); /* x in [2^(exponent-1), 2^exponent) */
	scaled = nearbyint(ldexp(x, 11 - exponent)); /* 1024 to 2048 */
	/* 2048 carries into the exponent by itself */
	return sign | (uint16_t)(((exponent + 14 - 1) << 10) + (int)scaled);
}

static void swap_bytes(unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		unsigned char byte = bytes[i];

		bytes[i] = bytes[n - 1 - i];
		bytes[n - 1 - i] = byte;
	}
}

static long double load_float(const unsigned char *from, size_t bytes)
{
	uint16_t half;
	float single;
	double twice;
	long double most;

	switch (bytes) {
	case 2: memcpy(&half, from, sizeof(half)); return half_to_double(half);
	case 4: memcpy(&single, from, sizeof(single)); return single;
	case 8: memcpy(&twice, from, sizeof(twice)); return twice;
	default: memcpy(&most, from, sizeof(most)); return most;
	}
}

static void store_float(unsigned char *to, size_t bytes, long double x)
{
	uint16_t half = bytes == 2 ? double_to_half((double)x) : 0;
	float single = (float)x;
	double twice = (double)x;

	switch (bytes) {
	case 2: memcpy(to, &half, sizeof(half)); break;
	case 4: memcpy(to, &single, sizeof(single)); break;
	case 8: memcpy(to, &twice, sizeof(twice)); break;
	default:
		memset(to, 0, bytes); /* its padding too */
		memcpy(to, &x, sizeof(x));
	}
}

static struct wide load(const char *from, struct tt_element e)
{
	unsigned char bytes[2 * sizeof(long double)];
	struct wide wide = { .kind = e.kind == TT_BOOL ? TT_UINT : e.kind };
	size_t part = e.kind == TT_COMPLEX ? e.bytes / 2 : e.bytes;

	memcpy(bytes, from, e.bytes);
	for (size_t at = 0; e.swapped && at < e.bytes; at += part)
		swap_bytes(bytes + at, part);
	if (wide.kind == TT_INT || wide.kind == TT_UINT) {
		loops[common_of((struct tt_element){ e.kind, false, e.bytes })]
		     [wide.kind == TT_INT ? I8 : U8](
			     wide.kind == TT_INT ? (char *)&wide.i : (char *)&wide.u,
			     (char *)bytes, 1, 0, 0);
		return wide;
	}
	wide.kind = TT_FLOAT;
	wide.re = load_float(bytes, part);
	wide.im = e.kind == TT_COMPLEX ? load_float(bytes + part, part) : 0;
	return wide;
}

static uint64_t wide_to_bits(const struct wide *wide, struct tt_element e)
{
	double x = (double)wide->re;

	if (wide->kind != TT_FLOAT)
		return wide->kind == TT_INT ? (uint64_t)wide->i : wide->u;
	if (e.bytes == 8)
		return e.kind == TT_INT ? (uint64_t)to_i64(x) : to_u64(x);
	return e.kind == TT_UINT && e.bytes == 4 ? (uint64_t)to_i64(x)
						 : (uint64_t)(int64_t)to_i32(x);
}

static void store(char *to, struct tt_element e, const struct wide *wide)
{
	unsigned char bytes[2 * sizeof(long double)];
	size_t part = e.kind == TT_COMPLEX ? e.bytes / 2 : e.bytes;
	long double re = wide->kind == TT_FLOAT ? wide->re
			 : wide->kind == TT_INT ? (long double)wide->i
						: (long double)wide->u;
	uint64_t bits;

	if (e.kind == TT_BOOL) {
		*to = re != 0 || wide->im != 0;
		return;
	}
	if (e.kind == TT_INT || e.kind == TT_UINT) {
		bits = wide_to_bits(wide, e);
		memcpy(bytes, &bits, e.bytes); /* little-endian: the low bytes */
	} else {
		store_float(bytes, part, re);
		if (e.kind == TT_COMPLEX)
			store_float(bytes + part, part, wide->im);
	}
	for (size_t at = 0; e.swapped && at < e.bytes; at += part)
		swap_bytes(bytes + at, part);
	memcpy(to, bytes, e.bytes);
}

bool tti_element_same(struct tt_element element, const void *a, const void *b)
{
	struct wide x, y;

	if (element.kind != TT_FLOAT && element.kind != TT_COMPLEX)
		return memcmp(a, b, element.bytes) == 0;
	x = load(a, element);
	y = load(b, element);
	return x.re == y.re && x.im == y.im;
}

/* ---- Arrays ---- */

static void cast_axis(const struct tt_nd *to, const struct tt_nd *from, char *at_to,
		      const char *at_from)
{
	enum common a = common_of(from->element), b = common_of(to->element);
	uint32_t last = to->rank - 1;
	uint64_t n = to->rank > 0 ? to->shape[last] : 1;
	int64_t to_step = to->rank > 0 ? to->strides[last] : 0;
	int64_t from_step = to->rank > 0 ? from->strides[last] : 0;

	if (a != COMMON && b != COMMON) {
		loops[a][b](at_to, at_from, n, to_step, from_step);
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		struct wide wide = load(at_from + (int64_t)i * from_step, from->element);

		store(at_to + (int64_t)i * to_step, to->element, &wide);
	}
}

static void copy_same(const struct tt_nd *to, const struct tt_nd *from)
{
	struct tti_side to_side = tti_side_of(to), from_side = tti_side_of(from);
	uint64_t row[5 * TT_MAX_RANK];
	struct tti_convoy convoy;

	for (uint32_t i = 0; i < to->rank; i++) {
		row[i] = row[to->rank + i] = 0;
		row[2 * to->rank + i] = to->shape[i];
		row[3 * to->rank + i] = row[4 * to->rank + i] = 1;
	}
	tti_convoy_begin(&convoy, (struct tti_manner){ TTI_SINGLY, false });
	tti_transfer(&convoy, &to_side, &from_side, (struct tti_rows){ row, 1 });
	tti_convoy_end(&convoy);
}

void tti_cast(const struct tt_nd *to, const struct tt_nd *from)
{
	uint64_t at[TT_MAX_RANK] = { 0 };

	if (tti_shape_empty(to->rank, to->shape))
		return;
	if (tt_element_equal(to->element, from->element)) {
		copy_same(to, from);
		return;
	}
	do {
		char *at_to = to->data;
		const char *at_from = from->data;

		for (uint32_t i = 0; i + 1 < to->rank; i++) {
			at_to += (int64_t)at[i] * to->strides[i];
			at_from += (int64_t)at[i] * from->strides[i];
		}
		cast_axis(to, from, at_to, at_from);
	} while (to->rank > 1 && tti_step(to->rank - 1, to->shape, at));
}
