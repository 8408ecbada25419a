/* SPDX-License-Identifier: Apache-2.0 */
/* From an HDF5 type to the dtype that h5py shows for it.
 *
 * The type is written down as the text of a descr, which the one parser of such texts then
 * judges: duplicate names, sizes and depths are refused in one place.  Invariant: what is
 * given out lies in memory as it lies in the file; a type that would need converting is
 * refused by name. */
#include "archive/h5type.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/h5.h"
#include "base/error.h"

struct text {
	FILE *f;
	const char *where;
	struct tt_error *err;
	bool vlen_string;
};

static int put_type(struct text *t, hid_t type, unsigned depth);

static char order_of(hid_t type)
{
	return H5Tget_size(type) == 1		    ? '|'
	       : H5Tget_order(type) == H5T_ORDER_BE ? '>'
						    : '<';
}

static int no_dtype(struct text *t, const char *what)
{
	return tti_fail(t->err, TT_E_UNSUPPORTED,
			"%s: the element type holds %s, for which "
			"there is no NumPy type",
			t->where, what);
}

static int put_int(struct text *t, hid_t type, bool is_signed)
{
	size_t size = H5Tget_size(type);

	if (size != 1 && size != 2 && size != 4 && size != 8)
		return no_dtype(t, "an integer that is not of 1, 2, 4 or 8 bytes");
	if (H5Tget_precision(type) != 8 * size)
		return no_dtype(t, "an integer with unused bits");
	fprintf(t->f, "'%c%c%zu'", order_of(type), is_signed ? 'i' : 'u', size);
	return TT_OK;
}

/* Only floats whose bits lie as NumPy has them may be given out as bytes. */
static int float_size(struct text *t, hid_t type, size_t *out)
{
	size_t size = H5Tget_size(type);
	tti_auto_hid ours = -1;

	if (H5Tget_order(type) != H5T_ORDER_LE && H5Tget_order(type) != H5T_ORDER_BE)
		return no_dtype(t, "a float of mixed byte order");
	if (tti_h5_make_float(&ours, size,
			      H5Tget_order(type) == H5T_ORDER_BE ? '>' : '<') < 0 ||
	    H5Tequal(ours, type) <= 0)
		return no_dtype(t, "a float of a format that NumPy does not have");
	*out = size;
	return TT_OK;
}

static int put_float(struct text *t, hid_t type)
{
	size_t size;
	int rc = float_size(t, type, &size);

	if (rc == TT_OK)
		fprintf(t->f, "'%c%c%zu'", order_of(type), 'f', size);
	return rc;
}

static bool is_bool(hid_t type)
{
	tti_auto_hid ours = -1;

	return tti_h5_make_bool(&ours) == TT_OK && H5Tequal(ours, type) > 0;
}

static int put_enum(struct text *t, hid_t type)
{
	tti_auto_hid base = -1;

	if (is_bool(type)) {
		fputs("'|b1'", t->f);
		return TT_OK;
	}
	base = H5Tget_super(type);
	if (base < 0 || H5Tget_class(base) != H5T_INTEGER)
		return no_dtype(t, "an enumeration of something that is no integer");
	return put_int(t, base, H5Tget_sign(base) != H5T_SGN_NONE);
}

/* h5py marks types that only NumPy knows with the tag "NUMPY:<descr>". */
static int put_opaque(struct text *t, hid_t type)
{
	char *tag = H5Tget_tag(type);
	const char *descr = tag && strncmp(tag, "NUMPY:", 6) == 0 ? tag + 6 : NULL;

	if (descr && strspn(descr, "<>|=mM8[]0123456789YWDhsunpfa") == strlen(descr) &&
	    H5Tget_size(type) == 8 && strpbrk(descr, "mM"))
		fprintf(t->f, "'%s'", descr);
	else
		fprintf(t->f, "'|V%zu'", H5Tget_size(type));
	H5free_memory(tag);
	return TT_OK;
}

static int put_string(struct text *t, hid_t type, unsigned depth)
{
	if (H5Tis_variable_str(type) <= 0) {
		fprintf(t->f, "'|S%zu'", H5Tget_size(type));
		return TT_OK;
	}
	if (depth > 0)
		return no_dtype(t, "variable-length strings inside a struct");
	t->vlen_string = true;
	return TT_OK;
}

