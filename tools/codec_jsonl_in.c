/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines to rows.  RFC 8259 read straight into the columns: numbers go to the same readers
 * as in CSV, so that integers of 64 bits, the sign of -0 and the last bit of a float survive,
 * and a key given twice is seen.  Invariant: a line is one object with every key once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"

struct jsonl_in {
	struct cli_reader head;
	struct cli_columns columns;
	bool *seen;	  /* by leaf */
	size_t next_leaf; /* keys mostly come in the order of the fields */
	char *row;
	uint64_t line;
	uint64_t blank_line;
	const char *at, *end; /* of the line being read */
	char *text;	      /* the string read last */
	size_t text_len, text_size;
	char reason[256];
};

static bool wrong(struct jsonl_in *js, const char *reason)
{
	snprintf(js->reason, sizeof(js->reason), "%s", reason);
	return false;
}

static bool wrong_value(struct jsonl_in *js, const char *key, const char *text,
			size_t len, const char *reason)
{
	char shown[4 * 48 + 1];
	size_t n =
		cli_escape_bytes((const unsigned char *)text, len < 48 ? len : 48, shown);

	shown[n] = '\0';
	snprintf(js->reason, sizeof(js->reason), "key '%.60s': '%.100s%s' %s", key, shown,
		 len > 48 ? "..." : "", reason);
	return false;
}

static void skip_space(struct jsonl_in *js)
{
	while (js->at < js->end &&
	       (*js->at == ' ' || *js->at == '\t' || *js->at == '\r' || *js->at == '\n'))
		js->at++;
}

static bool take(struct jsonl_in *js, char c)
{
	skip_space(js);
	if (js->at == js->end || *js->at != c)
		return false;
	js->at++;
	return true;
}

static bool take_word(struct jsonl_in *js, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(js->end - js->at) < len || memcmp(js->at, word, len) != 0)
		return false;
	js->at += len;
	return true;
}

/* ---- Strings ---- */

static bool read_hex4(struct jsonl_in *js, uint32_t *out)
{
	*out = 0;
	if (js->end - js->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = *js->at++;
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0)
			return false;
		*out = *out << 4 | (uint32_t)digit;
	}
	return true;
}

/* Behind "\u": one code point, of two escapes when it is a surrogate pair. */
static bool read_code_point(struct jsonl_in *js)
{
	uint32_t code, low;

	if (!read_hex4(js, &code))
		return wrong(js, "a bad \\u escape");
	if (code >= 0xd800 && code < 0xdc00 && js->end - js->at >= 6 &&
	    js->at[0] == '\\' && js->at[1] == 'u') {
		const char *back = js->at;

		js->at += 2;
		if (!read_hex4(js, &low))
			return wrong(js, "a bad \\u escape");
		if (low >= 0xdc00 && low < 0xe000)
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		else
			js->at = back;
	}
	js->text_len += cli_utf8_put(code, (unsigned char *)js->text + js->text_len);
	return true;
}

static bool read_escape(struct jsonl_in *js)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char c;

	if (js->at == js->end)
		return wrong(js, "a string without end");
	c = *js->at++;
	if (c == 'u')
		return read_code_point(js);
	found = c ? strchr(from, c) : NULL;
	if (!found)
		return wrong(js, "an unknown escape in a string");
	js->text[js->text_len++] = to[found - from];
	return true;
}

static bool make_text_room(struct jsonl_in *js, size_t n)
{
	if (n > js->text_size) {
		char *grown = realloc(js->text, n);

		if (!grown)
			return wrong(js, "does not fit into memory");
		js->text = grown;
		js->text_size = n;
	}
	js->text_len = 0;
	return true;
}

/* The opening quote is behind us. */
static bool read_string(struct jsonl_in *js)
{
	/* no escape is shorter than the bytes that it stands for */
	if (!make_text_room(js, (size_t)(js->end - js->at) + 8))
		return false;
	while (js->at < js->end && *js->at != '"') {
		unsigned char c = (unsigned char)*js->at;
		size_t len = 1;

		if (c == '\\') {
			js->at++;
			if (!read_escape(js))
				return false;
			continue;
		}
		if (c < 0x20)
			return wrong(js, "a control character in a string");
		if (c >= 0x80)
			len = cli_utf8_length((const unsigned char *)js->at,
					      (size_t)(js->end - js->at));
		if (len == 0)
			return wrong(js, "a string is not UTF-8");
		memcpy(js->text + js->text_len, js->at, len);
		js->text_len += len;
		js->at += len;
	}
	return take(js, '"') || wrong(js, "a string without end");
}

/* ---- Values ---- */

static size_t digits_at(const char *at, const char *end)
{
	const char *first = at;

	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return (size_t)(at - first);
}

