/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a JSON line, which is UTF-8, in two spellings that json-c reads each its way.
 *
 * Strict json-c 0.18 takes bytes above 0x7f for control characters and refuses them.  Every
 * version takes a surrogate pair of U+nD800 to U+nDFFF, n > 0, for half a pair, once it has
 * put it together, and makes U+FFFD of it. */
#ifndef CLI_JSON_TEXT_H
#define CLI_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* true when both spellings are the line as it is: ASCII without a backslash. */
bool cli_json_is_plain(const char *line, size_t n);

/* In ASCII: \uXXXX for each wide character.  out has room for three times n; returns the
 * length.  *lossy: it has pairs that json-c gets wrong. */
size_t cli_json_escape_wide(const char *line, size_t n, char *out, bool *lossy);

/* Such pairs as the characters that they mean, the rest as it is.  The line is JSON, so
 * backslashes are only in its strings.  out has room for n; returns the length. */
size_t cli_json_join_pairs(const char *line, size_t n, char *out);

#endif
