/* SPDX-License-Identifier: Apache-2.0 */
/* Error texts.  Invariant: err->text is always terminated; a text that did not fit ends in
 * "...". */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/limits.h"

static void mark_cut(char *text, size_t size)
{
	memcpy(text + size - 4, "...", 4);
}

static void put_text(struct tt_error *err, const char *fmt, va_list ap) TTI_PRINTF(2, 0);
static void put_text(struct tt_error *err, const char *fmt, va_list ap)
{
	int n = vsnprintf(err->text, sizeof(err->text), fmt, ap);

	if (n < 0)
		strcpy(err->text, "(message could not be formatted)");
	else if ((size_t)n >= sizeof(err->text))
		mark_cut(err->text, sizeof(err->text));
}

int tti_vfail(struct tt_error *err, int code, const char *fmt, va_list ap)
{
	int saved = errno;

	if (err) {
		err->code = code;
		put_text(err, fmt, ap);
	}
	errno = saved;
	return code;
}

int tti_fail(struct tt_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tti_vfail(err, code, fmt, ap);
	va_end(ap);
	return code;
}

int tti_fail_sys(struct tt_error *err, int code, const char *path, const char *what)
{
	char words[160] = "";

	if (err)
		tti_limit_words(code, words, sizeof(words));
	if (words[0])
		return tti_fail(err, code, "%s: %s%s%s (%s)", path, what ? what : "",
				what ? ": " : "", tt_strerror(code), words);
	if (what)
		return tti_fail(err, code, "%s: %s: %s", path, what, tt_strerror(code));
	return tti_fail(err, code, "%s: %s", path, tt_strerror(code));
}

int tt_error_system(struct tt_error *err, int code, const char *path, const char *what)
{
	return tti_fail_sys(err, code, path, what);
}

int tti_fail_in(struct tt_error *err, int code, const char *fmt, ...)
{
	struct tt_error inner;
	va_list ap;
	size_t len;
	int saved = errno;

	if (!err)
		return code;
	inner = *err;
	va_start(ap, fmt);
	put_text(err, fmt, ap);
	va_end(ap);
	len = strlen(err->text);
	if (snprintf(err->text + len, sizeof(err->text) - len, ": %s", inner.text) >=
	    (int)(sizeof(err->text) - len))
		mark_cut(err->text, sizeof(err->text));
	err->code = code;
	errno = saved;
	return code;
}

static const char *const own_texts[] = {
	[-5001 - TT_E_DAMAGED] = "damaged",
	[-5001 - TT_E_FORMAT] = "not in a format that is understood",
	[-5001 - TT_E_DTYPE] = "element type refused",
	[-5001 - TT_E_FULL] = "no room for the rows",
	[-5001 - TT_E_BUSY] = "another writer holds the lock",
	[-5001 - TT_E_RANGE] = "out of range",
	[-5001 - TT_E_MISMATCH] = "it exists and differs",
	[-5001 - TT_E_SUPERSEDED] = "replaced by a newer copy",
	[-5001 - TT_E_TORN] = "rows kept changing while they were read",
	[-5001 - TT_E_TIMEOUT] = "timed out",
	[-5001 - TT_E_CHANGED] = "changed or was replaced meanwhile",
	[-5001 - TT_E_UNSUPPORTED] = "not supported",
	[-5001 - TT_E_MISUSE] = "call not allowed here",
};

const char *tt_strerror(int code)
{
	const char *text;

	if (code == TT_OK)
		return "success";
	if (code <= TT_E_DAMAGED && code > TT_E_DAMAGED - (int)TTI_LEN(own_texts))
		return own_texts[TT_E_DAMAGED - code];
	/* strerrordesc_np is thread safe and untranslated, strerror is neither */
	text = code < 0 ? strerrordesc_np(-code) : NULL;
	return text ? text : "unknown error";
}

const char *tt_version(void)
{
	return TT_VERSION;
}