/* The axes of arrays in arrays, as one: NumPy has them no other way.  *base is owned. */
static int peel(struct text *t, hid_t type, hid_t *base, uint32_t *rank, uint64_t *shape)
{
	tti_auto_hid at = H5Tcopy(type);

	*rank = 0;
	while (at >= 0 && H5Tget_class(at) == H5T_ARRAY) {
		hsize_t dims[H5S_MAX_RANK];
		int axes = H5Tget_array_ndims(at);
		hid_t inner;

		if (axes < 1 || *rank + axes > TT_MAX_RANK ||
		    H5Tget_array_dims2(at, dims) < 0)
			return no_dtype(t, "an array of more than 32 axes");
		for (int i = 0; i < axes; i++)
			shape[(*rank)++] = dims[i];
		inner = H5Tget_super(at);
		tti_h5_close(&at);
		at = inner;
	}
	if (at < 0)
		return no_dtype(t, "something that HDF5 cannot describe");
	*base = tti_steal_hid(&at);
	return TT_OK;
}

static void put_name(struct text *t, const char *name)
{
	fputc('\'', t->f);
	for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
		if (*c == '\'' || *c == '\\')
			fputc('\\', t->f);
		if (*c < 0x20 || *c == 0x7f)
			fprintf(t->f, "\\x%02x", *c);
		else
			fputc(*c, t->f);
	}
	fputc('\'', t->f);
}

struct member {
	size_t offset;
	unsigned index;
};

