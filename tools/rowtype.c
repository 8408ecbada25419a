/* SPDX-License-Identifier: Apache-2.0 */
/* Row types, the names of their columns, and rows cut down to some fields. */
#include "rowtype.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_error(struct tt_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

int cli_rowtype_init(struct cli_rowtype *type, const struct tt_dtype *dtype,
		     uint32_t rank, const uint64_t *shape, struct tt_error *err)
{
	int rc;

	*type = (struct cli_rowtype){ .rank = rank };
	for (uint32_t i = 0; i < rank; i++)
		type->shape[i] = shape[i];
	rc = tt_dtype_subarray(&type->row, dtype, rank, shape, err);
	if (rc < 0)
		return rc;
	type->dtype = tt_dtype_ref(dtype);
	type->bytes = tt_dtype_size(type->row);
	return TT_OK;
}

void cli_rowtype_fini(struct cli_rowtype *type)
{
	tt_dtype_unref(type->row);
	tt_dtype_unref(type->dtype);
	*type = (struct cli_rowtype){ 0 };
}

/* ---- Lists ---- */

/* One item from text into out (terminated); where the next one begins, or NULL: bad quotes. */
static const char *take_item(const char *text, char **out)
{
	char *at = *out;

	if (*text != '"') {
		while (*text && *text != ',' && *text != '"')
			*at++ = *text++;
		*at++ = '\0';
		*out = at;
		return *text == '"' ? NULL : text;
	}
	for (text++; *text; *at++ = *text++)
		if (*text == '"' && *++text != '"') {
			*at++ = '\0';
			*out = at;
			return *text == ',' || *text == '\0' ? text : NULL;
		}
	return NULL;
}

bool cli_list_parse(struct cli_list *list, const char *text)
{
	size_t commas = 0;
	char *at;

	for (const char *c = text; *c; c++)
		commas += *c == ',';
	*list = (struct cli_list){ .text = malloc(strlen(text) + 2),
				   .items = calloc(commas + 1, sizeof(*list->items)) };
	if (!list->text || !list->items)
		return false;
	at = list->text;
	for (;;) {
		list->items[list->count++] = at;
		text = take_item(text, &at);
		if (!text)
			return false;
		if (*text == '\0')
			return true;
		text++;
	}
}

void cli_list_free(struct cli_list *list)
{
	free(list->text);
	free(list->items);
	*list = (struct cli_list){ 0 };
}

/* ---- Columns ---- */

/* Names and places are held for each: a header of a hundred bytes can describe 2^31. */
#define COLUMNS_MAX ((size_t)1 << 22)

/* "name[1][2]" for element i of a leaf. */
static char *element_name(const struct tt_leaf *leaf, uint64_t i)
{
	uint64_t places[TT_MAX_RANK];
	size_t room = strlen(leaf->name) + leaf->rank * 23 + 1, n;
	char *name = malloc(room);

	if (!name)
		return NULL;
	for (uint32_t d = leaf->rank; d > 0; d--) {
		places[d - 1] = i % leaf->shape[d - 1];
		i /= leaf->shape[d - 1];
	}
	n = (size_t)snprintf(name, room, "%s", leaf->name);
	for (uint32_t d = 0; d < leaf->rank; d++)
		n += (size_t)snprintf(name + n, room - n, "[%llu]",
				      (unsigned long long)places[d]);
	return name;
}

static int add_leaf(struct cli_columns *columns, const struct tt_leaf *leaf, size_t at)
{
	struct cli_value *value = &columns->values[at];

	cli_value_init(value, leaf);
	if (value->text_max > columns->text_max)
		columns->text_max = value->text_max;
	for (uint64_t i = 0; i < leaf->count; i++) {
		struct cli_column *column = &columns->items[columns->count];

		column->name = element_name(leaf, i);
		if (!column->name)
			return -ENOMEM;
		column->value = value;
		column->offset = leaf->offset + (size_t)i * leaf->size;
		column->leaf = at;
		columns->count++;
	}
	return TT_OK;
}

int cli_columns_init(struct cli_columns *columns, const struct tt_dtype *row,
		     struct tt_error *err)
{
	size_t leaves = tt_dtype_leaf_count(row), total = 0;
	int rc = TT_OK;

