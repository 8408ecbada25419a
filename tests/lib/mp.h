/* SPDX-License-Identifier: Apache-2.0 */
/* Real processes in a test: actors are forked, meet at gates, and are waited for with a
 * deadline, so that nothing hangs and nothing sleeps for luck. */
#ifndef TEST_MP_H
#define TEST_MP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef int mp_actor(void *arg);

/* Run actor(arg) in a child process; what it returns becomes its exit status.  The child is
 * killed when the test's process dies. */
pid_t mp_spawn(mp_actor *actor, void *arg);

/* Wait for pid: its exit status, minus the signal that ended it, or -1000 when it had to be
 * killed after seconds. */
int mp_wait(pid_t pid, int seconds);

/* A gate in shared memory: made before the actors are spawned. */
struct mp_gate;
struct mp_gate *mp_gate_new(void);
void mp_gate_add(struct mp_gate *gate);				  /* one more has come */
bool mp_gate_wait(struct mp_gate *gate, uint32_t n, int seconds); /* until n have come */

/* Memory that the actors share, zeroed. */
void *mp_shared(size_t bytes);

/* Does a forked child come without mappings that asked for it?  A user-mode emulator may not
 * know MADV_DONTFORK; the child then keeps what the mapping keeps. */
bool mp_dontfork_works(void);

/* Become an unprivileged user; false when that is not possible (not root). */
bool mp_drop_root(void);

#endif
