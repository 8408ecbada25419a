/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions that lose nothing: the other byte order, wider integers and floats, integers into
 * floats that hold them all, longer texts.  Decided once a field from the types alone, so that
 * no row can fail. */
#include "convert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cli_step {
	struct cli_value from, to;
	size_t from_off, to_off;
	uint64_t count;
	void (*move)(const struct cli_step *step, const char *in, char *out);
};

/* ---- One element ---- */

static void move_plain(const struct cli_step *step, const char *in, char *out)
{
	memcpy(out, in, step->to.size);
}

/* The other byte order; a complex number is two floats, U a row of code points. */
static void move_swapped(const struct cli_step *step, const char *in, char *out)
{
	size_t unit = step->to.kind == TT_COMPLEX ? step->to.size / 2
		      : step->to.kind == TT_STR	  ? 4
						  : step->to.size;

	for (size_t at = 0; at < step->to.size; at += unit)
		for (size_t i = 0; i < unit; i++)
			out[at + i] = in[at + unit - 1 - i];
}

static void move_bytes(const struct cli_step *step, const char *in, char *out)
{
	memcpy(out, in, step->from.size);
	memset(out + step->from.size, 0, step->to.size - step->from.size);
}

static void move_str(const struct cli_step *step, const char *in, char *out)
{
	uint32_t code;

	for (size_t i = 0; i < step->from.size; i += 4) {
		cli_load(&step->from, in + i, &code, 4);
		cli_store(&step->to, &code, out + i, 4);
	}
	memset(out + step->from.size, 0, step->to.size - step->from.size);
}

static uint64_t load_integer(const struct cli_step *step, const char *in)
{
	uint64_t number = 0;
	int shift = (int)(64 - 8 * step->from.size);

	cli_load(&step->from, in, &number, step->from.size);
	if (step->from.kind == TT_INT)
		number = (uint64_t)((int64_t)(number << shift) >> shift);
	return number;
}

static void move_integer(const struct cli_step *step, const char *in, char *out)
{
	uint64_t number = load_integer(step, in);

	cli_store(&step->to, &number, out, step->to.size);
}

static long double load_float(const struct cli_value *value, const char *in, size_t size)
{
	uint16_t half;
	float single;
	double number;
	long double wide;

	switch (size) {
	case 2: cli_load(value, in, &half, 2); return cli_half_to_double(half);
	case 4: cli_load(value, in, &single, 4); return single;
	case 8: cli_load(value, in, &number, 8); return number;
	default: cli_load(value, in, &wide, 16); return wide;
	}
}

/* binary16 is never the wider one but of small integers, which it holds exactly. */
static uint16_t half_of(long double number)
{
	char text[CLI_FLOAT_TEXT];
	uint16_t bits = 0;
	size_t len = cli_print_long_double(number, text);

	cli_parse_half(text, len, &bits);
	return bits;
}

static void store_float(const struct cli_value *value, long double number, char *out,
			size_t size)
{
	unsigned char wide[16] = { 0 };
	uint16_t half;
	float single = (float)number;
	double plain = (double)number;

	switch (size) {
	case 2:
		half = half_of(number);
		cli_store(value, &half, out, 2);
		break;
	case 4: cli_store(value, &single, out, 4); break;
	case 8: cli_store(value, &plain, out, 8); break;
	default: memcpy(wide, &number, 10); cli_store(value, wide, out, 16);
	}
}

static size_t part_size(const struct cli_value *value)
{
	return value->kind == TT_COMPLEX ? value->size / 2 : value->size;
}

static void move_float(const struct cli_step *step, const char *in, char *out)
{
	size_t from = part_size(&step->from), to = part_size(&step->to);
	long double number;

	if (step->from.kind == TT_INT)
		number = (long double)(int64_t)load_integer(step, in);
	else if (step->from.kind == TT_UINT || step->from.kind == TT_BOOL)
		number = (long double)load_integer(step, in);
	else
		number = load_float(&step->from, in, from);
	store_float(&step->to, number, out, to);
	if (step->to.kind != TT_COMPLEX)
		return;
	number = step->from.kind == TT_COMPLEX ? load_float(&step->from, in + from, from)
					       : 0;
	store_float(&step->to, number, out + to, to);
}

/* ---- Planning ---- */

static bool is_integer(enum tt_kind kind)
{
	return kind == TT_INT || kind == TT_UINT || kind == TT_BOOL;
}

/* Bits of an integer that a float of so many bytes holds exactly. */
static size_t float_bits(size_t size)
{
	return size == 2 ? 11 : size == 4 ? 24 : size == 8 ? 53 : 64;
}

