/* SPDX-License-Identifier: Apache-2.0 */
/* The handler only stores; waits are interrupted (no SA_RESTART) and loops look at the flag. */
#include "signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* lock-free, so a handler may store it */
static atomic_int seen;

static void note_signal(int number)
{
	atomic_store_explicit(&seen, number, memory_order_relaxed);
}

/* SIGINT too where it was ignored, as for the background jobs of a script: whoever sends it
 * there means this process. */
void cli_signals_catch(void)
{
	struct sigaction action = { .sa_handler = note_signal };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

int cli_signals_seen(void)
{
	return atomic_load_explicit(&seen, memory_order_relaxed);
}

void cli_signals_die(void)
{
	int number = cli_signals_seen();

	if (number) {
		signal(number, SIG_DFL);
		raise(number);
	}
}
