/* SPDX-License-Identifier: Apache-2.0 */
/* One element of a row as text and back.  The functions are looked up once a column, so that
 * a row costs one indirect call a value.  Bytes in rows may be unaligned and of either order. */
#ifndef CLI_VALUE_H
#define CLI_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ticktail/dtype.h>

struct cli_value;

/* Read text[0..len) into the element at out; NULL, or what is wrong with it in words. */
typedef const char *cli_parse_fn(const struct cli_value *value, const char *text,
				 size_t len, void *out);
/* Write the element's text, not terminated; its length, at most value->text_max. */
typedef size_t cli_print_fn(const struct cli_value *value, const void *in, char *out);

struct cli_value {
	cli_parse_fn *parse;
	cli_print_fn *print;
	enum tt_kind kind;
	bool swap; /* big-endian */
	enum tt_unit unit;
	uint32_t unit_step;
	size_t size;
	size_t text_max;
};

void cli_value_init(struct cli_value *value, const struct tt_leaf *leaf);
cli_parse_fn *cli_value_parser(const struct tt_leaf *leaf);

/* Bytes of an element in host order and back; size 1, 2, 4, 8 (16 for f16). */
void cli_load(const struct cli_value *value, const void *in, void *out, size_t size);
void cli_store(const struct cli_value *value, const void *in, void *out, size_t size);

/* Shortest text that reads back as the same number, each in its own precision. */
size_t cli_print_double(double number, char *out);
size_t cli_print_float(float number, char *out);
size_t cli_print_half(uint16_t bits, char *out);
size_t cli_print_long_double(long double number, char *out);
#define CLI_FLOAT_TEXT 64

/* NULL or what is wrong; text need not be terminated. */
const char *cli_parse_double(const char *text, size_t len, double *out);
const char *cli_parse_float(const char *text, size_t len, float *out);
const char *cli_parse_half(const char *text, size_t len, uint16_t *out);
const char *cli_parse_long_double(const char *text, size_t len, long double *out);

/* IEEE 754 binary16. */
double cli_half_to_double(uint16_t bits);

/* What a hexadecimal digit stands for, or -1. */
int cli_hex_digit(char c);
/* Escapes: what is no text stands as \xNN. */
size_t cli_escape_bytes(const unsigned char *in, size_t n, char *out);
/* A value for a message: one line of printable text, cut when long; returns out. */
#define CLI_SHOWN 104
const char *cli_show(const char *text, size_t len, char out[CLI_SHOWN]);
/* Into at most size bytes (NUL behind); SIZE_MAX when it does not fit. */
size_t cli_unescape(const char *text, size_t len, unsigned char *out, size_t size);
/* Length of the UTF-8 sequence at text that is one code point as RFC 3629 has it, or 0. */
size_t cli_utf8_length(const unsigned char *text, size_t n);
size_t cli_utf8_span(const char *text, size_t n); /* bytes before one that is no UTF-8 */
/* Any 32-bit number as UTF-8 would go on to write it (at most 7 bytes) and back; the length
 * used, or 0. */
size_t cli_utf8_put(uint32_t code, unsigned char *out);
size_t cli_utf8_get(const unsigned char *text, size_t n, uint32_t *out);

#endif
