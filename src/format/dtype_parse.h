/* SPDX-License-Identifier: Apache-2.0 */
/* What the two syntaxes of element types and the dictionary form share. */
#ifndef TTI_DTYPE_PARSE_H
#define TTI_DTYPE_PARSE_H

#include "format/dtype.h"
#include "format/literal.h"

struct tti_dtype_parser {
	struct tti_literal lit;
	bool is_header; /* no dictionary form */
	bool c_layout;	/* place fields as a C compiler does */
	uint32_t depth; /* of nesting, up to TTI_DTYPE_MAX_DEPTH */
};

/* A type as it stands in a descr; the cursor moves past it. */
int tti_dtype_parse_type(struct tti_dtype_parser *p, struct tt_dtype **out);
/* What follows a '{' in a descr, through its '}'. */
int tti_dtype_parse_dict(struct tti_dtype_parser *p, struct tt_dtype **out);
/* The whole text in the short form: ts:i8,sym:S8,bid:f8[10]. */
int tti_dtype_parse_short(struct tti_dtype_parser *p, struct tt_dtype **out);

/* Put the cursor back to from and the place there into an error of the node makers, which
 * know none.  Returns rc. */
int tti_dtype_fail_at(struct tti_dtype_parser *p, size_t from, int rc);

#endif
