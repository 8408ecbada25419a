/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionary form of a struct, as NumPy prints padded ones for people:
 *
 *   {'names': ['a', 'b'], 'formats': ['<i4', '<f8'], 'offsets': [0, 8], 'itemsize': 16}
 *
 * with 'titles' and 'aligned' allowed.  Headers of .npy files never hold it.  Invariant:
 * the lists are complete before a field is made of them, their order is free. */
#include "format/dtype_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

union item {
	char *text; /* NULL for None */
	struct tt_dtype *dtype;
	uint64_t number;
};

struct column {
	union item *items;
	size_t count, room;
	uint64_t leaves; /* of formats */
	bool is_given;
};

struct dict {
	struct column names, titles, formats, offsets;
	uint64_t itemsize;
	bool has_itemsize, is_aligned;
};

static void dict_fini(struct dict *dict)
{
	struct column *texts[] = { &dict->names, &dict->titles };

	for (size_t c = 0; c < TTI_LEN(texts); c++) {
		for (size_t i = 0; i < texts[c]->count; i++)
			free(texts[c]->items[i].text);
		free(texts[c]->items);
	}
	for (size_t i = 0; i < dict->formats.count; i++)
		tt_dtype_unref(dict->formats.items[i].dtype);
	free(dict->formats.items);
	free(dict->offsets.items);
}

static int add_item(struct tti_dtype_parser *p, struct column *column, union item item)
{
	size_t room = column->room ? 2 * column->room : 8;

	if (column->count == column->room) {
		union item *more = realloc(column->items, room * sizeof(*more));

		if (!more)
			return tti_fail(p->lit.err, -ENOMEM,
					"element type: out of memory");
		column->items = more;
		column->room = room;
	}
	column->items[column->count++] = item;
	return TT_OK;
}

static int take_text(struct tti_dtype_parser *p, struct column *column)
{
	tti_auto_text text = { 0 };
	union item item = { 0 };
	int rc;

	if (!tti_literal_word(&p->lit, "None")) {
		rc = tti_literal_string(&p->lit, &text);
		if (rc < 0)
			return rc;
		item.text = tti_text_steal(&text);
		if (!item.text)
			return tti_fail(p->lit.err, -ENOMEM,
					"element type: out of memory");
	}
	rc = add_item(p, column, item);
	if (rc < 0)
		free(item.text);
	return rc;
}

static int take_format(struct tti_dtype_parser *p, struct column *column)
{
	union item item = { 0 };
	size_t from = p->lit.pos;
	int rc = tti_dtype_parse_type(p, &item.dtype);

	if (rc == TT_OK) {
		rc = tti_count_leaves(&column->leaves, item.dtype, p->lit.err);
		if (rc < 0)
			tti_dtype_fail_at(p, from, rc);
	}
	if (rc == TT_OK)
		rc = add_item(p, column, item);
	if (rc < 0)
		tt_dtype_unref(item.dtype);
	return rc;
}

static int take_number(struct tti_dtype_parser *p, struct column *column)
{
	union item item = { 0 };
	int rc = tti_literal_u64(&p->lit, &item.number);

	return rc < 0 ? rc : add_item(p, column, item);
}

static int take_list(struct tti_dtype_parser *p, struct column *column,
		     int (*take)(struct tti_dtype_parser *, struct column *))
{
	char close = tti_literal_peek(&p->lit, '(') ? ')' : ']';
	int rc;

	if (column->is_given)
		return tti_literal_fail(&p->lit, "this key was there before");
	column->is_given = true;
	rc = tti_literal_expect(&p->lit, close == ')' ? '(' : '[');
	if (rc < 0)
		return rc;
	while (!tti_literal_take(&p->lit, close)) {
		rc = column->count < TTI_DTYPE_MAX_LEAVES
			     ? take(p, column)
			     : tti_literal_fail(&p->lit, "more than %u fields",
						TTI_DTYPE_MAX_LEAVES);
		if (rc < 0)
			return rc;
		if (!tti_literal_take(&p->lit, ','))
			return tti_literal_expect(&p->lit, close);
	}
	return TT_OK;
}