	*columns = (struct cli_columns){ 0 };
	for (size_t i = 0; i < leaves; i++)
		total += tt_dtype_leaf(row, i)->count;
	if (total > COLUMNS_MAX)
		return cli_error(
			err, TT_E_UNSUPPORTED,
			"%zu columns, at most %zu are possible: take --format npy "
			"or raw, or fewer --fields",
			total, COLUMNS_MAX);
	columns->values = calloc(leaves ? leaves : 1, sizeof(*columns->values));
	columns->items = calloc(total ? total : 1, sizeof(*columns->items));
	if (!columns->values || !columns->items)
		rc = -ENOMEM;
	for (size_t i = 0; i < leaves && rc == TT_OK; i++)
		rc = add_leaf(columns, tt_dtype_leaf(row, i), i);
	if (rc < 0) {
		cli_columns_fini(columns);
		return cli_error(err, rc, "%zu columns: %s", total, tt_strerror(rc));
	}
	return TT_OK;
}

void cli_columns_fini(struct cli_columns *columns)
{
	for (size_t i = 0; i < columns->count; i++)
		free(columns->items[i].name);
	free(columns->items);
	free(columns->values);
	*columns = (struct cli_columns){ 0 };
}

const struct tt_leaf *cli_find_leaf(const struct tt_dtype *row, const char *name)
{
	for (size_t i = 0; i < tt_dtype_leaf_count(row); i++)
		if (strcmp(tt_dtype_leaf(row, i)->name, name) == 0)
			return tt_dtype_leaf(row, i);
	return NULL;
}

/* ---- Picking fields ---- */

static int plan_moves(struct cli_pick *pick, const struct tt_dtype *from,
		      struct tt_error *err)
{
	const struct tt_dtype *to = pick->type.row;
	size_t leaves = tt_dtype_leaf_count(to);

	pick->moves = calloc(leaves ? leaves : 1, sizeof(*pick->moves));
	if (!pick->moves)
		return cli_error(err, -ENOMEM, "%s", tt_strerror(-ENOMEM));
	for (size_t i = 0; i < leaves; i++) {
		const struct tt_leaf *leaf = tt_dtype_leaf(to, i);
		const struct tt_leaf *source = cli_find_leaf(from, leaf->name);

		if (!source)
			return cli_error(err, TT_E_RANGE, "no field '%s'", leaf->name);
		pick->moves[i].from = source->offset;
		pick->moves[i].to = leaf->offset;
		pick->moves[i].bytes = leaf->size * (size_t)leaf->count;
		pick->count++;
	}
	return TT_OK;
}

int cli_pick_init(struct cli_pick *pick, const struct cli_rowtype *from,
		  const char *fields, struct tt_error *err)
{
	struct cli_list list;
	struct tt_dtype *chosen = NULL;
	int rc;

	*pick = (struct cli_pick){ 0 };
	if (!cli_list_parse(&list, fields)) {
		cli_list_free(&list);
		return cli_error(err, TT_E_RANGE, "--fields %s: quotes do not match",
				 fields);
	}
	rc = tt_dtype_select(&chosen, from->row, list.items, list.count, err);
	cli_list_free(&list);
	if (rc == TT_OK)
		rc = cli_rowtype_init(&pick->type, chosen, 0, NULL, err);
	tt_dtype_unref(chosen);
	if (rc == TT_OK)
		rc = plan_moves(pick, from->row, err);
	if (rc < 0)
		cli_pick_fini(pick);
	return rc;
}

void cli_pick_fini(struct cli_pick *pick)
{
	cli_rowtype_fini(&pick->type);
	free(pick->moves);
	*pick = (struct cli_pick){ 0 };
}

void cli_pick_rows(const struct cli_pick *pick, const void *rows, size_t row_bytes,
		   size_t count, void *out)
{
	const char *from = rows;
	char *to = out;

	for (; count > 0; count--, from += row_bytes, to += pick->type.bytes)
		for (size_t i = 0; i < pick->count; i++)
			memcpy(to + pick->moves[i].to, from + pick->moves[i].from,
			       pick->moves[i].bytes);
}
