/* SPDX-License-Identifier: Apache-2.0 */
/* Setting a struct tt_error.  The frame that knows the path or the number sets the text;
 * callers add context with tti_fail_in() only if it tells the reader something new. */
#ifndef TTI_ERROR_H
#define TTI_ERROR_H

#include <stdarg.h>
#include "ticktail/error.h"
#include "base/compiler.h"

/* Set err (may be NULL) and return code.  errno is kept. */
int tti_fail(struct tt_error *err, int code, const char *fmt, ...) TTI_PRINTF(3, 4);
int tti_vfail(struct tt_error *err, int code, const char *fmt, va_list ap)
	TTI_PRINTF(3, 0);

/* "path: what: strerror(-code)"; what may be NULL. */
int tti_fail_sys(struct tt_error *err, int code, const char *path, const char *what);

/* Put "outer: " before the text that is there.  Returns code. */
int tti_fail_in(struct tt_error *err, int code, const char *fmt, ...) TTI_PRINTF(3, 4);

#endif
