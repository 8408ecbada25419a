/* SPDX-License-Identifier: Apache-2.0 */
/* Names of datasets and versions: templates, defaults and what the layout cannot hold; the
 * texts of times.  Functions of their arguments only.  Rules: docs/FORMAT.md. */
#ifndef TTI_NAMES_H
#define TTI_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#define TTI_TIMESTAMP_TEXT 40 /* bytes that suffice for a timestamp or a version name */
#define TTI_FIRST_VERSION "__first_version__"
#define TTI_TEMPLATE_RING "{name}/%Y-%m-%d"
#define TTI_TEMPLATE_FILE "{name}"

/* The last component of path (no trailing slash) without ".npy": what {name} stands for.
 * malloc'ed; NULL when out of memory. */
char *tti_source_name(const char *real_path);

/* true when the template has a strftime field, so that a file needs a day. */
bool tti_template_has_time(const char *template);

/* Fill in a template: {name}, and strftime fields from the UTC time day_ns.  *out is
 * malloc'ed.  TT_E_RANGE when the result is no dataset name. */
int tti_template_expand(char **out, const char *template, const char *name,
			int64_t day_ns, struct tt_error *err);

/* TT_E_RANGE with the reason when the layout cannot hold a dataset (a version) of that name. */
int tti_check_dataset_name(const char *name, struct tt_error *err);
int tti_check_version_name(const char *name, struct tt_error *err);

/* "YYYY-MM-DD HH:MM:SS.ffffff+0000", as the layout stores it: compared as text.
 * "YYYY-MM-DDTHH:MM:SS.ffffffZ", the default name of a version. */
void tti_timestamp_text(char out[TTI_TIMESTAMP_TEXT], int64_t ns);
void tti_version_text(char out[TTI_TIMESTAMP_TEXT], int64_t ns);

/* Rows of a chunk when none are asked for; rows_now is what the first commit of the dataset
 * brings.  row_bytes >= 1. */
uint64_t tti_default_chunk_rows(uint64_t row_bytes, uint64_t rows_now);

#endif
