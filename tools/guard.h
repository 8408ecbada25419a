/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that look into mapped files, made safe against programs that cut them. */
#ifndef CLI_GUARD_H
#define CLI_GUARD_H

typedef int cli_guarded_fn(void *arg);

/* What a call gives when the file was cut under it; no code of the library. */
#define CLI_CUT (-100000)

/* fn(arg), or CLI_CUT when it touched a page of a mapping that its file no longer has.  fn must
 * not hold what only it would give back: it may be left at any load. */
int cli_guarded(cli_guarded_fn *fn, void *arg);

#endif
