/* SPDX-License-Identifier: Apache-2.0 */
/* The list of guarded descriptors, and the fork handlers that close them in the child.
 * Invariant: the list is consistent at every fork, because fork waits for its mutex. */
#include "live/fork_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>
#include "ticktail/error.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct tti_fork_guard *head;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int install_code;

static void before_fork(void)
{
	pthread_mutex_lock(&mutex);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&mutex);
}

static void after_fork_in_child(void)
{
	for (struct tti_fork_guard *guard = head; guard; guard = guard->next) {
		if (*guard->fd >= 0)
			close(*guard->fd);
		*guard->fd = -1;
	}
	pthread_mutex_unlock(&mutex);
}

static void install(void)
{
	install_code =
		-pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int tti_fork_guard_add(struct tti_fork_guard *guard, int *fd)
{
	pthread_once(&once, install);
	if (install_code < 0)
		return install_code;
	pthread_mutex_lock(&mutex);
	*guard = (struct tti_fork_guard){ .prev = NULL, .next = head, .fd = fd };
	if (head)
		head->prev = guard;
	head = guard;
	pthread_mutex_unlock(&mutex);
	return TT_OK;
}

void tti_fork_guard_remove(struct tti_fork_guard *guard)
{
	if (!guard->fd)
		return;
	pthread_mutex_lock(&mutex);
	if (guard->prev)
		guard->prev->next = guard->next;
	else
		head = guard->next;
	if (guard->next)
		guard->next->prev = guard->prev;
	*guard = (struct tti_fork_guard){ NULL, NULL, NULL };
	pthread_mutex_unlock(&mutex);
}
