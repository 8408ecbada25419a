/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines to rows.  json-c reads a line, the value readers of CSV take the text of its
 * numbers and strings, so that every digit counts.  Invariant: a line is one object with just
 * the keys of the row, and no value of it was changed to fit. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "json_doc.h"
#include "json_text.h"

/* An object, the arrays of a leaf, and some more: what is too deep by a little is refused with
 * the name of its key. */
enum { DEPTH = TT_MAX_RANK + 8 };

struct jsonl_in {
	struct cli_reader head;
	struct cli_columns columns;
	struct json_tokener *tokener; /* NULL after a failure, see read_json() */
	char *text;		      /* the line spelled for json-c, see read_text() */
	size_t text_room;
	bool extreme; /* the line has an integer at an end of json-c's range */
	char *row;
	uint64_t line;
	uint64_t blank_line;
	char reason[256];
};

/* Where the next element goes. */
struct place {
	const struct tt_leaf *leaf;
	const struct cli_value *value;
	char *out;
};

static bool wrong(struct jsonl_in *js, const char *reason)
{
	snprintf(js->reason, sizeof(js->reason), "%s", reason);
	return false;
}

static bool wrong_value(struct jsonl_in *js, const char *key, const char *text,
			size_t len, const char *reason)
{
	char shown[CLI_SHOWN];

	snprintf(js->reason, sizeof(js->reason), "key '%.60s': '%s' %s", key,
		 cli_show(text, len, shown), reason);
	return false;
}

static bool wrong_key(struct jsonl_in *js, const char *key, const char *reason)
{
	snprintf(js->reason, sizeof(js->reason), "key '%.60s' %s", key, reason);
	return false;
}

/* ---- Values ---- */

static bool put_text(struct jsonl_in *js, const struct place *place, const char *text,
		     size_t len)
{
	const char *reason = place->value->parse(place->value, text, len, place->out);

	return !reason || wrong_value(js, place->leaf->name, text, len, reason);
}

static bool is_text_kind(enum tt_kind kind)
{
	return kind == TT_BYTES || kind == TT_STR || kind == TT_VOID;
}

static bool put_string(struct jsonl_in *js, const struct place *place, cli_json *item)
{
	enum tt_kind kind = place->leaf->kind;
	const char *text = json_object_get_string(item);
	size_t len = (size_t)json_object_get_string_len(item);

	if (is_text_kind(kind) || kind == TT_DATETIME || kind == TT_TIMEDELTA ||
	    kind == TT_COMPLEX)
		return put_text(js, place, text, len);
	return wrong_value(js, place->leaf->name, text, len,
			   "is a string, not a value of this field");
}

static bool put_number(struct jsonl_in *js, const struct place *place, const char *text,
		       size_t len)
{
	if (is_text_kind(place->leaf->kind))
		return wrong_value(js, place->leaf->name, text, len,
				   "is a number, not a string");
	return put_text(js, place, text, len);
}

static bool put_integer(struct jsonl_in *js, const struct place *place, cli_json *item)
{
	int64_t number = json_object_get_int64(item);
	uint64_t count = number < 0 ? 0 : json_object_get_uint64(item);
	char text[24];
	int len = number < 0 ? snprintf(text, sizeof(text), "%" PRId64, number)
			     : snprintf(text, sizeof(text), "%" PRIu64, count);

	js->extreme |= number == INT64_MIN || count == UINT64_MAX;
	return put_number(js, place, text, (size_t)len);
}

/* json-c keeps the text of the line, and knows words that JSON has not. */
static bool put_float(struct jsonl_in *js, const struct place *place, cli_json *item)
{
	const char *text = json_object_get_string(item);

	if (!text)
		return wrong(js, "does not fit into memory");
	if (strpbrk(text, "NI"))
		return wrong_value(js, place->leaf->name, text, strlen(text),
				   "is no JSON value (null is NaN)");
	return put_number(js, place, text, strlen(text));
}

/* A value that only one kind has. */
static bool put_word(struct jsonl_in *js, const struct place *place, enum tt_kind kind,
		     const char *word)
{
	if (place->leaf->kind != kind)
		return wrong_value(js, place->leaf->name, word, strlen(word),
				   "is no value of this field");
	if (kind == TT_FLOAT)
		word = "nan";
	return put_text(js, place, word, strlen(word));
}

