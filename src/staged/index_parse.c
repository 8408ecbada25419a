/* SPDX-License-Identifier: Apache-2.0 */
/* An index as text.  Invariant: the cursor never passes the end; a list's memory belongs
 * to the result from the moment it is made, so that any failure frees all. */
#include "ticktail/staged.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/num.h"
#include "staged/vec.h"

struct parser {
	const char *text, *at;
	struct tti_vec items; /* struct tt_index */
	struct tt_error *err;
};

/* A list on its way: numbers or flags. */
struct list {
	struct tti_vec ints, bools;
};

static void skip(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool take(struct parser *p, const char *token)
{
	size_t len = strlen(token);

	skip(p);
	if (strncmp(p->at, token, len) != 0)
		return false;
	if (isalpha((unsigned char)*token) &&
	    (isalnum((unsigned char)p->at[len]) || p->at[len] == '_'))
		return false;
	p->at += len;
	return true;
}

static int refuse(struct parser *p, int code, const char *why)
{
	return tti_fail(p->err, code, "index \"%.80s\", at character %d: %s", p->text,
			(int)(p->at - p->text) + 1, why);
}

static int not_an_index(struct parser *p)
{
	return refuse(
		p, TT_E_RANGE,
		"only integers, slices (:), ellipsis (...) and lists of integers or of "
		"booleans are valid");
}

/* Whether a number begins here. */
static bool at_number(struct parser *p)
{
	skip(p);
	return isdigit((unsigned char)*p->at) ||
	       ((*p->at == '-' || *p->at == '+') && isdigit((unsigned char)p->at[1]));
}

static int take_number(struct parser *p, int64_t *out)
{
	const char *end = p->at + (*p->at == '-' || *p->at == '+');

	while (isdigit((unsigned char)*end))
		end++;
	if (*end == '.' || *end == 'e' || *end == 'E' || *end == '_' || *end == 'x')
		return not_an_index(p);
	if (!tti_parse_i64(p->at, (size_t)(end - p->at), out))
		return refuse(p, TT_E_RANGE, "a number that does not fit in 64 bits");
	p->at = end;
	return TT_OK;
}

static int take_member(struct parser *p, struct list *list)
{
	int64_t number = 0, *ints;
	bool flag = take(p, "True"), *bools;
	int rc = TT_OK;

	if (flag || take(p, "False")) {
		bools = tti_vec_add(&list->bools, 1, sizeof(*bools));
		if (!bools)
			return refuse(p, -ENOMEM, "out of memory");
		*bools = flag;
		return TT_OK;
	}
	if (take(p, "["))
		return refuse(p, TT_E_UNSUPPORTED, "array index must be 1-dimensional");
	if (!at_number(p))
		return not_an_index(p);
	rc = take_number(p, &number);
	if (rc < 0)
		return rc;
	ints = tti_vec_add(&list->ints, 1, sizeof(*ints));
	if (!ints)
		return refuse(p, -ENOMEM, "out of memory");
	*ints = number;
	return TT_OK;
}

/* The list behind '['. */
static int take_list(struct parser *p, struct tt_index *out)
{
	struct list list = { .ints = { .items = NULL } };
	int rc = TT_OK;

	while (rc == TT_OK && !take(p, "]")) {
		rc = take_member(p, &list);
		if (rc == TT_OK && !take(p, ",") && *p->at != ']')
			rc = refuse(p, TT_E_RANGE, "expected ',' or ']'");
	}
	if (rc == TT_OK && list.ints.count > 0 && list.bools.count > 0)
		rc = refuse(p, TT_E_RANGE, "a list mixes integers and booleans");
	if (rc < 0) {
		tti_vec_fini(&list.ints);
		tti_vec_fini(&list.bools);
		return rc;
	}
	*out = (struct tt_index){ .kind = list.bools.count > 0 ? TT_INDEX_BOOLS
							       : TT_INDEX_INTS,
				  .ints = list.ints.items,
				  .bools = list.bools.items,
				  .count = list.ints.count + list.bools.count };
	return TT_OK;
}

/* start:stop:step, each of which may be missing; an integer alone is a point. */
static int take_slice(struct parser *p, struct tt_index *out)
{
	struct tt_index index = { .kind = TT_INDEX_INT, .step = 1 };
	int rc = TT_OK;

	if (at_number(p)) {
		index.has_start = true;
		rc = take_number(p, &index.start);
	}
	if (rc == TT_OK && take(p, ":")) {
		index.kind = TT_INDEX_SLICE;
		if (at_number(p)) {
			index.has_stop = true;
			rc = take_number(p, &index.stop);
		}
		if (rc == TT_OK && take(p, ":") && at_number(p))
			rc = take_number(p, &index.step);
	} else if (rc == TT_OK && !index.has_start) {
		return not_an_index(p);
	}
	*out = index;
	return rc;
}

static int take_item(struct parser *p)
{
	struct tt_index *out, index = { .kind = TT_INDEX_ELLIPSIS };
	int rc = TT_OK;

	if (take(p, "None"))
		return refuse(p, TT_E_UNSUPPORTED, "None (a new axis) is not supported");
	if (take(p, "True") || take(p, "False"))
		return refuse(p, TT_E_UNSUPPORTED, "array index must be 1-dimensional");
	if (take(p, "["))
		rc = take_list(p, &index);
	else if (!take(p, "..."))
		rc = take_slice(p, &index);
	if (rc < 0)
		return rc;
	out = tti_vec_add(&p->items, 1, sizeof(*out));
	if (!out) {
		free((void *)index.ints);
		free((void *)index.bools);
		return refuse(p, -ENOMEM, "out of memory");
	}
	*out = index;
	return TT_OK;
}

static int take_items(struct parser *p)
{
	bool tuple = take(p, "(");
	int rc = TT_OK;

	while (rc == TT_OK && (skip(p), *p->at != '\0') && *p->at != ')') {
		rc = take_item(p);
		if (rc == TT_OK && !take(p, ",") && *p->at != '\0' && *p->at != ')')
			rc = not_an_index(p);
	}
	if (rc == TT_OK && tuple && !take(p, ")"))
		rc = refuse(p, TT_E_RANGE, "expected ')'");
	if (rc == TT_OK && (skip(p), *p->at != '\0'))
		rc = not_an_index(p);
	return rc;
}

static void free_items(struct tt_index *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free((void *)items[i].ints);
		free((void *)items[i].bools);
	}
	free(items);
}

int tt_index_parse(struct tt_index_list **out, const char *text, struct tt_error *err)
{
	struct parser p = { .text = text, .at = text, .err = err };
	int rc = take_items(&p);

	*out = NULL;
	if (rc == TT_OK && p.items.count > UINT32_MAX)
		rc = refuse(&p, TT_E_RANGE, "too many");
	if (rc == TT_OK && !(*out = calloc(1, sizeof(**out))))
		rc = refuse(&p, -ENOMEM, "out of memory");
	if (rc < 0) {
		free_items(p.items.items, p.items.count);
		return rc;
	}
	(*out)->count = (uint32_t)p.items.count;
	(*out)->items = p.items.items;
	return TT_OK;
}

void tt_index_free(struct tt_index_list *list)
{
	if (list)
		free_items(list->items, list->count);
	free(list);
}
