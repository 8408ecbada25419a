/* SPDX-License-Identifier: Apache-2.0 */
/* The header of an .npy file, read and written.
 * Invariant: a header that was accepted describes rows of at least one byte whose total fits
 * a file; a header that was written is what NumPy writes for the same type and shape. */
#include "format/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/num.h"
#include "format/dtype.h"
#include "format/npy_text.h"
#include "format/text.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define ALIGN 64

/* Where the dict begins: behind magic, version and a length of 2 or 4 bytes. */
static size_t prefix_bytes(uint8_t major)
{
	return major == 1 ? 10 : 12;
}

int tti_npy_header_length(const void *prefix, size_t n, uint64_t *out, const char *path,
			  struct tt_error *err)
{
	const uint8_t *at = prefix;
	uint64_t length = 0;

	if (n < MAGIC_BYTES || memcmp(at, MAGIC, MAGIC_BYTES) != 0)
		return tti_fail(err, TT_E_FORMAT,
				"%s: not an .npy file: it does not begin with \\x93NUMPY",
				path);
	if (n >= MAGIC_BYTES + 2 && (at[6] < 1 || at[6] > 3 || at[7] != 0))
		return tti_fail(
			err, TT_E_FORMAT,
			"%s: .npy version %u.%u is not known; 1.0, 2.0 and 3.0 are", path,
			at[6], at[7]);
	if (n < MAGIC_BYTES + 2 || n < prefix_bytes(at[6]))
		return tti_fail(err, TT_E_DAMAGED,
				"%s: cut short inside the .npy header, after %zu bytes; "
				"'ticktail recover %s --dtype DESCR', or '--like FILE', "
				"mends it",
				path, n, path);
	for (size_t i = prefix_bytes(at[6]); i-- > MAGIC_BYTES + 2;)
		length = length << 8 | at[i];
	length += prefix_bytes(at[6]);
	if (length > TTI_NPY_MAX_HEADER)
		return tti_fail(err, TT_E_FORMAT,
				"%s: an .npy header of %" PRIu64 " bytes; %u is the most",
				path, length, TTI_NPY_MAX_HEADER);
	*out = length;
	return TT_OK;
}

/* The largest code point of UTF-8 text; false when it is not UTF-8. */
static bool utf8_max(const char *text, size_t len, uint32_t *out)
{
	*out = 0;
	for (size_t i = 0, n; i < len; i += n) {
		uint32_t c;

		n = tti_utf8_next(text + i, len - i, &c);
		if (n == 0)
			return false;
		if (c > *out)
			*out = c;
	}
	return true;
}

static int parse_descr(struct tti_npy *npy, const struct tti_npy_text *text,
		       const char *path, struct tt_error *err)
{
	tti_auto_text utf8 = { 0 };
	int rc;

	for (size_t i = 0; i < text->descr_len; i++) /* Latin-1: a byte is a code point */
		if (npy->major < 3)
			tti_text_put_utf8(&utf8, (uint8_t)text->descr[i]);
		else
			tti_text_put(&utf8, text->descr + i, 1);
	if (utf8.failed)
		return tti_fail_sys(err, -ENOMEM, path, NULL);
	rc = tti_dtype_parse_descr(&npy->dtype, utf8.bytes, utf8.len, err);
	return rc < 0 ? tti_fail_in(err, rc, "%s", path) : TT_OK;
}