static int by_offset(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void put_padding(struct text *t, size_t from, size_t to)
{
	if (to > from)
		fprintf(t->f, "('', '|V%zu'), ", to - from);
}

static void put_axes(struct text *t, uint32_t rank, const uint64_t *shape)
{
	if (rank == 0)
		return;
	fputs(", (", t->f);
	for (uint32_t i = 0; i < rank; i++)
		fprintf(t->f, "%" PRIu64 ",", shape[i]);
	fputc(')', t->f);
}

static int put_member(struct text *t, hid_t type, struct member m, size_t *at,
		      unsigned depth)
{
	tti_auto_hid member = H5Tget_member_type(type, m.index), base = -1;
	char *name = H5Tget_member_name(type, m.index);
	uint64_t shape[TT_MAX_RANK];
	uint32_t rank;
	int rc;

	if (member < 0 || !name)
		rc = no_dtype(t, "a member that HDF5 cannot describe");
	else if (m.offset < *at)
		rc = no_dtype(t, "members that overlap");
	else
		rc = peel(t, member, &base, &rank, shape);
	if (rc == TT_OK) {
		put_padding(t, *at, m.offset);
		fputc('(', t->f);
		put_name(t, name);
		fputs(", ", t->f);
		rc = put_type(t, base, depth + 1);
		put_axes(t, rank, shape);
		fputs("), ", t->f);
		*at = m.offset + H5Tget_size(member);
	}
	H5free_memory(name);
	return rc;
}

/* h5py's complex: r and i of one float type, one behind the other. */
static bool is_complex(struct text *t, hid_t type, size_t *part_size, char *order)
{
	tti_auto_hid r = -1, i = -1;
	char *first, *second;
	bool named;
	struct text quiet = { .f = t->f, .where = t->where };

	if (H5Tget_nmembers(type) != 2)
		return false;
	first = H5Tget_member_name(type, 0);
	second = H5Tget_member_name(type, 1);
	named = first && second && strcmp(first, "r") == 0 && strcmp(second, "i") == 0;
	H5free_memory(first);
	H5free_memory(second);
	if (!named)
		return false;
	r = H5Tget_member_type(type, 0);
	i = H5Tget_member_type(type, 1);
	if (r < 0 || i < 0 || H5Tget_class(r) != H5T_FLOAT || H5Tequal(r, i) <= 0 ||
	    float_size(&quiet, r, part_size) < 0 || *part_size < 4)
		return false;
	*order = order_of(r);
	return H5Tget_member_offset(type, 0) == 0 &&
	       H5Tget_member_offset(type, 1) == *part_size &&
	       H5Tget_size(type) == 2 * *part_size;
}

static int put_struct(struct text *t, hid_t type, unsigned depth)
{
	int count = H5Tget_nmembers(type), rc = TT_OK;
	tti_auto_free struct member *members = NULL;
	size_t at = 0, part;
	char order;

	if (is_complex(t, type, &part, &order)) {
		fprintf(t->f, "'%cc%zu'", order, 2 * part);
		return TT_OK;
	}
	if (count < 1)
		return no_dtype(t, "a compound without members");
	members = calloc(count, sizeof(*members));
	if (!members)
		return tti_fail(t->err, -ENOMEM, "out of memory for %d members", count);
	for (int i = 0; i < count; i++)
		members[i] = (struct member){ H5Tget_member_offset(type, i), i };
	qsort(members, count, sizeof(*members), by_offset);
	fputc('[', t->f);
	for (int i = 0; i < count && rc == TT_OK; i++)
		rc = put_member(t, type, members[i], &at, depth);
	if (rc == TT_OK && at > H5Tget_size(type))
		rc = no_dtype(t, "members past its end");
	put_padding(t, at, H5Tget_size(type));
	fputc(']', t->f);
	return rc;
}

static int put_type(struct text *t, hid_t type, unsigned depth)
{
	if (depth > TTI_H5TYPE_DEPTH)
		return no_dtype(t, "structs nested more than 64 deep");
	switch (H5Tget_class(type)) {
	case H5T_INTEGER: return put_int(t, type, H5Tget_sign(type) != H5T_SGN_NONE);
	case H5T_BITFIELD: return put_int(t, type, false);
	case H5T_FLOAT: return put_float(t, type);
	case H5T_ENUM: return put_enum(t, type);
	case H5T_OPAQUE: return put_opaque(t, type);
	case H5T_STRING: return put_string(t, type, depth);
	case H5T_COMPOUND: return put_struct(t, type, depth);
	case H5T_VLEN: return no_dtype(t, "variable-length sequences");
	case H5T_REFERENCE: return no_dtype(t, "references");
	case H5T_TIME: return no_dtype(t, "HDF5's time class");
	default: return no_dtype(t, "a class that this HDF5 does not know");
	}
}

/* What h5py shows for type. */
static int dtype_of_type(struct tti_h5rows *out, hid_t type, const char *where,
			 struct tt_error *err)
{
	tti_auto_free char *descr = NULL;
	tti_auto_hid base = -1;
	size_t len = 0;
	struct text t = { .f = open_memstream(&descr, &len), .where = where, .err = err };
	bool lost;
	int rc;

	if (!t.f)
		return tti_fail(err, -ENOMEM, "%s: out of memory", where);
	rc = peel(&t, type, &base, &out->added, out->shape);
	if (rc == TT_OK)
		rc = put_type(&t, base, out->added ? 1 : 0);
	lost = ferror(t.f); /* fclose() tells of its own flush alone */
	if ((fclose(t.f) != 0 || lost) && rc == TT_OK)
		rc = tti_fail(err, -ENOMEM, "%s: out of memory", where);
	out->vlen_string = t.vlen_string;
	if (rc < 0 || t.vlen_string)
		return rc;
	rc = tt_dtype_parse(&out->dtype, descr, len, false, err);
	return rc < 0 ? tti_fail_in(err, rc, "%s: element type", where) : TT_OK;
}

void tti_h5rows_fini(struct tti_h5rows *rows)
{
	tt_dtype_unref(rows->dtype);
	*rows = (struct tti_h5rows){ 0 };
}

/* descr's own HDF5 type must be the stored one, and what a bare U adds must be there. */
static bool descr_fits(struct tti_h5rows *out, const struct tti_h5stored *stored)
{
	tti_auto_h5type h5type = TTI_H5TYPE_EMPTY;
	struct tt_dtype *dtype = NULL;
	bool fits;

	if (tt_dtype_parse(&dtype, stored->descr, strlen(stored->descr), false, NULL) < 0)
		return false;
	fits = tti_h5type_from_dtype(&h5type, dtype, NULL) == TT_OK &&
	       H5Tequal(h5type.type, stored->type) > 0 && h5type.rank < stored->rank;
	for (uint32_t i = 0; fits && i < h5type.rank; i++)
		fits = stored->shape[stored->rank - h5type.rank + i] == h5type.shape[i];
	if (!fits) {
		tt_dtype_unref(dtype);
		return false;
	}
	out->dtype = dtype;
	out->folded = h5type.rank;
	return true;
}

int tti_h5type_rows(struct tti_h5rows *out, const struct tti_h5stored *stored,
		    struct tt_error *err)
{
	int rc;

	*out = (struct tti_h5rows){ 0 };
	if (stored->descr && descr_fits(out, stored))
		return TT_OK;
	rc = dtype_of_type(out, stored->type, stored->where, err);
	if (rc == TT_OK && out->added + stored->rank > TT_MAX_RANK)
		rc = tti_fail(err, TT_E_UNSUPPORTED,
			      "%s: has %" PRIu32 " axes with those of its "
			      "element type, at most 32 can be read",
			      stored->where, out->added + stored->rank);
	if (rc < 0)
		tti_h5rows_fini(out);
	return rc;
}
