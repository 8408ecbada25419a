/* SPDX-License-Identifier: Apache-2.0 */
/* The short form of an element type, for people:
 *
 *   type   = "f8" | ">u2" | "M8[ns]" | ... | "{" fields "}"      then extents: [10] [2,3]
 *   fields = name ":" type { "," name ":" type }
 *
 * Blanks around names and types do not count; ":V4" without a name is padding. Invariant:
 * recursion is bounded by TTI_DTYPE_MAX_DEPTH. */
#include "format/dtype_parse.h"

#include <errno.h>
#include <string.h>

static int take_type(struct tti_dtype_parser *p, struct tt_dtype **out);

static char next_byte(struct tti_dtype_parser *p)
{
	return p->lit.pos < p->lit.len ? p->lit.text[p->lit.pos] : '\0';
}

/* Move over bytes that are none of stop; a name or code ends before trailing blanks. */
static size_t take_until(struct tti_dtype_parser *p, const char *stop, const char **from)
{
	size_t len = 0;

	tti_literal_space(&p->lit);
	*from = p->lit.text + p->lit.pos;
	while (next_byte(p) != '\0' && !strchr(stop, next_byte(p)))
		p->lit.pos++;
	len = (size_t)(p->lit.text + p->lit.pos - *from);
	while (len > 0 && strchr(" \t\r\n\f\v", (*from)[len - 1]))
		len--;
	return len;
}

/* A '[' that opens a unit: "[ns]", "[25us]"; one with digits only opens extents. */
static bool opens_unit(struct tti_dtype_parser *p)
{
	size_t i = p->lit.pos + 1;

	while (i < p->lit.len && p->lit.text[i] != '\0' &&
	       strchr("0123456789, \t", p->lit.text[i]))
		i++;
	return next_byte(p) == '[' && i < p->lit.len && p->lit.text[i] != ']';
}

static int take_code(struct tti_dtype_parser *p, struct tt_dtype **out)
{
	const char *from;
	size_t len = take_until(p, ",:{}[]", &from), at = (size_t)(from - p->lit.text);
	struct tti_plain plain;
	int rc;

	if (opens_unit(p)) {
		while (next_byte(p) != '\0' && next_byte(p) != ']')
			p->lit.pos++;
		if (next_byte(p) == ']')
			p->lit.pos++;
		len = p->lit.pos - at;
	}
	if (len == 0)
		return tti_literal_fail(&p->lit, "expected a type, as in f8");
	rc = tti_dtype_code(&plain, from, len, p->lit.err);
	if (rc == TT_OK)
		rc = tti_dtype_plain(out, &plain, p->lit.err);
	return rc < 0 ? tti_dtype_fail_at(p, at, rc) : TT_OK;
}

/* [2,3] or [2][3] or nothing, applied to *dtype. */
static int take_extents(struct tti_dtype_parser *p, struct tt_dtype **dtype)
{
	tti_auto_dtype *base = *dtype;
	uint64_t shape[TT_MAX_RANK];
	uint32_t rank = 0;
	size_t from = p->lit.pos;
	int rc;

	*dtype = NULL;
	while (tti_literal_take(&p->lit, '[')) {
		do {
			if (rank == TT_MAX_RANK)
				return tti_literal_fail(
					&p->lit, "more than %d dimensions", TT_MAX_RANK);
			rc = tti_literal_u64(&p->lit, &shape[rank++]);
			if (rc < 0)
				return rc;
		} while (tti_literal_take(&p->lit, ','));
		rc = tti_literal_expect(&p->lit, ']');
		if (rc < 0)
			return rc;
	}
	rc = tt_dtype_subarray(dtype, base, rank, shape, p->lit.err);
	return rc < 0 ? tti_dtype_fail_at(p, from, rc) : TT_OK;
}

static int take_field(struct tti_dtype_parser *p, struct tti_fields *fields)
{
	tti_auto_dtype *dtype = NULL;
	tti_auto_text name = { 0 };
	const char *from;
	size_t len = take_until(p, ",:{}[]()'\"", &from);
	int rc;

	tti_text_put(&name, from, len);
	if (name.failed)
		return tti_fail(p->lit.err, -ENOMEM, "element type: out of memory");
	rc = tti_literal_take(&p->lit, ':')
		     ? TT_OK
		     : tti_literal_fail(&p->lit, "expected name:type");
	if (rc == TT_OK)
		rc = take_type(p, &dtype);
	if (rc < 0)
		return rc;
	if (len > 0)
		rc = tti_fields_add(fields, name.bytes, NULL, dtype, p->lit.err);
	else if (dtype->kind == TT_VOID)
		rc = tti_fields_pad(fields, dtype->size, p->lit.err);
	else
		return tti_literal_fail(&p->lit, "a field without a name");
	return rc < 0 ? tti_dtype_fail_at(p, (size_t)(from - p->lit.text), rc) : TT_OK;
}

/* Fields up to a '}' (taken) or the end. */
static int take_fields(struct tti_dtype_parser *p, struct tt_dtype **out, bool nested)
{
	tti_auto_fields fields = { .c_layout = p->c_layout };
	size_t from = p->lit.pos;
	int rc;

	do {
		rc = take_field(p, &fields);
		if (rc < 0)
			return rc;
	} while (tti_literal_take(&p->lit, ','));
	if (nested && !tti_literal_take(&p->lit, '}'))
		return tti_literal_fail(&p->lit, "expected ',' or '}'");
	if (!nested && !tti_literal_at_end(&p->lit))
		return tti_literal_fail(&p->lit, "expected ',' and another field");
	rc = tti_fields_finish(out, &fields, p->lit.err);
	return rc < 0 ? tti_dtype_fail_at(p, from, rc) : TT_OK;
}

static int take_type(struct tti_dtype_parser *p, struct tt_dtype **out)
{
	int rc;

	if (!tti_literal_take(&p->lit, '{')) {
		rc = take_code(p, out);
		return rc < 0 ? rc : take_extents(p, out);
	}
	if (p->depth >= TTI_DTYPE_MAX_DEPTH)
		return tti_literal_fail(&p->lit, "nested deeper than %d levels",
					TTI_DTYPE_MAX_DEPTH);
	p->depth++;
	rc = take_fields(p, out, true);
	p->depth--;
	return rc < 0 ? rc : take_extents(p, out);
}

static int take_plain(struct tti_dtype_parser *p, struct tt_dtype **out)
{
	tti_auto_dtype *dtype = NULL;
	int rc = take_type(p, &dtype);

	if (rc < 0)
		return rc;
	if (!tti_literal_at_end(&p->lit))
		return tti_literal_fail(&p->lit, "fields need names, as in ts:i8,px:f8");
	if (dtype->rank > 0)
		return tti_dtype_fail_at(
			p, 0,
			tti_fail(p->lit.err, TT_E_DTYPE,
				 "an array cannot be the whole element type; "
				 "give its extents as the shape of a row"));
	*out = tti_steal_ptr(&dtype);
	return TT_OK;
}

int tti_dtype_parse_short(struct tti_dtype_parser *p, struct tt_dtype **out)
{
	if (tti_literal_at_end(&p->lit))
		return tti_fail(
			p->lit.err, TT_E_DTYPE,
			"element type: empty; expected a type as in f8, or fields as "
			"in ts:i8,px:f8");
	if (memchr(p->lit.text, ':', p->lit.len))
		return take_fields(p, out, false);
	return take_plain(p, out);
}