/* Row and total sizes: a file that could not be addressed is refused before any use. */
static int measure(struct tti_npy *npy, const char *path, struct tt_error *err)
{
	uint64_t row = tt_dtype_size(npy->dtype), total;

	for (uint32_t i = 1; i < npy->rank; i++)
		if (tti_mul_overflow(row, npy->shape[i], &row))
			return tti_fail(
				err, TT_E_DAMAGED,
				"%s: a row of this shape and type overflows 64 bits",
				path);
	if (row == 0)
		return tti_fail(
			err, TT_E_FORMAT,
			"%s: its rows have no bytes; such arrays are not supported",
			path);
	if (tti_mul_overflow(row, npy->rank ? npy->shape[0] : 1, &total) ||
	    total > INT64_MAX)
		return tti_fail(err, TT_E_DAMAGED,
				"%s: shape x item size overflows: %" PRIu64
				" rows of %" PRIu64 " bytes",
				path, npy->shape[0], row);
	npy->row_bytes = row;
	return TT_OK;
}

int tti_npy_parse(struct tti_npy *out, const void *bytes, size_t n, const char *path,
		  struct tt_error *err)
{
	struct tti_npy_text text;
	struct tti_npy npy = { 0 };
	struct tti_npy_dict dict = { .path = path };
	uint32_t largest;
	int rc = tti_npy_header_length(bytes, n, &npy.data_off, path, err);

	if (rc < 0)
		return rc;
	if (n != npy.data_off)
		return tti_fail(err, TT_E_DAMAGED, "%s: cut short inside the .npy header",
				path);
	npy.major = ((const uint8_t *)bytes)[6];
	dict.text = (const char *)bytes + prefix_bytes(npy.major);
	dict.len = n - prefix_bytes(npy.major);
	dict.python2 = npy.major < 3;
	if (npy.major == 3 && !utf8_max(dict.text, dict.len, &largest))
		return tti_fail(err, TT_E_DAMAGED, "%s: bad .npy header: not UTF-8",
				path);
	rc = tti_npy_text_parse(&text, &dict, err);
	if (rc < 0)
		return rc;
	npy.fortran_order = text.fortran_order;
	npy.rank = text.rank;
	memcpy(npy.shape, text.shape, sizeof(npy.shape));
	npy.extent_off = prefix_bytes(npy.major) + text.extent_off;
	npy.extent_width = text.extent_width;
	rc = parse_descr(&npy, &text, path, err);
	if (rc == TT_OK)
		rc = measure(&npy, path, err);
	if (rc < 0) {
		tti_npy_fini(&npy);
		return rc;
	}
	*out = npy;
	return TT_OK;
}

void tti_npy_fini(struct tti_npy *npy)
{
	tt_dtype_unref(npy->dtype);
	npy->dtype = NULL;
}

/* ---- Writing ---- */

static size_t digits_of(uint64_t value)
{
	char digits[24];

	return (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, value);
}

/* The dict in UTF-8 with NumPy's room for growth behind it, before padding. */
static void print_dict(struct tti_text *to, const struct tti_npy_form *form)
{
	uint32_t rank = form->rank;

	tti_text_put_str(to, "{'descr': ");
	tti_text_put_str(to, tt_dtype_descr(form->dtype));
	tti_text_put_str(to, ", 'fortran_order': False, 'shape': (");
	for (uint32_t i = 0; i < rank; i++)
		tti_text_putf(to, "%s%*" PRIu64, i ? ", " : "",
			      form->wide && i == 0 ? TTI_NPY_EXTENT_WIDTH : 0,
			      form->shape[i]);
	tti_text_put_str(to, rank == 1 ? ",), }" : "), }");
	for (size_t i = digits_of(rank ? form->shape[0] : 0);
	     rank && i < TTI_NPY_EXTENT_WIDTH; i++)
		tti_text_put(to, " ", 1);
}

/* UTF-8 whose code points are all below 256 as Latin-1, in place; the new length. */
static size_t utf8_to_latin1(char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; n++) {
		uint32_t c = 0;

		i += tti_utf8_next(text + i, len - i, &c);
		text[n] = (char)c;
	}
	return n;
}

/* The oldest version that can hold dict; NumPy pads by 1 to 64 spaces and ends with a line
 * feed. */
