/* SPDX-License-Identifier: Apache-2.0 */
/* The leaves of an element type, and types made of some of them.  Invariant: leaves stand
 * in storage order, and each node's table is built from its children's. */
#include "format/dtype.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "format/text.h"

/* A table being built; names are offsets into the text until it is complete. */
struct table {
	struct tt_leaf *leaves;
	size_t count;
	struct tti_text names;
	size_t *name_at;
};

static void table_fini(struct table *table)
{
	free(table->leaves);
	free(table->name_at);
	tti_text_fini(&table->names);
}

static bool is_one_leaf(const struct tt_dtype *dtype)
{
	while (dtype->base)
		dtype = dtype->base;
	return dtype->kind != TT_STRUCT;
}

/* The leaves of child, at offset, their names behind prefix. */
static void add_child(struct table *table, const struct tt_dtype *child,
		      const char *prefix, const char *joint, size_t offset)
{
	for (size_t i = 0; i < child->leaf_count; i++) {
		struct tt_leaf *leaf = &table->leaves[table->count];

		*leaf = child->leaves[i];
		leaf->offset += offset;
		table->name_at[table->count++] = table->names.len;
		tti_text_put_str(&table->names, prefix);
		if (!is_one_leaf(child)) {
			tti_text_put_str(&table->names, joint);
			tti_text_put_str(&table->names, leaf->name);
		}
		tti_text_put(&table->names, "", 1);
		if (table->names.len > TTI_DTYPE_MAX_NAMES)
			return;
	}
}

static void add_one_leaf(struct table *table, const struct tt_dtype *dtype)
{
	const struct tt_dtype *plain = dtype;
	struct tt_leaf *leaf = &table->leaves[table->count];

	while (plain->base)
		plain = plain->base;
	*leaf = (struct tt_leaf){
		.kind = plain->kind,
		.order = plain->order,
		.unit = plain->unit,
		.unit_step = plain->unit_step,
		.rank = dtype->full_rank,
		.shape = dtype->shape,
		.count = dtype->size / plain->size,
		.size = plain->size,
	};
	table->name_at[table->count++] = table->names.len;
	tti_text_put(&table->names, "value", sizeof("value"));
}

/* "[1][2]" for element n. */
static void index_text(struct tti_text *out, const struct tt_dtype *dtype, uint64_t n)
{
	uint64_t below = 1;

	tti_text_reset(out);
	for (uint32_t i = 1; i < dtype->rank; i++)
		below *= dtype->shape[i];
	for (uint32_t i = 0; i < dtype->rank; i++) {
		tti_text_putf(out, "[%llu]", (unsigned long long)(n / below));
		n %= below;
		if (i + 1 < dtype->rank)
			below /= dtype->shape[i + 1];
	}
}

static void add_elements(struct table *table, const struct tt_dtype *dtype)
{
	tti_auto_text prefix = { 0 };
	const char *joint = dtype->base->base ? "" : ".";
	uint64_t count = dtype->size / dtype->base->size;

	for (uint64_t n = 0; n < count && table->names.len <= TTI_DTYPE_MAX_NAMES; n++) {
		index_text(&prefix, dtype, n);
		if (prefix.failed)
			table->names.failed = true;
		else
			add_child(table, dtype->base, prefix.bytes, joint,
				  (size_t)n * dtype->base->size);
	}
}

static void fill(struct table *table, const struct tt_dtype *dtype)
{
	if (is_one_leaf(dtype)) {
		add_one_leaf(table, dtype);
		return;
	}
	if (dtype->base) {
		add_elements(table, dtype);
		return;
	}
	for (size_t i = 0; i < dtype->field_count; i++)
		add_child(table, dtype->fields[i].dtype, dtype->fields[i].name,
			  dtype->fields[i].dtype->base ? "" : ".",
			  dtype->fields[i].offset);
}

/* false when it is above the limit. */
static bool count_leaves(const struct tt_dtype *dtype, uint64_t *out)
{
	uint64_t count = 0;

	if (is_one_leaf(dtype))
		count = 1;
	else if (dtype->base && tti_mul_overflow(dtype->size / dtype->base->size,
						 dtype->base->leaf_count, &count))
		return false;
	for (size_t i = 0; i < dtype->field_count && count <= TTI_DTYPE_MAX_LEAVES; i++)
		count += dtype->fields[i].dtype->leaf_count;
	*out = count;
	return count <= TTI_DTYPE_MAX_LEAVES;
}

