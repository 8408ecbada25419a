/* SPDX-License-Identifier: Apache-2.0 */
/* Rows to JSON lines: one object a row, sub-arrays as arrays, NaN and infinities as null.
 *
 * A JSON string holds any text, so only bytes that are no UTF-8 need the \xNN of S; backslashes
 * are doubled only where what follows would be read as an escape. */
#include <stdio.h>
#include <string.h>

#include "codec.h"

static void put_json_char(struct cli_out *out, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char text[8] = "\\u00";

	if (c == '"' || c == '\\') {
		cli_out_put(out, c == '"' ? "\\\"" : "\\\\", 2);
	} else if (c == '\n' || c == '\r' || c == '\t') {
		cli_out_put(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", 2);
	} else if (c < 0x20 || c == 0x7f) {
		text[4] = hex[c >> 4];
		text[5] = hex[c & 15];
		cli_out_put(out, text, 6);
	} else {
		cli_out_put(out, &c, 1);
	}
}

/* true when a backslash before text would be read as the start of an escape. */
static bool reads_as_escape(const unsigned char *text, size_t n)
{
	return n > 0 && (text[0] == '\\' ||
			 (n > 2 && text[0] == 'x' && cli_hex_digit((char)text[1]) >= 0 &&
			  cli_hex_digit((char)text[2]) >= 0));
}

/* A byte that is no text: \xNN, whose backslash is JSON's own. */
static void put_byte_escape(struct cli_out *out, unsigned char c)
{
	char text[8];

	snprintf(text, sizeof(text), "\\\\x%02x", c);
	cli_out_put(out, text, 5);
}

static void put_json_bytes(struct cli_out *out, const unsigned char *bytes, size_t n)
{
	cli_out_put(out, "\"", 1);
	for (size_t i = 0; i < n;) {
		size_t len = cli_utf8_length(bytes + i, n - i);

		if (len == 0) {
			put_byte_escape(out, bytes[i++]);
			continue;
		}
		if (bytes[i] == '\\' &&
		    (reads_as_escape(bytes + i + 1, n - i - 1) ||
		     (i + 1 < n && cli_utf8_length(bytes + i + 1, n - i - 1) == 0)))
			put_json_char(out, '\\');
		if (len == 1)
			put_json_char(out, bytes[i]);
		else
			cli_out_put(out, bytes + i, len);
		i += len;
	}
	cli_out_put(out, "\"", 1);
}

/* Names are text already. */
static void put_name(struct cli_out *out, const char *name)
{
	cli_out_put(out, "\"", 1);
	for (; *name; name++)
		put_json_char(out, (unsigned char)*name);
	cli_out_put(out, "\":", 2);
}

/* Texts are taken from the element, not from its CSV form. */
static void put_string(struct cli_writer *writer, const struct cli_value *value,
		       const char *in)
{
	unsigned char *bytes = (unsigned char *)writer->scratch;
	size_t n = value->size, len = 0;
	uint32_t code;

	if (value->kind == TT_BYTES) {
		while (n > 0 && in[n - 1] == 0)
			n--;
		put_json_bytes(writer->out, (const unsigned char *)in, n);
		return;
	}
	for (n /= 4; n > 0; n--) {
		cli_load(value, in + 4 * (n - 1), &code, 4);
		if (code != 0)
			break;
	}
	for (size_t i = 0; i < n; i++) {
		cli_load(value, in + 4 * i, &code, 4);
		len += cli_utf8_put(code, bytes + len);
	}
	put_json_bytes(writer->out, bytes, len);
}

static bool ends_in_digit(const char *text, size_t len)
{
	return len > 0 && (text[len - 1] >= '0' && text[len - 1] <= '9');
}

static void put_element(struct cli_writer *writer, const struct cli_value *value,
			const char *in)
{
	struct cli_out *out = writer->out;
	size_t len;

	if (value->kind == TT_BYTES || value->kind == TT_STR) {
		put_string(writer, value, in);
		return;
	}
	len = value->print(value, in, writer->scratch);
	if (value->kind == TT_FLOAT && !ends_in_digit(writer->scratch, len)) {
		cli_out_put(out, "null", 4);
	} else if (value->kind == TT_FLOAT && len == 2 &&
		   memcmp(writer->scratch, "-0", 2) == 0) {
		cli_out_put(out, "-0.0", 4); /* many readers make an integer of -0 */
	} else if (value->kind == TT_INT || value->kind == TT_UINT ||
		   value->kind == TT_FLOAT || value->kind == TT_BOOL ||
		   (value->kind == TT_TIMEDELTA && writer->scratch[0] != 'N')) {
		cli_out_put(out, writer->scratch, len);
	} else {
		cli_out_put(out, "\"", 1);
		cli_out_put(out, writer->scratch, len);
		cli_out_put(out, "\"", 1);
	}
}

/* The sub-array of one leaf, depth by depth; returns the next element. */
static const char *put_array(struct cli_writer *writer, const struct tt_leaf *leaf,
			     const struct cli_value *value, uint32_t depth,
			     const char *in)
{
	if (depth == leaf->rank) {
		put_element(writer, value, in);
		return in + leaf->size;
	}
	cli_out_put(writer->out, "[", 1);
	for (uint64_t i = 0; i < leaf->shape[depth]; i++) {
		if (i > 0)
			cli_out_put(writer->out, ",", 1);
		in = put_array(writer, leaf, value, depth + 1, in);
	}
	cli_out_put(writer->out, "]", 1);
	return in;
}

static int jsonl_begin(struct cli_writer *writer)
{
	return writer->out->status;
}

static int jsonl_put(struct cli_writer *writer, const void *rows, uint64_t count)
{
	const struct tt_dtype *dtype = writer->type->row;
	size_t leaves = tt_dtype_leaf_count(dtype);
	const char *row = rows;

	for (; count > 0 && writer->out->status == 0;
	     count--, row += writer->type->bytes) {
		for (size_t i = 0; i < leaves; i++) {
			const struct tt_leaf *leaf = tt_dtype_leaf(dtype, i);

			cli_out_put(writer->out, i == 0 ? "{" : ",", 1);
			put_name(writer->out, leaf->name);
			put_array(writer, leaf, &writer->columns.values[i], 0,
				  row + leaf->offset);
		}
		cli_out_put(writer->out, "}\n", 2);
	}
	return writer->out->status;
}

const struct cli_writer_ops cli_jsonl_writer = { jsonl_begin, jsonl_put, NULL };
