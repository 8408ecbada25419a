/* SPDX-License-Identifier: Apache-2.0 */
/* Options of live files: two words or a number. */
#include "live_opts.h"

#include <string.h>

static bool word_or_number(const struct cli_ctx *ctx, const char *name, const char *never,
			   int64_t never_value, int64_t *out)
{
	const char *text = cli_opt_text(ctx, name);
	uint64_t number;

	if (!text)
		return true;
	if (strcmp(text, never) == 0) {
		*out = never_value;
	} else if (strcmp(text, "each") == 0) {
		*out = 0;
	} else if (cli_parse_count(text, &number) && number > 0 &&
		   number < INT64_MAX / 1000000) {
		*out = (int64_t)number;
	} else {
		cli_usage(ctx, "--%s: '%s' is neither %s, each, nor a number above 0",
			  name, text, never);
		return false;
	}
	return true;
}

bool cli_opt_sync(const struct cli_ctx *ctx, int64_t *sync_ms)
{
	return word_or_number(ctx, "sync", "none", TT_SYNC_NONE, sync_ms);
}

bool cli_opt_wake(const struct cli_ctx *ctx, int64_t *wake_us)
{
	return word_or_number(ctx, "wake", "never", TT_WAKE_NEVER, wake_us);
}