/* The length of the JSON number at js->at, or 0. */
static size_t number_length(const struct jsonl_in *js)
{
	const char *at = js->at, *end = js->end;
	size_t n;

	at += at < end && *at == '-';
	n = digits_at(at, end);
	if (n == 0 || (n > 1 && *at == '0'))
		return 0;
	at += n;
	if (at < end && *at == '.') {
		n = digits_at(at + 1, end);
		if (n == 0)
			return 0;
		at += n + 1;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		at += at < end && (*at == '-' || *at == '+');
		n = digits_at(at, end);
		if (n == 0)
			return 0;
		at += n;
	}
	return (size_t)(at - js->at);
}

static bool is_text_kind(enum tt_kind kind)
{
	return kind == TT_BYTES || kind == TT_STR || kind == TT_VOID ||
	       kind == TT_DATETIME || kind == TT_COMPLEX || kind == TT_TIMEDELTA;
}

static bool is_number_kind(enum tt_kind kind)
{
	return kind != TT_BYTES && kind != TT_STR && kind != TT_VOID;
}

static bool put_value(struct jsonl_in *js, const struct tt_leaf *leaf,
		      const struct cli_value *value, const char *text, size_t len,
		      char *out)
{
	const char *reason = value->parse(value, text, len, out);

	return !reason || wrong_value(js, leaf->name, text, len, reason);
}

static bool read_element(struct jsonl_in *js, const struct tt_leaf *leaf,
			 const struct cli_value *value, char *out)
{
	size_t len;

	skip_space(js);
	if (js->at == js->end)
		return wrong(js, "ends before its value");
	if (*js->at == '"') {
		js->at++;
		if (!read_string(js))
			return false;
		if (!is_text_kind(leaf->kind))
			return wrong_value(js, leaf->name, js->text, js->text_len,
					   "is a string, not a value of this field");
		return put_value(js, leaf, value, js->text, js->text_len, out);
	}
	if (take_word(js, "null"))
		return leaf->kind == TT_FLOAT ? put_value(js, leaf, value, "nan", 3, out)
					      : wrong_value(js, leaf->name, "null", 4,
							    "is no value of this field");
	for (int i = 0; i < 2; i++) {
		const char *word = i ? "true" : "false";

		if (take_word(js, word))
			return leaf->kind == TT_BOOL
				       ? put_value(js, leaf, value, word, strlen(word),
						   out)
				       : wrong_value(js, leaf->name, word, strlen(word),
						     "is no value of this field");
	}
	len = number_length(js);
	if (len == 0)
		return wrong_value(js, leaf->name, js->at, (size_t)(js->end - js->at),
				   "is no JSON value");
	js->at += len;
	if (!is_number_kind(leaf->kind))
		return wrong_value(js, leaf->name, js->at - len, len,
				   "is a number, not a string");
	return put_value(js, leaf, value, js->at - len, len, out);
}

static bool read_array(struct jsonl_in *js, const struct tt_leaf *leaf,
		       const struct cli_value *value, uint32_t depth, char **out)
{
	if (depth == leaf->rank) {
		if (!read_element(js, leaf, value, *out))
			return false;
		*out += leaf->size;
		return true;
	}
	if (!take(js, '['))
		return wrong_value(js, leaf->name, js->at, (size_t)(js->end - js->at),
				   "is no array of the field's shape");
	for (uint64_t i = 0; i < leaf->shape[depth]; i++) {
		if (i > 0 && !take(js, ','))
			return wrong_value(js, leaf->name, js->at, 0,
					   "an array that is too short");
		if (!read_array(js, leaf, value, depth + 1, out))
			return false;
	}
	return take(js, ']') ||
	       wrong_value(js, leaf->name, js->at, 0, "an array that is too long");
}

/* ---- Lines ---- */

/* The leaf that the string read last names; SIZE_MAX: none. */
static size_t find_leaf(struct jsonl_in *js)
{
	const struct tt_dtype *row = js->head.type->row;
	size_t count = tt_dtype_leaf_count(row);

	for (size_t i = 0; i < count; i++) {
		size_t at = (js->next_leaf + i) % count;
		const char *name = tt_dtype_leaf(row, at)->name;

		if (strlen(name) == js->text_len &&
		    memcmp(name, js->text, js->text_len) == 0) {
			js->next_leaf = at + 1;
			return at;
		}
	}
	return SIZE_MAX;
}

static bool read_member(struct jsonl_in *js)
{
	const struct tt_leaf *leaf;
	size_t at;
	char *out;

	if (!take(js, '"'))
		return wrong(js, "a key in quotes is missing");
	if (!read_string(js))
		return false;
	at = find_leaf(js);
	if (at == SIZE_MAX)
		return wrong_value(js, "", js->text, js->text_len, "is an unknown key");
	leaf = tt_dtype_leaf(js->head.type->row, at);
	if (js->seen[at])
		return wrong_value(js, leaf->name, leaf->name, strlen(leaf->name),
				   "is there twice");
	js->seen[at] = true;
	if (!take(js, ':'))
		return wrong(js, "':' is missing behind a key");
	out = js->row + leaf->offset;
	return read_array(js, leaf, &js->columns.values[at], 0, &out);
}