static int wrap_dict(void **out, size_t *len_out, const char *dict, size_t len,
		     bool latin1)
{
	uint8_t major = 1, *bytes;
	size_t prefix, total;

	for (;; major = latin1 ? 2 : 3) {
		prefix = prefix_bytes(major);
		total = prefix + len + 1;
		total += ALIGN - total % ALIGN;
		if (major > 1)
			break;
		if (latin1 && total - prefix <= UINT16_MAX)
			break;
	}
	if (total - prefix > UINT32_MAX)
		return -EFBIG;
	bytes = malloc(total);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, MAGIC, MAGIC_BYTES);
	bytes[6] = major;
	bytes[7] = 0;
	for (size_t i = MAGIC_BYTES + 2; i < prefix; i++)
		bytes[i] = (uint8_t)((total - prefix) >> 8 * (i - MAGIC_BYTES - 2));
	memcpy(bytes + prefix, dict, len);
	memset(bytes + prefix + len, ' ', total - prefix - len - 1);
	bytes[total - 1] = '\n';
	*out = bytes;
	*len_out = total;
	return TT_OK;
}

int tti_npy_format(void **out, size_t *len_out, const struct tti_npy_form *form,
		   struct tt_error *err)
{
	tti_auto_text dict = { 0 };
	uint32_t largest = 0;
	int rc;

	if (form->rank > TT_MAX_RANK)
		return tti_fail(err, TT_E_RANGE, "a shape of %u extents; 32 is the most",
				form->rank);
	print_dict(&dict, form);
	if (dict.failed)
		return tti_fail(err, -ENOMEM, "header: %s", tt_strerror(-ENOMEM));
	if (!utf8_max(dict.bytes, dict.len, &largest))
		return tti_fail(err, TT_E_DTYPE, "a field name that is not UTF-8");
	if (largest < 256)
		dict.len = utf8_to_latin1(dict.bytes, dict.len);
	rc = wrap_dict(out, len_out, dict.bytes, dict.len, largest < 256);
	return rc < 0 ? tti_fail(err, rc, "header: %s", tt_strerror(rc)) : TT_OK;
}

/* Spaces before the final line feed. */
static size_t trailing_spaces(const char *text, size_t n)
{
	size_t count = 0;

	if (n > 0 && text[n - 1] == '\n')
		n--;
	while (count < n && text[n - 1 - count] == ' ')
		count++;
	return count;
}

int tti_npy_put_extent(void *header, size_t n, uint64_t value, struct tt_error *err)
{
	char *bytes = header, digits[TTI_NPY_EXTENT_WIDTH + 1];
	size_t width, room, need = digits_of(value);
	struct tti_npy npy;
	int rc = tti_npy_parse(&npy, header, n, "header", err);

	if (rc < 0)
		return rc;
	tti_npy_fini(&npy);
	if (npy.extent_width == 0)
		return tti_fail(err, TT_E_RANGE,
				"an array of rank 0 has no extent to write");
	room = npy.extent_width + trailing_spaces(bytes, n);
	if (need > room)
		return tti_fail(
			err, TT_E_RANGE,
			"the header has %zu columns for the number of rows, %" PRIu64
			" takes %zu",
			room, value, need);
	/* all 21 columns where they fit: the next change then moves nothing */
	width = npy.extent_width;
	if (width < TTI_NPY_EXTENT_WIDTH && room >= TTI_NPY_EXTENT_WIDTH)
		width = TTI_NPY_EXTENT_WIDTH;
	else if (width < need)
		width = need;
	if (width > npy.extent_width) {
		char *behind = bytes + npy.extent_off + npy.extent_width;
		size_t shift = width - npy.extent_width;
		size_t tail = n - (size_t)(behind - bytes) - (bytes[n - 1] == '\n');

		memmove(behind + shift, behind, tail - shift);
	}
	memset(bytes + npy.extent_off, ' ', width);
	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	memcpy(bytes + npy.extent_off + width - need, digits, need);
	return TT_OK;
}
