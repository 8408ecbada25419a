/* SPDX-License-Identifier: Apache-2.0 */
/* JSON documents of --json, built by json-c: keys keep their order, integers are exact. */
#ifndef CLI_JSON_DOC_H
#define CLI_JSON_DOC_H

#include <json-c/json.h>

#include "output.h"

typedef struct json_object cli_json; /* json_object of the library */

void cli_json_text(cli_json *object, const char *key, const char *text); /* NULL: null */
void cli_json_u64(cli_json *object, const char *key, uint64_t number);
void cli_json_i64(cli_json *object, const char *key, int64_t number);
void cli_json_bool(cli_json *object, const char *key, bool value);
void cli_json_null(cli_json *object, const char *key);
void cli_json_shape(cli_json *object, const char *key, const uint64_t *shape,
		    uint32_t rank);
/* The string of the header: '<f8' for a plain type, "[('ts', '<i8')]" else. */
void cli_json_dtype(cli_json *object, const char *key, const struct tt_dtype *dtype);
/* Print to stdout and drop it; an exit status. */
int cli_json_print(const struct cli_ctx *ctx, cli_json *document);

/* Versions of an archive as the array of "versions --json"; NULL: said, *status set. */
struct tt_archive;
cli_json *cli_json_versions(const struct cli_ctx *ctx, struct tt_archive *archive,
			    int *status);

#endif
