/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's descr: a Python literal, read the way numpy.lib.format reads it back.
 * Invariant: recursion is bounded by TTI_DTYPE_MAX_DEPTH whatever the text says. */
#include "format/dtype_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tti_dtype_fail_at(struct tti_dtype_parser *p, size_t from, int rc)
{
	static const char start[] = "element type: ";
	struct tt_error inner;
	const char *words;

	p->lit.pos = from;
	if (!p->lit.err || rc != TT_E_DTYPE)
		return rc;
	inner = *p->lit.err;
	words = inner.text;
	if (strncmp(words, start, sizeof(start) - 1) == 0)
		words += sizeof(start) - 1;
	return tti_literal_fail(&p->lit, "%s", words);
}

static int parse_code(struct tti_dtype_parser *p, struct tt_dtype **out)
{
	tti_auto_text code = { 0 };
	struct tti_plain plain;
	size_t from;
	int rc;

	tti_literal_space(&p->lit);
	from = p->lit.pos;
	rc = tti_literal_string(&p->lit, &code);
	if (rc < 0)
		return rc;
	rc = tti_dtype_code(&plain, code.bytes, code.len, p->lit.err);
	if (rc == TT_OK)
		rc = tti_dtype_plain(out, &plain, p->lit.err);
	return rc < 0 ? tti_dtype_fail_at(p, from, rc) : TT_OK;
}

struct shape {
	uint32_t rank;
	uint64_t extent[TT_MAX_RANK];
};

static int take_extent(struct tti_dtype_parser *p, struct shape *shape)
{
	if (shape->rank == TT_MAX_RANK)
		return tti_literal_fail(&p->lit, "more than %d dimensions", TT_MAX_RANK);
	return tti_literal_u64(&p->lit, &shape->extent[shape->rank++]);
}

/* 3 or (3,) or (2, 3) or [2, 3] or (). */
static int parse_shape(struct tti_dtype_parser *p, struct shape *out)
{
	bool round = tti_literal_take(&p->lit, '(');
	char close = round ? ')' : ']';
	int rc;

	out->rank = 0;
	if (!round && !tti_literal_take(&p->lit, '['))
		return take_extent(p, out);
	while (!tti_literal_take(&p->lit, close)) {
		rc = take_extent(p, out);
		if (rc < 0)
			return rc;
		if (!tti_literal_take(&p->lit, ',')) {
			rc = tti_literal_expect(&p->lit, close);
			return rc;
		}
	}
	return TT_OK;
}

static int parse_sub_array(struct tti_dtype_parser *p, struct tt_dtype **dtype)
{
	tti_auto_dtype *base = *dtype;
	struct shape shape;
	size_t from;
	int rc;

	*dtype = NULL;
	if (tti_literal_peek(&p->lit, '{'))
		return tti_literal_fail(&p->lit, "dtype metadata is not supported");
	tti_literal_space(&p->lit);
	from = p->lit.pos;
	rc = parse_shape(p, &shape);
	if (rc < 0)
		return rc;
	rc = tt_dtype_subarray(dtype, base, shape.rank, shape.extent, p->lit.err);
	if (rc < 0)
		return tti_dtype_fail_at(p, from, rc);
	if ((*dtype)->size > TTI_DTYPE_MAX_SIZE)
		return tti_literal_fail(&p->lit, "a sub-array of more than %d bytes",
					TTI_DTYPE_MAX_SIZE);
	return TT_OK;
}

/* (type, shape), behind its first parenthesis. */
static int parse_tuple(struct tti_dtype_parser *p, struct tt_dtype **out)
{
	int rc = tti_dtype_parse_type(p, out);

	if (rc == TT_OK)
		rc = tti_literal_expect(&p->lit, ',');
	if (rc == TT_OK)
		rc = parse_sub_array(p, out);
	if (rc < 0)
		return rc;
	tti_literal_take(&p->lit, ',');
	return tti_literal_expect(&p->lit, ')');
}

struct names {
	struct tti_text name, title;
	bool has_title;
};

static void names_fini(struct names *names)
{
	tti_text_fini(&names->name);
	tti_text_fini(&names->title);
}

/* 'name' or ('title', 'name'). */
static int parse_names(struct tti_dtype_parser *p, struct names *out)
{
	int rc = TT_OK;

	out->has_title = false;
	if (!tti_literal_take(&p->lit, '('))
		return tti_literal_string(&p->lit, &out->name);
	if (!tti_literal_word(&p->lit, "None")) {
		out->has_title = true;
		rc = tti_literal_string(&p->lit, &out->title);
	}
	if (rc == TT_OK)
		rc = tti_literal_expect(&p->lit, ',');
	if (rc == TT_OK)
		rc = tti_literal_string(&p->lit, &out->name);
	if (rc < 0)
		return rc;
	tti_literal_take(&p->lit, ',');
	return tti_literal_expect(&p->lit, ')');
}

/* What has no name and no fields is padding; NumPy counts sub-arrays among it. */
static bool is_padding(const struct names *names, const struct tt_dtype *dtype)
{
	return names->name.len == 0 && !names->has_title &&
	       (dtype->kind == TT_VOID || dtype->rank > 0);
}

