/* SPDX-License-Identifier: Apache-2.0 */
/* SIGBUS turned into a return.  A library must not take a process's signals, a program may.
 * Invariant: the place to return to is set only while a guarded call runs; a fault anywhere
 * else ends the process as before. */
#include "guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static sigjmp_buf place;
static volatile sig_atomic_t guarding;

static void on_fault(int number)
{
	if (guarding) {
		guarding = 0;
		siglongjmp(place, 1);
	}
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
	static volatile sig_atomic_t installed;
	int rc;

	if (!installed) {
		install();
		installed = 1;
	}
	if (sigsetjmp(place, 0))
		return CLI_CUT;
	guarding = 1;
	rc = fn(arg);
	guarding = 0;
	return rc;
}