static bool integer_fits(const struct cli_step *step)
{
	size_t bits = step->from.kind == TT_BOOL
			      ? 1
			      : 8 * step->from.size - (step->from.kind == TT_INT);

	if (step->to.kind == TT_UINT)
		return step->from.kind != TT_INT && bits <= 8 * step->to.size;
	if (step->to.kind == TT_INT)
		return bits <= 8 * step->to.size - 1;
	return (step->to.kind == TT_FLOAT || step->to.kind == TT_COMPLEX) &&
	       bits <= float_bits(part_size(&step->to));
}

static bool choose_move(struct cli_step *step)
{
	const struct cli_value *from = &step->from, *to = &step->to;

	if (from->kind == to->kind && from->size == to->size) {
		if ((from->kind == TT_DATETIME || from->kind == TT_TIMEDELTA) &&
		    (from->unit != to->unit || from->unit_step != to->unit_step))
			return false;
		step->move = from->swap == to->swap ? move_plain : move_swapped;
		return true;
	}
	if (from->kind == to->kind && to->size > from->size &&
	    (to->kind == TT_BYTES || to->kind == TT_STR)) {
		step->move = to->kind == TT_BYTES ? move_bytes : move_str;
		return true;
	}
	if (is_integer(from->kind) && integer_fits(step)) {
		step->move = is_integer(to->kind) ? move_integer : move_float;
		return true;
	}
	step->move = move_float;
	return (from->kind == TT_FLOAT &&
		(to->kind == TT_FLOAT || to->kind == TT_COMPLEX) &&
		part_size(to) >= from->size) ||
	       (from->kind == TT_COMPLEX && to->kind == TT_COMPLEX &&
		to->size > from->size);
}

static bool same_shape(const struct tt_leaf *a, const struct tt_leaf *b)
{
	return a->rank == b->rank &&
	       (a->rank == 0 ||
		memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0);
}

static int plan_step(struct cli_step *step, const struct tt_leaf *to,
		     const struct tt_dtype *from_row, struct tt_error *err)
{
	const struct tt_leaf *from = cli_find_leaf(from_row, to->name);

	if (!from)
		return cli_error(err, TT_E_MISMATCH, "field '%s' is missing in the input",
				 to->name);
	if (!same_shape(from, to))
		return cli_error(err, TT_E_MISMATCH, "field '%s' has another shape",
				 to->name);
	cli_value_init(&step->from, from);
	cli_value_init(&step->to, to);
	step->from_off = from->offset;
	step->to_off = to->offset;
	step->count = to->count;
	if (!choose_move(step))
		return cli_error(err, TT_E_MISMATCH,
				 "field '%s': %c%zu cannot become %c%zu without loss",
				 to->name, (char)from->kind, from->size, (char)to->kind,
				 to->size);
	return TT_OK;
}

int cli_convert_init(struct cli_convert *convert, const struct cli_rowtype *from,
		     const struct cli_rowtype *to, struct tt_error *err)
{
	size_t leaves = tt_dtype_leaf_count(to->row);
	int rc = TT_OK;

	*convert =
		(struct cli_convert){ .from_bytes = from->bytes, .to_bytes = to->bytes };
	convert->same = tt_dtype_equal(from->row, to->row);
	if (convert->same)
		return TT_OK;
	for (size_t i = 0; i < tt_dtype_leaf_count(from->row); i++)
		if (!cli_find_leaf(to->row, tt_dtype_leaf(from->row, i)->name))
			return cli_error(err, TT_E_MISMATCH,
					 "field '%s' of the input is unknown",
					 tt_dtype_leaf(from->row, i)->name);
	convert->steps = calloc(leaves ? leaves : 1, sizeof(*convert->steps));
	if (!convert->steps)
		return cli_error(err, -ENOMEM, "%s", tt_strerror(-ENOMEM));
	for (size_t i = 0; i < leaves && rc == TT_OK; i++, convert->count++)
		rc = plan_step(&convert->steps[i], tt_dtype_leaf(to->row, i), from->row,
			       err);
	if (rc < 0)
		cli_convert_fini(convert);
	return rc;
}

void cli_convert_fini(struct cli_convert *convert)
{
	free(convert->steps);
	*convert = (struct cli_convert){ 0 };
}

static void convert_row(const struct cli_convert *convert, const char *in, char *out)
{
	memset(out, 0, convert->to_bytes);
	for (size_t s = 0; s < convert->count; s++) {
		const struct cli_step *step = &convert->steps[s];

		for (uint64_t i = 0; i < step->count; i++)
			step->move(step, in + step->from_off + i * step->from.size,
				   out + step->to_off + i * step->to.size);
	}
}

void cli_convert_rows(const struct cli_convert *convert, const void *from, uint64_t count,
		      void *to)
{
	const char *in = from;
	char *out = to;

	if (convert->same) {
		memcpy(to, from, (size_t)count * convert->to_bytes);
		return;
	}
	for (; count > 0; count--, in += convert->from_bytes, out += convert->to_bytes)
		convert_row(convert, in, out);
}