/* One (name, type) or (name, type, shape), behind its first parenthesis. */
static int parse_field(struct tti_dtype_parser *p, struct tti_fields *fields, char close)
{
	TTI_CLEANUP(names_fini) struct names names = { 0 };
	tti_auto_dtype *dtype = NULL;
	size_t from = p->lit.pos - 1;
	int rc = parse_names(p, &names);

	if (rc == TT_OK)
		rc = tti_literal_expect(&p->lit, ',');
	if (rc == TT_OK)
		rc = tti_dtype_parse_type(p, &dtype);
	if (rc == TT_OK && tti_literal_take(&p->lit, ',') &&
	    !tti_literal_peek(&p->lit, close)) {
		rc = parse_sub_array(p, &dtype);
		if (rc == TT_OK)
			tti_literal_take(&p->lit, ',');
	}
	if (rc == TT_OK)
		rc = tti_literal_expect(&p->lit, close);
	if (rc < 0)
		return rc;
	if (is_padding(&names, dtype))
		rc = tti_fields_pad(fields, dtype->size, p->lit.err);
	else
		rc = tti_fields_add(fields, names.name.bytes,
				    names.has_title ? names.title.bytes : NULL, dtype,
				    p->lit.err);
	return rc < 0 ? tti_dtype_fail_at(p, from, rc) : TT_OK;
}

/* [field, field, ...], behind its bracket. */
static int parse_struct(struct tti_dtype_parser *p, struct tt_dtype **out)
{
	tti_auto_fields fields = { .c_layout = p->c_layout };
	size_t from = p->lit.pos - 1;
	int rc = TT_OK;

	while (!tti_literal_take(&p->lit, ']')) {
		bool square = tti_literal_take(&p->lit, '[');

		if (!square && !tti_literal_take(&p->lit, '('))
			return tti_literal_fail(&p->lit, "expected ('name', 'type')");
		rc = parse_field(p, &fields, square ? ']' : ')');
		if (rc < 0)
			return rc;
		if (!tti_literal_take(&p->lit, ',')) {
			rc = tti_literal_expect(&p->lit, ']');
			if (rc < 0)
				return rc;
			break;
		}
	}
	rc = tti_fields_finish(out, &fields, p->lit.err);
	return rc < 0 ? tti_dtype_fail_at(p, from, rc) : TT_OK;
}

int tti_dtype_parse_type(struct tti_dtype_parser *p, struct tt_dtype **out)
{
	int rc;

	*out = NULL;
	if (tti_literal_at_string(&p->lit))
		return parse_code(p, out);
	if (p->depth >= TTI_DTYPE_MAX_DEPTH)
		return tti_literal_fail(&p->lit, "nested deeper than %d levels",
					TTI_DTYPE_MAX_DEPTH);
	p->depth++;
	if (tti_literal_take(&p->lit, '['))
		rc = parse_struct(p, out);
	else if (tti_literal_take(&p->lit, '('))
		rc = parse_tuple(p, out);
	else if (!p->is_header && tti_literal_take(&p->lit, '{'))
		rc = tti_dtype_parse_dict(p, out);
	else
		rc = tti_literal_fail(&p->lit,
				      "expected a type: '<f8', or a list of fields");
	p->depth--;
	return rc;
}

static int parse_literal(struct tti_dtype_parser *p, struct tt_dtype **out)
{
	tti_auto_dtype *dtype = NULL;
	int rc = tti_dtype_parse_type(p, &dtype);

	if (rc < 0)
		return rc;
	if (!tti_literal_at_end(&p->lit))
		return tti_literal_fail(&p->lit, "nothing more was expected");
	if (dtype->rank > 0)
		return tti_literal_fail(&p->lit,
					"an array cannot be the whole element type; "
					"give its extents as the shape of a row");
	*out = tti_steal_ptr(&dtype);
	return TT_OK;
}

static bool is_literal(struct tti_literal *lit)
{
	return tti_literal_at_string(lit) || tti_literal_peek(lit, '[') ||
	       tti_literal_peek(lit, '(') || tti_literal_peek(lit, '{');
}

static int check_text(const char *text, size_t len, struct tt_error *err)
{
	if (len > TTI_DTYPE_MAX_TEXT)
		return tti_fail(err, TT_E_DTYPE,
				"element type: a text of more than %u bytes",
				TTI_DTYPE_MAX_TEXT);
	if (!tti_utf8_valid(text, len))
		return tti_fail(err, TT_E_DTYPE, "element type: the text is not UTF-8");
	return TT_OK;
}

int tt_dtype_parse(struct tt_dtype **out, const char *text, size_t len, bool align,
		   struct tt_error *err)
{
	struct tti_dtype_parser p = {
		.lit = { text, len, 0, false, "element type", TT_E_DTYPE, err },
		.c_layout = align,
	};
	int rc = check_text(text, len, err);

	*out = NULL;
	if (rc < 0)
		return rc;
	if (!is_literal(&p.lit))
		return tti_dtype_parse_short(&p, out);
	p.lit.has_comments = true;
	return parse_literal(&p, out);
}

int tti_dtype_parse_descr(struct tt_dtype **out, const char *text, size_t len,
			  struct tt_error *err)
{
	struct tti_dtype_parser p = {
		.lit = { text, len, 0, true, "element type", TT_E_DTYPE, err },
		.is_header = true,
	};
	int rc = check_text(text, len, err);

	*out = NULL;
	return rc < 0 ? rc : parse_literal(&p, out);
}