static bool read_object(struct jsonl_in *js)
{
	size_t count = tt_dtype_leaf_count(js->head.type->row);

	memset(js->seen, 0, count * sizeof(*js->seen));
	js->next_leaf = 0;
	if (!take(js, '{'))
		return wrong(js, "is no JSON object");
	if (!take(js, '}')) {
		do
			if (!read_member(js))
				return false;
		while (take(js, ','));
		if (!take(js, '}'))
			return wrong(js, "'}' is missing");
	}
	skip_space(js);
	if (js->at != js->end)
		return wrong(js, "something behind the object");
	for (size_t i = 0; i < count; i++)
		if (!js->seen[i])
			return wrong_value(js, tt_dtype_leaf(js->head.type->row, i)->name,
					   "", 0, "the key is missing");
	return true;
}

static int malformed(struct jsonl_in *js, uint64_t line, const char *reason)
{
	if (js->head.opts.skip_bad) {
		js->head.skipped++;
		return 0;
	}
	cli_fail(js->head.ctx, "%s: line %llu: %s", js->head.in->name,
		 (unsigned long long)line, reason);
	return -1;
}

/* 1 a row, 0 none, < 0 failed (said). */
static int take_line(struct jsonl_in *js, const char *line, size_t len)
{
	uint64_t number = js->line++;

	if (js->blank_line) {
		uint64_t blank = js->blank_line;

		js->blank_line = 0;
		if (malformed(js, blank, "is empty"))
			return -1;
	}
	if (len == 0 || (len == 1 && line[0] == '\r')) {
		js->blank_line = number;
		return 0;
	}
	js->at = line;
	js->end = line + len;
	return read_object(js) ? 1 : malformed(js, number, js->reason);
}

/* A line at hand, without its LF: the fill state otherwise. */
static enum cli_fill get_line(struct jsonl_in *js, bool wait, const char **line,
			      size_t *len)
{
	struct cli_in *in = js->head.in;
	size_t looked = 0;

	for (;;) {
		const char *from = in->buf + in->from;
		const char *lf = memchr(from + looked, '\n', cli_in_held(in) - looked);
		enum cli_fill fill;

		if (lf) {
			*line = from;
			*len = (size_t)(lf - from);
			in->from += *len + 1;
			return CLI_FILL_MORE;
		}
		looked = cli_in_held(in);
		fill = cli_in_fill(in, wait);
		if (fill == CLI_FILL_END && looked > 0) {
			*line = in->buf + in->from;
			*len = looked;
			in->from = in->to;
			return CLI_FILL_MORE;
		}
		if (fill != CLI_FILL_MORE)
			return fill;
	}
}

static int jsonl_next(struct cli_reader *reader, void *rows, uint64_t max, uint64_t *got)
{
	struct jsonl_in *js = (struct jsonl_in *)reader;
	size_t row_bytes = reader->type->bytes;

	while (*got < max) {
		const char *line;
		size_t len;
		enum cli_fill fill = get_line(js, *got == 0, &line, &len);
		int is_row;

		if (fill == CLI_FILL_FAILED)
			return CLI_EXIT_FAILED;
		if (fill != CLI_FILL_MORE)
			return 0;
		is_row = take_line(js, line, len);
		if (is_row < 0)
			return CLI_EXIT_FAILED;
		if (is_row > 0)
			memcpy((char *)rows + (*got)++ * row_bytes, js->row, row_bytes);
	}
	return 0;
}

static void jsonl_close(struct cli_reader *reader)
{
	struct jsonl_in *js = (struct jsonl_in *)reader;

	cli_columns_fini(&js->columns);
	free(js->seen);
	free(js->row);
	free(js->text);
	free(js);
}

static const struct cli_reader_ops jsonl_reader_ops = { jsonl_next, jsonl_close };

int cli_jsonl_reader(struct cli_reader **out, const struct cli_reader *head)
{
	struct jsonl_in *js = calloc(1, sizeof(*js));
	struct tt_error err;
	int status = 0;

	if (!js)
		return cli_fail_memory(head->ctx);
	js->head = *head;
	js->head.ops = &jsonl_reader_ops;
	js->line = 1;
	js->row = calloc(1, head->type->bytes);
	js->seen = calloc(tt_dtype_leaf_count(head->type->row) + 1, sizeof(*js->seen));
	if (!js->row || !js->seen)
		status = cli_fail_memory(head->ctx);
	else if (cli_columns_init(&js->columns, head->type->row, &err) < 0)
		status = cli_fail_error(head->ctx, &err);
	if (status)
		jsonl_close(&js->head);
	else
		*out = &js->head;
	return status;
}
