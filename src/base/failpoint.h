/* SPDX-License-Identifier: Apache-2.0 */
/* Places where the crash tests may kill the process.
 *
 * In the test build (TTI_FAILPOINTS) the environment variable TT_FAILPOINT=NAME[:N] sends
 * SIGKILL at the N-th passage (1 by default) of TTI_FAILPOINT("NAME"), and TT_FAILPOINT_LOG
 * names a file to which each passage's name is appended, so that a test can prove that every
 * name in the code is hit.  In every other build the macro is nothing. */
#ifndef TTI_FAILPOINT_H
#define TTI_FAILPOINT_H

#ifdef TTI_FAILPOINTS
void tti_failpoint(const char *name);
#define TTI_FAILPOINT(name) tti_failpoint(name)
#else
#define TTI_FAILPOINT(name) ((void)0)
#endif

#endif