static bool put_element(struct jsonl_in *js, const struct place *place, cli_json *item)
{
	switch (json_object_get_type(item)) {
	case json_type_null: return put_word(js, place, TT_FLOAT, "null");
	case json_type_boolean:
		return put_word(js, place, TT_BOOL,
				json_object_get_boolean(item) ? "true" : "false");
	case json_type_int: return put_integer(js, place, item);
	case json_type_double: return put_float(js, place, item);
	case json_type_string: return put_string(js, place, item);
	default:
		return wrong_key(js, place->leaf->name,
				 "holds an object or array instead of a value");
	}
}

/* The sub-array of one leaf from the given depth on; the place moves behind it. */
static bool put_array(struct jsonl_in *js, struct place *place, uint32_t depth,
		      cli_json *item)
{
	const struct tt_leaf *leaf = place->leaf;

	if (depth == leaf->rank) {
		if (!put_element(js, place, item))
			return false;
		place->out += leaf->size;
		return true;
	}
	if (!json_object_is_type(item, json_type_array))
		return wrong_key(js, leaf->name, "holds no array of the field's shape");
	if (json_object_array_length(item) != leaf->shape[depth])
		return wrong_key(js, leaf->name,
				 json_object_array_length(item) < leaf->shape[depth]
					 ? "holds an array that is too short"
					 : "holds an array that is too long");
	for (size_t i = 0; i < leaf->shape[depth]; i++)
		if (!put_array(js, place, depth + 1, json_object_array_get_idx(item, i)))
			return false;
	return true;
}

/* ---- Objects ---- */

/* The keys are not those of the row: an unknown one explains more than a missing one. */
static bool wrong_keys(struct jsonl_in *js, cli_json *object, const char *missing)
{
	struct json_object_iterator at = json_object_iter_begin(object);
	struct json_object_iterator end = json_object_iter_end(object);

	for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
		const char *key = json_object_iter_peek_name(&at);

		if (!cli_find_leaf(js->head.type->row, key)) {
			char shown[CLI_SHOWN];

			snprintf(js->reason, sizeof(js->reason), "key '%s' is unknown",
				 cli_show(key, strlen(key), shown));
			return false;
		}
	}
	return missing ? wrong_key(js, missing, "is missing")
		       : wrong(js, "one key is the name of two fields");
}

static bool put_object(struct jsonl_in *js, cli_json *object)
{
	const struct tt_dtype *row = js->head.type->row;
	size_t count = tt_dtype_leaf_count(row);

	if (!json_object_is_type(object, json_type_object))
		return wrong(js, "is no JSON object");
	for (size_t i = 0; i < count; i++) {
		const struct tt_leaf *leaf = tt_dtype_leaf(row, i);
		struct place place = { leaf, &js->columns.values[i],
				       js->row + leaf->offset };
		cli_json *item;

		if (!json_object_object_get_ex(object, leaf->name, &item))
			return wrong_keys(js, object, leaf->name);
		if (!put_array(js, &place, 0, item))
			return false;
	}
	return (size_t)json_object_object_length(object) == count ||
	       wrong_keys(js, object, NULL);
}

/* ---- Lines ---- */

/* Whether a line that json-c has taken holds an integer of more than 64 bits: before 0.17 it
 * gives the nearest one that it has instead.  The object's '}' ends every run. */
static bool has_wide_integer(const char *at, const char *end)
{
	char quote = 0;
	size_t n;

	for (; at < end; at += n) {
		n = 1;
		if (quote) {
			if (*at == '\\')
				n = 2;
			else if (*at == quote)
				quote = 0;
		} else if (*at == '"' || *at == '\'') {
			quote = *at;
		} else if (*at == '-' || (*at >= '0' && *at <= '9')) {
			n = strspn(at, "-+.0123456789eE");
			errno = 0;
			if (*at == '-')
				strtoll(at, NULL, 10);
			else
				strtoull(at, NULL, 10);
			if (errno == ERANGE && strspn(at, "-0123456789") == n)
				return true;
		}
	}
	return false;
}

