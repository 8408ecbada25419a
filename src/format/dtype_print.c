/* SPDX-License-Identifier: Apache-2.0 */
/* The descr of an element type, to the byte as NumPy writes it: plain types as '<f8',
 * structs as lists with their padding spelled out, names as repr() quotes them. */
#include "format/dtype.h"

#include <errno.h>
#include <string.h>

#include "format/text.h"

static const char *const unit_names[] = {
	[TT_UNIT_Y] = "Y",   [TT_UNIT_M] = "M",	  [TT_UNIT_W] = "W",
	[TT_UNIT_D] = "D",   [TT_UNIT_h] = "h",	  [TT_UNIT_m] = "m",
	[TT_UNIT_s] = "s",   [TT_UNIT_ms] = "ms", [TT_UNIT_us] = "us",
	[TT_UNIT_ns] = "ns", [TT_UNIT_ps] = "ps", [TT_UNIT_fs] = "fs",
	[TT_UNIT_as] = "as",
};

static void put_escaped(struct tti_text *text, uint32_t c)
{
	static const char simple[] = "\t\n\r", letters[] = "tnr";
	const char *at = c ? strchr(simple, (int)(c < 0x80 ? c : 0x7f)) : NULL;

	if (at)
		tti_text_putf(text, "\\%c", letters[at - simple]);
	else
		tti_text_putf(text,
			      c < 0x100	    ? "\\x%02x"
			      : c < 0x10000 ? "\\u%04x"
					    : "\\U%08x",
			      (unsigned)c);
}

/* Python's repr() of a str. */
static void put_repr(struct tti_text *text, const char *str)
{
	char quote = strchr(str, '\'') && !strchr(str, '"') ? '"' : '\'';
	size_t left = strlen(str), n;
	uint32_t c = 0;

	tti_text_put(text, &quote, 1);
	for (; left > 0; str += n, left -= n) {
		n = tti_utf8_next(str, left, &c);
		if (n == 0) { /* not UTF-8: no name that we let in */
			c = (unsigned char)*str;
			n = 1;
		}
		if (c == (unsigned char)quote || c == '\\')
			tti_text_putf(text, "\\%c", (int)c);
		else if (tti_is_printable(c))
			tti_text_put(text, str, n);
		else
			put_escaped(text, c);
	}
	tti_text_put(text, &quote, 1);
}

static void put_plain(struct tti_text *text, const struct tt_dtype *dtype)
{
	size_t size = dtype->kind == TT_STR ? dtype->size / 4 : dtype->size;

	tti_text_putf(text, "'%c%c%zu", dtype->order, dtype->kind, size);
	if (dtype->unit != TT_UNIT_NONE && dtype->unit != TT_UNIT_GENERIC) {
		if (dtype->unit_step == 1)
			tti_text_putf(text, "[%s]", unit_names[dtype->unit]);
		else
			tti_text_putf(text, "[%u%s]", (unsigned)dtype->unit_step,
				      unit_names[dtype->unit]);
	}
	tti_text_put(text, "'", 1);
}

static void put_shape(struct tti_text *text, const struct tt_dtype *dtype)
{
	tti_text_put(text, "(", 1);
	for (uint32_t i = 0; i < dtype->rank; i++)
		tti_text_putf(text, i ? ", %llu" : "%llu",
			      (unsigned long long)dtype->shape[i]);
	tti_text_put_str(text, dtype->rank == 1 ? ",)" : ")");
}

/* Between the items of a list; nothing before the first. */
static void put_comma(struct tti_text *text, size_t list_at)
{
	if (text->len > list_at)
		tti_text_put(text, ", ", 2);
}

static void put_field(struct tti_text *text, const struct tt_field *field)
{
	tti_text_put(text, "(", 1);
	if (field->title) {
		tti_text_put(text, "(", 1);
		put_repr(text, field->title);
		tti_text_put(text, ", ", 2);
	}
	put_repr(text, field->name);
	tti_text_put_str(text, field->title ? "), " : ", ");
	if (field->dtype->base) {
		tti_text_put_str(text, field->dtype->base->descr);
		tti_text_put(text, ", ", 2);
		put_shape(text, field->dtype);
	} else {
		tti_text_put_str(text, field->dtype->descr);
	}
	tti_text_put(text, ")", 1);
}

static void put_padding(struct tti_text *text, size_t list_at, size_t bytes)
{
	if (bytes == 0)
		return;
	put_comma(text, list_at);
	tti_text_putf(text, "('', '|V%zu')", bytes);
}

static void put_struct(struct tti_text *text, const struct tt_dtype *dtype)
{
	size_t end = 0;

	tti_text_put(text, "[", 1);
	for (size_t i = 0; i < dtype->field_count; i++) {
		const struct tt_field *field = &dtype->fields[i];

		put_padding(text, 1, field->offset - end);
		put_comma(text, 1);
		put_field(text, field);
		end = field->offset + field->dtype->size;
	}
	put_padding(text, 1, dtype->size - end);
	tti_text_put(text, "]", 1);
}

int tti_dtype_make_descr(struct tt_dtype *dtype, struct tt_error *err)
{
	tti_auto_text text = { 0 };

	if (dtype->base) {
		tti_text_put(&text, "(", 1);
		tti_text_put_str(&text, dtype->base->descr);
		tti_text_put(&text, ", ", 2);
		put_shape(&text, dtype);
		tti_text_put(&text, ")", 1);
	} else if (dtype->kind == TT_STRUCT) {
		put_struct(&text, dtype);
	} else {
		put_plain(&text, dtype);
	}
	dtype->descr = tti_text_steal(&text);
	if (!dtype->descr)
		return tti_fail(err, -ENOMEM, "element type: out of memory");
	return TT_OK;
}