int tti_dtype_make_leaves(struct tt_dtype *dtype, struct tt_error *err)
{
	TTI_CLEANUP(table_fini) struct table table = { 0 };
	uint64_t count;

	if (!count_leaves(dtype, &count))
		return tti_fail(err, TT_E_DTYPE,
				"element type: more than %u single values",
				TTI_DTYPE_MAX_LEAVES);
	table.leaves = calloc(count, sizeof(*table.leaves));
	table.name_at = calloc(count, sizeof(*table.name_at));
	if (table.leaves && table.name_at)
		fill(&table, dtype);
	if (!table.leaves || !table.name_at || table.names.failed)
		return tti_fail(err, -ENOMEM, "element type: out of memory");
	if (table.names.len > TTI_DTYPE_MAX_NAMES)
		return tti_fail(err, TT_E_DTYPE,
				"element type: names of more than %u bytes",
				TTI_DTYPE_MAX_NAMES);
	dtype->leaf_names = tti_steal_ptr(&table.names.bytes);
	for (size_t i = 0; i < table.count; i++)
		table.leaves[i].name = dtype->leaf_names + table.name_at[i];
	dtype->leaf_count = table.count;
	dtype->leaves = tti_steal_ptr(&table.leaves);
	return TT_OK;
}

size_t tt_dtype_leaf_count(const struct tt_dtype *dtype)
{
	return dtype->leaf_count;
}

const struct tt_leaf *tt_dtype_leaf(const struct tt_dtype *dtype, size_t i)
{
	return i < dtype->leaf_count ? &dtype->leaves[i] : NULL;
}

static const struct tt_dtype *find(const struct tt_dtype *dtype, const char *path);

/* path is what follows a field's name or an index: nothing, ".b..." or "[0]...". */
static const struct tt_dtype *find_rest(const struct tt_dtype *dtype, const char *path)
{
	const char *p = path;

	if (*path == '\0')
		return dtype;
	if (!dtype->base)
		return *path == '.' && dtype->kind == TT_STRUCT ? find(dtype, path + 1)
								: NULL;
	if (is_one_leaf(dtype))
		return NULL; /* an array of plain elements is taken whole */
	for (uint32_t i = 0; i < dtype->rank; i++) {
		size_t digits = *p == '[' ? strspn(p + 1, "0123456789") : 0;
		uint64_t index;

		if (digits == 0 || p[digits + 1] != ']' ||
		    !tti_parse_u64(p + 1, digits, &index) || index >= dtype->shape[i])
			return NULL;
		p += digits + 2;
	}
	return find_rest(dtype->base, p);
}

/* The node that path names inside a struct.  Names may hold dots themselves, so every
 * field that begins the path is tried. */
static const struct tt_dtype *find(const struct tt_dtype *dtype, const char *path)
{
	for (size_t i = 0; i < dtype->field_count; i++) {
		size_t len = strlen(dtype->fields[i].name);
		const struct tt_dtype *found = NULL;

		if (strncmp(dtype->fields[i].name, path, len) == 0)
			found = find_rest(dtype->fields[i].dtype, path + len);
		if (found)
			return found;
	}
	return NULL;
}

static const struct tt_dtype *find_any(const struct tt_dtype *dtype, const char *path)
{
	if (is_one_leaf(dtype))
		return strcmp(path, "value") == 0 ? dtype : NULL;
	return dtype->base ? find_rest(dtype, path) : find(dtype, path);
}

int tt_dtype_select(struct tt_dtype **out, const struct tt_dtype *dtype,
		    const char *const *names, size_t count, struct tt_error *err)
{
	tti_auto_fields fields = { 0 };

	*out = NULL;
	if (count == 0)
		return tti_fail(err, TT_E_RANGE, "no field was named");
	for (size_t i = 0; i < count; i++) {
		const struct tt_dtype *found = find_any(dtype, names[i]);
		int rc;

		if (!found)
			return tti_fail(err, TT_E_RANGE,
					"there is no field '%s' in %.300s", names[i],
					dtype->descr);
		rc = tti_fields_add(&fields, names[i], NULL, found, err);
		if (rc < 0)
			return rc;
	}
	return tti_fields_finish(out, &fields, err);
}
