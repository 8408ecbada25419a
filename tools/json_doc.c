/* SPDX-License-Identifier: Apache-2.0 */
/* JSON documents.  json-c refuses no text, so bytes that are no UTF-8 (paths) are escaped as
 * \xNN before. */
#include "json_doc.h"

#include <stdlib.h>
#include <string.h>

#include "value.h"

static cli_json *text_object(const char *text, size_t len)
{
	char *clean;
	cli_json *object;
	size_t n;

	if (cli_utf8_span(text, len) == len)
		return json_object_new_string_len(text, (int)len);
	clean = malloc(4 * len + 1);
	if (!clean)
		return NULL;
	n = cli_escape_bytes((const unsigned char *)text, len, clean);
	object = json_object_new_string_len(clean, (int)n);
	free(clean);
	return object;
}

void cli_json_text(cli_json *object, const char *key, const char *text)
{
	json_object_object_add(object, key,
			       text ? text_object(text, strlen(text)) : NULL);
}

void cli_json_u64(cli_json *object, const char *key, uint64_t number)
{
	json_object_object_add(object, key, json_object_new_uint64(number));
}

void cli_json_i64(cli_json *object, const char *key, int64_t number)
{
	json_object_object_add(object, key, json_object_new_int64(number));
}

void cli_json_bool(cli_json *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
}

void cli_json_null(cli_json *object, const char *key)
{
	json_object_object_add(object, key, NULL);
}

void cli_json_shape(cli_json *object, const char *key, const uint64_t *shape,
		    uint32_t rank)
{
	cli_json *array = json_object_new_array();

	for (uint32_t i = 0; i < rank; i++)
		json_object_array_add(array, json_object_new_uint64(shape[i]));
	json_object_object_add(object, key, array);
}

static void descr_text(const struct tt_dtype *dtype, const char **text, size_t *len)
{
	*text = tt_dtype_descr(dtype);
	*len = strlen(*text);
	if (*len >= 2 && **text == '\'') {
		++*text;
		*len -= 2;
	}
}

void cli_json_dtype(cli_json *object, const char *key, const struct tt_dtype *dtype)
{
	const char *text;
	size_t len;

	descr_text(dtype, &text, &len);
	json_object_object_add(object, key, text_object(text, len));
}

int cli_json_print(const struct cli_ctx *ctx, cli_json *document)
{
	const char *text = json_object_to_json_string_ext(
		document, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
	struct cli_out out;
	int status;

	if (!text) {
		json_object_put(document);
		return cli_fail_memory(ctx);
	}
	status = cli_out_open(&out, ctx, NULL);
	if (status == 0) {
		cli_out_put(&out, text, strlen(text));
		cli_out_put(&out, "\n", 1);
		status = cli_out_close(&out);
	}
	json_object_put(document);
	return status;
}
