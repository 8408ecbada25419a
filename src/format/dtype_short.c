/* SPDX-License-Identifier: Apache-2.0 */
/* The short form of an element type, for people:
 *
 *   type   = "f8" | ">u2" | "M8[ns]" | ... | "{" fields "}"      then extents: [10] [2,3]
 *   fields = name ":" type { "," name ":" type }
 *
 * Blanks around names and types do not count; ":V4" without a name is padding.  Invariant:
 * recursion is bounded by TTI_DTYPE_MAX_DEPTH. */
#include "format/dtype.h"

#include <errno.h>
#include <string.h>

#include "format/literal.h"

struct brief {
	struct tti_literal lit;
	bool c_layout;
	uint32_t depth;
};

static int take_type(struct brief *b, struct tt_dtype **out);

static char next_byte(struct brief *b)
{
	return b->lit.pos < b->lit.len ? b->lit.text[b->lit.pos] : '\0';
}

/* Move over bytes that are none of stop; a name or code ends before its trailing blanks. */
static size_t take_until(struct brief *b, const char *stop, const char **from)
{
	size_t len = 0;

	tti_literal_space(&b->lit);
	*from = b->lit.text + b->lit.pos;
	while (next_byte(b) != '\0' && !strchr(stop, next_byte(b)))
		b->lit.pos++;
	len = (size_t)(b->lit.text + b->lit.pos - *from);
	while (len > 0 && strchr(" \t\r\n\f\v", (*from)[len - 1]))
		len--;
	return len;
}

/* A '[' that opens a unit: "[ns]", "[25us]"; one with digits only opens extents. */
static bool opens_unit(struct brief *b)
{
	size_t i = b->lit.pos + 1;

	while (i < b->lit.len && b->lit.text[i] != '\0' &&
	       strchr("0123456789, \t", b->lit.text[i]))
		i++;
	return next_byte(b) == '[' && i < b->lit.len && b->lit.text[i] != ']';
}

static int fail_from(struct brief *b, size_t from, int rc)
{
	struct tt_error inner;

	b->lit.pos = from;
	if (!b->lit.err || rc != TT_E_DTYPE)
		return rc;
	inner = *b->lit.err;
	return tti_literal_fail(&b->lit, "%s",
				strncmp(inner.text, "element type: ", 14) == 0
					? inner.text + 14 : inner.text);
}

static int take_code(struct brief *b, struct tt_dtype **out)
{
	const char *from;
	size_t len = take_until(b, ",:{}[]", &from), at = (size_t)(from - b->lit.text);
	struct tti_plain plain;
	int rc;

	if (opens_unit(b)) {
		while (next_byte(b) != '\0' && next_byte(b) != ']')
			b->lit.pos++;
		if (next_byte(b) == ']')
			b->lit.pos++;
		len = b->lit.pos - at;
	}
	if (len == 0)
		return tti_literal_fail(&b->lit, "expected a type, as in f8");
	rc = tti_dtype_code(&plain, from, len, b->lit.err);
	if (rc == TT_OK)
		rc = tti_dtype_plain(out, &plain, b->lit.err);
	return rc < 0 ? fail_from(b, at, rc) : TT_OK;
}

/* [2,3] or [2][3] or nothing, applied to *dtype. */
static int take_extents(struct brief *b, struct tt_dtype **dtype)
{
	tti_auto_dtype *base = *dtype;
	uint64_t shape[TT_MAX_RANK];
	uint32_t rank = 0;
	size_t from = b->lit.pos;
	int rc;

	*dtype = NULL;
	while (tti_literal_take(&b->lit, '[')) {
		do {
			if (rank == TT_MAX_RANK)
				return tti_literal_fail(&b->lit, "more than %d dimensions",
							TT_MAX_RANK);
			rc = tti_literal_u64(&b->lit, &shape[rank++]);
			if (rc < 0)
				return rc;
		} while (tti_literal_take(&b->lit, ','));
		rc = tti_literal_expect(&b->lit, ']');
		if (rc < 0)
			return rc;
	}
	rc = tt_dtype_subarray(dtype, base, rank, shape, b->lit.err);
	return rc < 0 ? fail_from(b, from, rc) : TT_OK;
}

