/* SPDX-License-Identifier: Apache-2.0 */
/* Structs: collecting fields and laying them out.  Invariant: fields stand in storage
 * order and do not overlap, names and titles together are unique, the size fits what
 * NumPy holds. */
#include "format/dtype.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

static int no_memory(struct tt_error *err)
{
	return tti_fail(err, -ENOMEM, "element type: out of memory");
}

static int too_large(struct tt_error *err)
{
	return tti_fail(err, TT_E_DTYPE, "element type: a struct of more than %d bytes",
			TTI_DTYPE_MAX_SIZE);
}

static int grow(struct tti_fields *fields, struct tt_error *err)
{
	size_t room = fields->room ? fields->room * 2 : 8;
	struct tt_field *more;

	if (fields->count < fields->room)
		return TT_OK;
	if (fields->count >= TTI_DTYPE_MAX_LEAVES)
		return tti_fail(err, TT_E_DTYPE, "element type: more than %u fields",
				TTI_DTYPE_MAX_LEAVES);
	more = realloc(fields->fields, room * sizeof(*more));
	if (!more)
		return no_memory(err);
	fields->fields = more;
	fields->room = room;
	return TT_OK;
}

int tti_count_leaves(uint64_t *leaves, const struct tt_dtype *dtype, struct tt_error *err)
{
	if (dtype->leaf_count > TTI_DTYPE_MAX_LEAVES - *leaves)
		return tti_fail(err, TT_E_DTYPE,
				"element type: more than %u single values",
				TTI_DTYPE_MAX_LEAVES);
	*leaves += dtype->leaf_count;
	return TT_OK;
}

int tti_fields_add(struct tti_fields *fields, const char *name, const char *title,
		   const struct tt_dtype *dtype, struct tt_error *err)
{
	tti_auto_free char *own_name = strdup(name),
			   *own_title = title ? strdup(title) : NULL;
	uint64_t offset = fields->end, end;
	int rc = grow(fields, err);

	if (rc == TT_OK)
		rc = tti_count_leaves(&fields->leaves, dtype, err);
	if (rc < 0)
		return rc;
	if (!own_name || (title && !own_title))
		return no_memory(err);
	/* without a name it would be read back as padding */
	if (*name == '\0' && !title && (dtype->kind == TT_VOID || dtype->rank > 0))
		return tti_fail(err, TT_E_DTYPE, "element type: a field without a name");
	if (fields->c_layout)
		offset = tti_round_up(offset, dtype->align);
	if (tti_add_overflow(offset, dtype->size, &end) || end > TTI_DTYPE_MAX_SIZE)
		return too_large(err);
	fields->fields[fields->count++] = (struct tt_field){
		.name = tti_steal_ptr(&own_name),
		.title = tti_steal_ptr(&own_title),
		.dtype = tt_dtype_ref(dtype),
		.offset = (size_t)offset,
	};
	fields->end = end;
	return TT_OK;
}

int tti_fields_pad(struct tti_fields *fields, uint64_t bytes, struct tt_error *err)
{
	uint64_t end;

	if (tti_add_overflow(fields->end, bytes, &end) || end > TTI_DTYPE_MAX_SIZE)
		return too_large(err);
	fields->end = end;
	return TT_OK;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* NumPy looks fields up by name and by title, in one dictionary. */
static int check_unique(const struct tti_fields *fields, struct tt_error *err)
{
	tti_auto_free const char **all = calloc(2 * fields->count, sizeof(*all));
	size_t n = 0;

	if (!all)
		return no_memory(err);
	for (size_t i = 0; i < fields->count; i++) {
		all[n++] = fields->fields[i].name;
		if (fields->fields[i].title)
			all[n++] = fields->fields[i].title;
	}
	qsort(all, n, sizeof(*all), compare_names);
	for (size_t i = 1; i < n; i++)
		if (strcmp(all[i - 1], all[i]) == 0)
			return tti_fail(
				err, TT_E_DTYPE,
				"element type: the name or title '%s' occurs twice",
				all[i]);
	return TT_OK;
}

/* Is the layout that of a C compiler?  Also finds the depth. */
static void judge_layout(struct tt_dtype *dtype)
{
	uint64_t end = 0, align = 1;

	dtype->is_aligned = true;
	for (size_t i = 0; i < dtype->field_count; i++) {
		const struct tt_field *field = &dtype->fields[i];
		const struct tt_dtype *type = field->dtype;

		if (!type->is_aligned || field->offset != tti_round_up(end, type->align))
			dtype->is_aligned = false;
		if (type->depth >= dtype->depth)
			dtype->depth = type->depth + 1;
		align = tti_max_u64(align, type->align);
		end = field->offset + type->size;
	}
	if (dtype->size != tti_round_up(end, align))
		dtype->is_aligned = false;
	dtype->align = dtype->is_aligned ? (size_t)align : 1;
}

static uint64_t c_size(const struct tti_fields *fields)
{
	uint64_t align = 1;

	for (size_t i = 0; i < fields->count; i++)
		align = tti_max_u64(align, fields->fields[i].dtype->align);
	return tti_round_up(fields->end, align);
}

int tti_fields_finish(struct tt_dtype **out, struct tti_fields *fields,
		      struct tt_error *err)
{
	tti_auto_dtype *dtype = NULL;
	uint64_t size = fields->c_layout ? c_size(fields) : fields->end;
	int rc;

	*out = NULL;
	if (fields->count == 0)
		return tti_fail(err, TT_E_DTYPE, "element type: a struct without fields");
	if (size > TTI_DTYPE_MAX_SIZE)
		return too_large(err);
	rc = check_unique(fields, err);
	if (rc < 0)
		return rc;
	dtype = calloc(1, sizeof(*dtype));
	if (!dtype)
		return no_memory(err);
	atomic_init(&dtype->refs, 1);
	dtype->kind = TT_STRUCT;
	dtype->order = '|';
	dtype->size = (size_t)size;
	dtype->field_count = fields->count;
	dtype->fields = tti_steal_ptr(&fields->fields);
	*fields = (struct tti_fields){ 0 };
	judge_layout(dtype);
	if (dtype->depth > TTI_DTYPE_MAX_DEPTH)
		return tti_fail(err, TT_E_DTYPE,
				"element type: nested deeper than %d levels",
				TTI_DTYPE_MAX_DEPTH);
	return tti_dtype_complete(out, &dtype, err);
}