/* Why json-c did not take the line; 0, or < 0 when that is no matter of the line (said). */
static int refused(struct jsonl_in *js, enum json_tokener_error error, size_t at)
{
	/* behind the errors of the text come those of size and memory */
	if (error > json_tokener_error_parse_utf8_string) {
		cli_fail_memory(js->head.ctx);
		return -1;
	}
	if (error == json_tokener_continue)
		wrong(js, "is no whole JSON object: ends too early");
	else
		snprintf(js->reason, sizeof(js->reason), "is no JSON: %s at byte %zu",
			 error == json_tokener_success ? "unexpected character"
						       : json_tokener_error_desc(error),
			 at + 1);
	return 0;
}

/* 1 the document, 0 the line has none (js->reason), < 0 failed (said). */
static int read_json(struct jsonl_in *js, const char *line, size_t len, int flags,
		     cli_json **out)
{
	enum json_tokener_error error;
	size_t end;

	if (!js->tokener) {
		js->tokener = json_tokener_new_ex(DEPTH);
		if (!js->tokener) {
			cli_fail_memory(js->head.ctx);
			return -1;
		}
	}
	json_tokener_set_flags(js->tokener, flags);
	*out = json_tokener_parse_ex(js->tokener, line, (int)len);
	error = json_tokener_get_error(js->tokener);
	end = json_tokener_get_parse_end(js->tokener);
	if (error == json_tokener_success && end == len)
		return 1;
	json_object_put(*out);
	/* json_tokener_reset() would keep half a surrogate pair for the next line */
	json_tokener_free(js->tokener);
	js->tokener = NULL;
	return refused(js, error, end);
}

/* false: no memory (said). */
static bool reserve_text(struct jsonl_in *js, size_t len)
{
	char *more;

	if (js->text_room >= len)
		return true;
	more = realloc(js->text, len);
	if (!more) {
		cli_fail_memory(js->head.ctx);
		return false;
	}
	js->text = more;
	js->text_room = len;
	return true;
}

/* As read_json(), of a line of any characters: the strict reading says whether it is JSON, and
 * where that does not get each character right, another has the values. */
static int read_text(struct jsonl_in *js, const char *line, size_t len, cli_json **out)
{
	bool lossy;
	size_t n;
	int rc;

	if (cli_json_is_plain(line, len))
		return read_json(js, line, len, JSON_TOKENER_STRICT, out);
	if (!reserve_text(js, 3 * len))
		return -1;
	n = cli_json_escape_wide(line, len, js->text, &lossy);
	rc = read_json(js, js->text, n, JSON_TOKENER_STRICT, out);
	if (rc <= 0 || !lossy)
		return rc;
	json_object_put(*out);
	n = cli_json_join_pairs(line, len, js->text);
	return read_json(js, js->text, n, 0, out);
}

/* 1 a row in js->row, 0 malformed (js->reason), < 0 failed (said). */
static int read_line(struct jsonl_in *js, const char *line, size_t len)
{
	cli_json *object;
	bool good;
	int rc;

	if (len > INT_MAX / 3)
		return wrong(js, "is longer than 682 MiB");
	/* json-c's own check passes surrogates and forms that are too long */
	if (cli_utf8_span(line, len) < len)
		return wrong(js, "is not UTF-8");
	rc = read_text(js, line, len, &object);
	if (rc <= 0)
		return rc;
	js->extreme = false;
	good = put_object(js, object);
	json_object_put(object);
	if (good && js->extreme && has_wide_integer(line, line + len))
		return wrong(js, "an integer of more than 64 bits is out of range");
	return good;
}

static int malformed(struct jsonl_in *js, uint64_t line, const char *reason)
{
	return cli_reader_malformed(&js->head, line, reason, true);
}

/* 1 a row, 0 none, < 0 failed (said). */
static int take_line(struct jsonl_in *js, const char *line, size_t len)
{
	uint64_t number = js->line++;
	int is_row;

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
	is_row = read_line(js, line, len);
	return is_row != 0 ? is_row : malformed(js, number, js->reason);
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
	if (js->tokener)
		json_tokener_free(js->tokener);
	free(js->text);
	free(js->row);
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
	if (!js->row)
		status = cli_fail_memory(head->ctx);
	else if (cli_columns_init(&js->columns, head->type->row, &err) < 0)
		status = cli_fail_error(head->ctx, &err);
	if (status)
		jsonl_close(&js->head);
	else
		*out = &js->head;
	return status;
}
