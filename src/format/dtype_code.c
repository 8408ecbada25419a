/* SPDX-License-Identifier: Apache-2.0 */
/* Codes of plain types: "<f8", "M8[25us]", "S12", and the names NumPy has for them.  A
 * code is taken whole or refused; no order means little-endian, as on all our hosts. */
#include "format/dtype.h"

#include <string.h>

#include "base/num.h"

struct code {
	const char *text, *end; /* what is left */
	const char *all;	/* for the errors */
	size_t all_len;
	struct tt_error *err;
};

static int refuse(const struct code *code, const char *why)
{
	return tti_fail(code->err, TT_E_DTYPE, "element type: '%.*s': %s",
			(int)tti_min_u64(code->all_len, 60), code->all, why);
}

/* NumPy's names and one-letter codes; sizes are those of its 64-bit builds. */
static const struct {
	const char *name;
	char kind;
	unsigned char size;
} names[] = {
	{ "?", 'b', 1 },	 { "bool", 'b', 1 },	    { "bool_", 'b', 1 },
	{ "b", 'i', 1 },	 { "h", 'i', 2 },	    { "i", 'i', 4 },
	{ "l", 'i', 8 },	 { "q", 'i', 8 },	    { "p", 'i', 8 },
	{ "B", 'u', 1 },	 { "H", 'u', 2 },	    { "I", 'u', 4 },
	{ "L", 'u', 8 },	 { "Q", 'u', 8 },	    { "P", 'u', 8 },
	{ "e", 'f', 2 },	 { "f", 'f', 4 },	    { "d", 'f', 8 },
	{ "g", 'f', 16 },	 { "F", 'c', 8 },	    { "D", 'c', 16 },
	{ "G", 'c', 32 },	 { "c", 'S', 1 },	    { "int8", 'i', 1 },
	{ "int16", 'i', 2 },	 { "int32", 'i', 4 },	    { "int64", 'i', 8 },
	{ "uint8", 'u', 1 },	 { "uint16", 'u', 2 },	    { "uint32", 'u', 4 },
	{ "uint64", 'u', 8 },	 { "float16", 'f', 2 },	    { "float32", 'f', 4 },
	{ "float64", 'f', 8 },	 { "float128", 'f', 16 },   { "half", 'f', 2 },
	{ "single", 'f', 4 },	 { "double", 'f', 8 },	    { "longdouble", 'f', 16 },
	{ "complex64", 'c', 8 }, { "complex128", 'c', 16 }, { "complex256", 'c', 32 },
	{ "int", 'i', 8 },	 { "uint", 'u', 8 },	    { "float", 'f', 8 },
	{ "complex", 'c', 16 },
};

static bool take_name(const struct code *code, struct tti_plain *out)
{
	size_t len = (size_t)(code->end - code->text);

	for (size_t i = 0; i < TTI_LEN(names); i++)
		if (strlen(names[i].name) == len &&
		    !memcmp(names[i].name, code->text, len)) {
			out->kind = (enum tt_kind)names[i].kind;
			out->size = names[i].size;
			return true;
		}
	return false;
}

/* Longest spelling first where one begins another. */
static const struct {
	const char *name;
	enum tt_unit unit;
} units[] = {
	{ "ms", TT_UNIT_ms }, { "us", TT_UNIT_us }, { "\xce\xbcs", TT_UNIT_us },
	{ "ns", TT_UNIT_ns }, { "ps", TT_UNIT_ps }, { "fs", TT_UNIT_fs },
	{ "as", TT_UNIT_as }, { "Y", TT_UNIT_Y },   { "M", TT_UNIT_M },
	{ "W", TT_UNIT_W },   { "D", TT_UNIT_D },   { "h", TT_UNIT_h },
	{ "m", TT_UNIT_m },   { "s", TT_UNIT_s },   { "generic", TT_UNIT_GENERIC },
};

static bool find_unit(const char *text, size_t len, enum tt_unit *out)
{
	for (size_t i = 0; i < TTI_LEN(units); i++)
		if (strlen(units[i].name) == len && !memcmp(units[i].name, text, len)) {
			*out = units[i].unit;
			return true;
		}
	return false;
}