static int take_field(struct brief *b, struct tti_fields *fields)
{
	tti_auto_dtype *dtype = NULL;
	tti_auto_text name = { 0 };
	const char *from;
	size_t len = take_until(b, ",:{}[]()'\"", &from);
	int rc;

	tti_text_put(&name, from, len);
	if (name.failed)
		return tti_fail(b->lit.err, -ENOMEM, "element type: out of memory");
	rc = tti_literal_take(&b->lit, ':') ? TT_OK
		: tti_literal_fail(&b->lit, "expected name:type");
	if (rc == TT_OK)
		rc = take_type(b, &dtype);
	if (rc < 0)
		return rc;
	if (len > 0)
		rc = tti_fields_add(fields, name.bytes, NULL, dtype, b->lit.err);
	else if (dtype->kind == TT_VOID)
		rc = tti_fields_pad(fields, dtype->size, b->lit.err);
	else
		return tti_literal_fail(&b->lit, "a field without a name");
	return rc < 0 ? fail_from(b, (size_t)(from - b->lit.text), rc) : TT_OK;
}

/* Fields up to a '}' (taken) or the end. */
static int take_fields(struct brief *b, struct tt_dtype **out, bool nested)
{
	tti_auto_fields fields = { .c_layout = b->c_layout };
	size_t from = b->lit.pos;
	int rc;

	do {
		rc = take_field(b, &fields);
		if (rc < 0)
			return rc;
	} while (tti_literal_take(&b->lit, ','));
	if (nested && !tti_literal_take(&b->lit, '}'))
		return tti_literal_fail(&b->lit, "expected ',' or '}'");
	if (!nested && !tti_literal_at_end(&b->lit))
		return tti_literal_fail(&b->lit, "expected ',' and another field");
	rc = tti_fields_finish(out, &fields, b->lit.err);
	return rc < 0 ? fail_from(b, from, rc) : TT_OK;
}

static int take_type(struct brief *b, struct tt_dtype **out)
{
	int rc;

	if (!tti_literal_take(&b->lit, '{')) {
		rc = take_code(b, out);
		return rc < 0 ? rc : take_extents(b, out);
	}
	if (b->depth >= TTI_DTYPE_MAX_DEPTH)
		return tti_literal_fail(&b->lit, "nested deeper than %d levels",
					TTI_DTYPE_MAX_DEPTH);
	b->depth++;
	rc = take_fields(b, out, true);
	b->depth--;
	return rc < 0 ? rc : take_extents(b, out);
}

static int take_plain(struct brief *b, struct tt_dtype **out)
{
	tti_auto_dtype *dtype = NULL;
	int rc = take_type(b, &dtype);

	if (rc < 0)
		return rc;
	if (!tti_literal_at_end(&b->lit))
		return tti_literal_fail(&b->lit, "fields need names, as in ts:i8,px:f8");
	if (dtype->rank > 0)
		return fail_from(b, 0, tti_fail(b->lit.err, TT_E_DTYPE,
						"an array cannot be the whole element type; "
						"give its extents as the shape of a row"));
	*out = tti_steal_ptr(&dtype);
	return TT_OK;
}

int tti_dtype_parse_short(struct tt_dtype **out, const char *text, size_t len, bool align,
			  struct tt_error *err)
{
	struct brief b = {
		.lit = { text, len, 0, "element type", TT_E_DTYPE, err },
		.c_layout = align,
	};

	if (tti_literal_at_end(&b.lit))
		return tti_fail(err, TT_E_DTYPE, "element type: empty; expected a type as in "
						 "f8, or fields as in ts:i8,px:f8");
	return memchr(text, ':', len) ? take_fields(&b, out, false) : take_plain(&b, out);
}
