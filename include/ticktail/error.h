/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of ticktail.
 *
 * Every call that can fail returns an int: TT_OK (0), a negated errno (-1..-4095) or one
 * of the TT_E_ codes below.  Calls outside the hot path also take a struct tt_error, owned
 * by the caller, which may be NULL and is written only on failure.  The text names the
 * path and the value and says what to do; it needs no allocation, so running out of memory
 * can be reported too.
 *
 * Threads: no state is shared; a struct tt_error belongs to one thread at a time. */
#ifndef TICKTAIL_ERROR_H
#define TICKTAIL_ERROR_H

#include <stdint.h>

#if defined(__GNUC__)
#define TT_API __attribute__((visibility("default")))
#else
#define TT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
	TT_OK = 0,
	TT_E_DAMAGED = -5001, /* a file breaks an invariant of its format */
	TT_E_FORMAT = -5002, /* not a file of the expected format, or one not supported */
	TT_E_DTYPE = -5003,  /* an element type that is unknown or refused */
	TT_E_FULL = -5004,   /* no room for the rows; none of them was appended */
	TT_E_BUSY = -5005,   /* another process holds the writer lock */
	TT_E_RANGE = -5006,  /* an index, count or size outside what is possible */
	TT_E_MISMATCH = -5007, /* it exists, with another type, capacity or content */
	TT_E_SUPERSEDED =
		-5008,	      /* the file was replaced by a copy; open the path again */
	TT_E_TORN = -5009,    /* rows kept changing while they were read */
	TT_E_TIMEOUT = -5010, /* the time allowed has passed */
	TT_E_CHANGED = -5011, /* another file stands in its place, or a source changed */
	TT_E_UNSUPPORTED = -5012, /* legal, but not something this build or file can do */
	TT_E_MISUSE = -5013,	  /* a call that the handle does not allow */
};

/* Long texts end in "...". */
struct tt_error {
	int code;
	char text[512];
};

/* Words for a code, without a path; never NULL, valid for ever. */
TT_API const char *tt_strerror(int code);

/* One word for the kind of an error, for programs that watch: "DISK_FULL" (no space or no
 * quota), "IO_ERROR", "TOO_MANY_FILES", "NO_MEMORY", "READ_ONLY", "PERMISSION", "DAMAGED",
 * "BUSY", ...; "OTHER" for the rest.  Never NULL, valid for ever; a word once given for a
 * code stays. */
TT_API const char *tt_error_tag(int code);

/* For what a program does itself, in the words of the library: sets err (may be NULL) to "PATH:
 * WHAT: words" for the negated errno code, and where a limit was met (ulimit, sysctl, quota)
 * which one, where it stands and how it is raised.  what may be NULL.  Returns code. */
TT_API int tt_error_system(struct tt_error *err, int code, const char *path,
			   const char *what);
/* The same after fd, a file or its directory, had no room for needed more bytes: names the
 * file system and what is free on it.  Other codes: as tt_error_system(). */
TT_API int tt_error_space(struct tt_error *err, int code, const char *path, int fd,
			  uint64_t needed);

/* The version of the library, for example "0.1.0". */
TT_API const char *tt_version(void);

#ifdef __cplusplus
}
#endif
#endif