/* "[25us]" and the end, or the end alone. */
static int take_unit(struct code *code, struct tti_plain *out)
{
	const char *from = code->text + 1, *to = code->end - 1, *digits = from;
	uint64_t step = 1;

	out->unit = TT_UNIT_GENERIC;
	out->unit_step = 1;
	if (code->text == code->end)
		return TT_OK;
	if (*code->text != '[' || to <= from || *to != ']')
		return refuse(code, "expected a unit in brackets, as in M8[ns]");
	while (digits < to && *digits >= '0' && *digits <= '9')
		digits++;
	if (digits > from && (!tti_parse_u64(from, (size_t)(digits - from), &step) ||
			      step == 0 || step > INT32_MAX))
		return refuse(code, "the multiple of the unit must be 1 to 2147483647");
	if (!find_unit(digits, (size_t)(to - digits), &out->unit))
		return refuse(code,
			      "unknown unit; there are Y M W D h m s ms us ns ps fs as");
	if (out->unit == TT_UNIT_GENERIC && digits > from)
		return refuse(code, "a multiple needs a unit");
	out->unit_step = (uint32_t)step;
	return TT_OK;
}

/* true when the time type's name was skipped. */
static bool take_time(struct code *code, struct tti_plain *out)
{
	static const char *const starts[] = { "datetime64", "timedelta64", "M8",
					      "m8",	    "M",	   "m" };
	size_t len = (size_t)(code->end - code->text);

	for (size_t i = 0; i < TTI_LEN(starts); i++) {
		size_t n = strlen(starts[i]);

		if (n > len || memcmp(starts[i], code->text, n) != 0 ||
		    (n < len && (n == 1 || code->text[n] != '[')))
			continue;
		out->kind = i == 0 || starts[i][0] == 'M' ? TT_DATETIME : TT_TIMEDELTA;
		out->size = 8;
		code->text += n;
		return true;
	}
	return false;
}

static bool is_size_of_kind(char kind, uint64_t size)
{
	switch (kind) {
	case 'b': return size == 1;
	case 'i':
	case 'u': return size == 1 || size == 2 || size == 4 || size == 8;
	case 'f': return size == 2 || size == 4 || size == 8 || size == 16;
	case 'c': return size == 8 || size == 16 || size == 32;
	}
	return false;
}

static int take_sized(struct code *code, struct tti_plain *out)
{
	char kind = *code->text++;
	uint64_t size = 0;
	bool is_text = kind == 'S' || kind == 'U' || kind == 'V' || kind == 'a';

	if (!is_text && !strchr("biufc", kind))
		return refuse(code, "unknown type");
	if (code->text == code->end && is_text)
		return refuse(code, "a length is needed, as in S8");
	if (!tti_parse_u64(code->text, (size_t)(code->end - code->text), &size))
		return refuse(code, "unknown type");
	if (!is_text && !is_size_of_kind(kind, size))
		return refuse(code, "no such size of this kind");
	if (is_text && size == 0)
		return refuse(code, "a length of 0 holds nothing");
	if (kind == 'U' && tti_mul_overflow(size, 4, &size))
		size = UINT64_MAX;
	if (is_text && size > TTI_DTYPE_MAX_SIZE)
		return refuse(code, "too long; an element has at most 2147483647 bytes");
	out->kind = kind == 'a' ? TT_BYTES : (enum tt_kind)kind;
	out->size = size;
	return TT_OK;
}

static bool is_object(const struct code *code)
{
	size_t len = (size_t)(code->end - code->text);

	return (len >= 1 && *code->text == 'O' &&
		(len == 1 || strchr("48", code->text[1]))) ||
	       (len == 6 && !memcmp(code->text, "object", 6));
}

int tti_dtype_code(struct tti_plain *out, const char *text, size_t len,
		   struct tt_error *err)
{
	struct code code = { text, text + len, text, len, err };

	*out = (struct tti_plain){ .order = '<' };
	if (len > 0 && *text != '\0' && strchr("<>|=", *text)) {
		out->order = *text == '>' ? '>' : '<';
		code.text++;
	}
	if (code.text == code.end)
		return refuse(&code, "expected a type, as in <f8");
	if (is_object(&code))
		return refuse(&code, "objects are not supported, only plain bytes; "
				     "convert the array to a type of fixed size");
	if (take_name(&code, out))
		return TT_OK;
	if (take_time(&code, out))
		return take_unit(&code, out);
	if (*code.text == '\0')
		return refuse(&code, "unknown type");
	return take_sized(&code, out);
}
