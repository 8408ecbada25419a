/* SPDX-License-Identifier: Apache-2.0 */
/* SIGBUS turned into a return.  A library must not take a process's signals, a program may.
 * Invariant: the place to return to is set only while a guarded call runs; a fault anywhere
 * else ends the process as before. */
#include "guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* lock-free, so a handler may touch it */
static atomic_bool guarding;
static sigjmp_buf place;

static void on_fault(int number)
{
	if (atomic_exchange(&guarding, false))
		siglongjmp(place, 1);
	signal(number, SIG_DFL); /* the same load faults again */
}

static void install(void)
{
	/* NODEFER: a jump out of the handler leaves no blocked signal behind */
	struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

int cli_guarded(cli_guarded_fn *fn, void *arg)
{
	static atomic_bool installed;
	int rc;

	if (!atomic_exchange(&installed, true))
		install();
	if (sigsetjmp(place, 0))
		return CLI_CUT;
	atomic_store(&guarding, true);
	rc = fn(arg);
	atomic_store(&guarding, false);
	return rc;
}