static int take_bool(struct tti_dtype_parser *p, bool *out)
{
	*out = tti_literal_word(&p->lit, "True");
	if (*out || tti_literal_word(&p->lit, "False"))
		return TT_OK;
	return tti_literal_fail(&p->lit, "expected True or False");
}

static int take_value(struct tti_dtype_parser *p, const char *key, struct dict *dict)
{
	if (strcmp(key, "names") == 0)
		return take_list(p, &dict->names, take_text);
	if (strcmp(key, "titles") == 0)
		return take_list(p, &dict->titles, take_text);
	if (strcmp(key, "formats") == 0)
		return take_list(p, &dict->formats, take_format);
	if (strcmp(key, "offsets") == 0)
		return take_list(p, &dict->offsets, take_number);
	if (strcmp(key, "aligned") == 0)
		return take_bool(p, &dict->is_aligned);
	if (strcmp(key, "itemsize") != 0)
		return tti_literal_fail(&p->lit,
					"unknown key '%.40s'; there are names, formats, "
					"offsets, titles, itemsize, aligned",
					key);
	dict->has_itemsize = true;
	return tti_literal_u64(&p->lit, &dict->itemsize);
}

static int take_keys(struct tti_dtype_parser *p, struct dict *dict)
{
	tti_auto_text key = { 0 };
	int rc;

	while (!tti_literal_take(&p->lit, '}')) {
		rc = tti_literal_string(&p->lit, &key);
		if (rc == TT_OK)
			rc = tti_literal_expect(&p->lit, ':');
		if (rc == TT_OK)
			rc = take_value(p, key.bytes, dict);
		if (rc < 0)
			return rc;
		if (!tti_literal_take(&p->lit, ','))
			return tti_literal_expect(&p->lit, '}');
	}
	return TT_OK;
}

static int check_counts(struct tti_dtype_parser *p, const struct dict *dict)
{
	size_t n = dict->names.count;

	if (!dict->names.is_given || !dict->formats.is_given)
		return tti_literal_fail(&p->lit, "'names' and 'formats' are both needed");
	if (dict->formats.count != n ||
	    (dict->offsets.is_given && dict->offsets.count != n) ||
	    (dict->titles.is_given && dict->titles.count != n))
		return tti_literal_fail(&p->lit, "the lists differ in length");
	for (size_t i = 0; i < n; i++)
		if (!dict->names.items[i].text)
			return tti_literal_fail(&p->lit, "a field without a name");
	return TT_OK;
}

/* Padding up to where, which must not lie behind the end. */
static int pad_to(struct tti_dtype_parser *p, struct tti_fields *fields, uint64_t where)
{
	if (where < fields->end)
		return tti_fail(p->lit.err, TT_E_DTYPE,
				"overlapping or out-of-order fields are not supported");
	return tti_fields_pad(fields, where - fields->end, p->lit.err);
}

int tti_dtype_parse_dict(struct tti_dtype_parser *p, struct tt_dtype **out)
{
	TTI_CLEANUP(dict_fini) struct dict dict = { 0 };
	tti_auto_fields fields = { 0 };
	size_t from = p->lit.pos - 1;
	int rc = take_keys(p, &dict);

	if (rc == TT_OK)
		rc = check_counts(p, &dict);
	if (rc < 0)
		return rc;
	fields.c_layout = (dict.is_aligned || p->c_layout) && !dict.offsets.is_given;
	for (size_t i = 0; rc == TT_OK && i < dict.names.count; i++) {
		if (dict.offsets.is_given)
			rc = pad_to(p, &fields, dict.offsets.items[i].number);
		if (rc == TT_OK)
			rc = tti_fields_add(&fields, dict.names.items[i].text,
					    dict.titles.count ? dict.titles.items[i].text
							      : NULL,
					    dict.formats.items[i].dtype, p->lit.err);
	}
	if (rc == TT_OK && dict.has_itemsize) {
		rc = pad_to(p, &fields, dict.itemsize);
		fields.c_layout = false;
	}
	if (rc == TT_OK)
		rc = tti_fields_finish(out, &fields, p->lit.err);
	return rc < 0 ? tti_dtype_fail_at(p, from, rc) : TT_OK;
}
