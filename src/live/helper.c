/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of duties, the life of both threads, and the helper's loop.
 * Invariant: with duties on the list both threads run, or the duties' appends attend always;
 * without any they have ended. */
#include "live/helper.h"

#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/num.h"
#include "live/futex.h"
#include "ticktail/error.h"

#define STACK_BYTES (256u << 10)
#define FOREVER_NS (INT64_C(3600) * 1000000000)

struct tti_crew tti_crew_state = { .mutex = PTHREAD_MUTEX_INITIALIZER,
				   .free = PTHREAD_COND_INITIALIZER,
				   .number = 1 };

/* Held while threads start or end; taken before the registry's mutex. */
static pthread_mutex_t life_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- fork ---- */

/* The child has no threads of ours and takes none of the parent's locks: it starts with an
 * empty registry, and duties of the parent belong to a crew that is not its own. */
static void after_fork_in_child(void)
{
	uint64_t number = tti_crew_state.number;

	memset(&tti_crew_state, 0, sizeof(tti_crew_state));
	pthread_mutex_init(&tti_crew_state.mutex, NULL);
	pthread_cond_init(&tti_crew_state.free, NULL);
	pthread_mutex_init(&life_mutex, NULL);
	tti_crew_state.number = number + 1;
}

static void install(void)
{
	pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* ---- words ---- */

static uint32_t load_word(const _Atomic(uint32_t) *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

static void bump(_Atomic(uint32_t) *word)
{
	atomic_fetch_add_explicit(word, 1, memory_order_acq_rel);
	tti_futex_wake((const uint32_t *)(const void *)word);
}

void tti_pulse_wake(void)
{
	bump(&tti_crew_state.pulse_word);
}

void tti_crew_kick(struct tti_crew *crew)
{
	bump(&crew->helper_word);
}

void tti_crew_lock(void)
{
	pthread_mutex_lock(&tti_crew_state.mutex);
}

void tti_crew_unlock(void)
{
	pthread_mutex_unlock(&tti_crew_state.mutex);
}

/* The pulse holds the mutex through each pass. */
void tti_crew_pass(void)
{
	tti_crew_lock();
	tti_crew_unlock();
}

/* ---- claims ---- */

static long membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

void tti_crew_barrier(const struct tti_crew *crew)
{
	if (crew->has_barrier)
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

static const uint32_t *attention_futex(const struct tti_duty *duty)
{
	return (const uint32_t *)(const void *)&duty->attention;
}

bool tti_duty_claim(struct tti_duty *duty)
{
	if (!tti_crew_state.has_barrier)
		return false;
	tti_attend(duty, TTI_ATTEND_CLAIMED);
	/* a turn that began before this is seen below; a later one sees the claim */
	if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0 &&
	    atomic_load_explicit(&duty->turn, memory_order_acquire) == 0)
		return true;
	tti_duty_unclaim(duty);
	return false;
}

void tti_duty_unclaim(struct tti_duty *duty)
{
	tti_attended(duty, TTI_ATTEND_CLAIMED);
	tti_futex_wake(attention_futex(duty));
}

void tti_turn_wait(struct tti_duty *duty)
{
	for (;;) {
		uint32_t seen = load_word(&duty->attention);

		if (!(seen & TTI_ATTEND_CLAIMED))
			return;
		tti_futex_wait(attention_futex(duty), seen, FOREVER_NS);
	}
}

/* ---- the helper ---- */

void tti_crew_settle(const struct tti_crew *crew, const char *name)
{
	prctl(PR_SET_NAME, name);
	if (crew->nice) /* of this thread alone; not to be allowed is no error */
		setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), crew->nice);
}

/* The first that was kicked; it goes to the end of the list, so that all get their turn. */
static struct tti_duty *next_kicked(struct tti_crew *crew)
{
	struct tti_duty *duty = crew->first;

	if (atomic_load_explicit(&crew->helper_paused, memory_order_relaxed))
		return NULL;
	while (duty && !duty->kicked)
		duty = duty->next;
	return duty;
}

static void unlink_duty(struct tti_crew *crew, struct tti_duty *duty)
{
	if (duty->prev)
		duty->prev->next = duty->next;
	else
		crew->first = duty->next;
	if (duty->next)
		duty->next->prev = duty->prev;
	else
		crew->last = duty->prev;
	duty->prev = duty->next = NULL;
}

static void link_last(struct tti_crew *crew, struct tti_duty *duty)
{
	duty->prev = crew->last;
	duty->next = NULL;
	if (crew->last)
		crew->last->next = duty;
	else
		crew->first = duty;
	crew->last = duty;
}

static void visit(struct tti_crew *crew, struct tti_duty *duty)
{
	duty->kicked = false;
	unlink_duty(crew, duty);
	link_last(crew, duty);
	crew->visited = duty;
	pthread_mutex_unlock(&crew->mutex);
	pthread_mutex_lock(&duty->work_mutex);
	duty->ops->work(duty);
	pthread_mutex_unlock(&duty->work_mutex);
	pthread_mutex_lock(&crew->mutex);
	crew->visited = NULL;
	pthread_cond_broadcast(&crew->free);
}

static void *helper_main(void *arg)
{
	struct tti_crew *crew = arg;

	tti_crew_settle(crew, "tt-helper");
	pthread_mutex_lock(&crew->mutex);
	while (!crew->stopping) {
		uint32_t seen = load_word(&crew->helper_word);
		struct tti_duty *duty = next_kicked(crew);

		if (duty) {
			visit(crew, duty);
			continue;
		}
		pthread_mutex_unlock(&crew->mutex);
		tti_futex_wait((const uint32_t *)(const void *)&crew->helper_word, seen,
			       FOREVER_NS);
		pthread_mutex_lock(&crew->mutex);
	}
	pthread_mutex_unlock(&crew->mutex);
	return NULL;
}

/* ---- starting and ending ---- */

#define ANY_CPU -1

/* The processors of the process's main thread, without the one that the creator is pinned to:
 * there a spinning feed would leave no room. */
static void choose_cpus(pthread_attr_t *attr, int cpu)
{
	cpu_set_t cpus, mine;

	if (cpu >= 0 && cpu < CPU_SETSIZE) {
		CPU_ZERO(&cpus);
		CPU_SET(cpu, &cpus);
	} else {
		if (sched_getaffinity(getpid(), sizeof(cpus), &cpus) < 0 ||
		    sched_getaffinity(0, sizeof(mine), &mine) < 0)
			return;
		if (CPU_COUNT(&mine) == 1 && CPU_COUNT(&cpus) > 1)
			for (int i = 0; i < CPU_SETSIZE; i++)
				if (CPU_ISSET(i, &mine))
					CPU_CLR(i, &cpus);
	}
	pthread_attr_setaffinity_np(attr, sizeof(cpus), &cpus);
}

/* Never the creator's real-time policy: it would be inherited. */
static int make_attr(pthread_attr_t *attr, int cpu)
{
	const struct sched_param plain = { 0 };
	int rc = pthread_attr_init(attr);

	if (rc)
		return rc;
	pthread_attr_setstacksize(attr,
				  tti_max_u64(STACK_BYTES, (uint64_t)PTHREAD_STACK_MIN));
	pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(attr, SCHED_OTHER);
	pthread_attr_setschedparam(attr, &plain);
	choose_cpus(attr, cpu);
	return 0;
}

/* A processor that is not there any more, or not ours, is no reason to have no thread, nor one that
 * runs as the feed does. */
static int create(pthread_t *out, const pthread_attr_t *attr, void *(*main)(void *))
{
	pthread_attr_t any;
	int rc = pthread_create(out, attr, main, &tti_crew_state);

	if (rc != EINVAL || make_attr(&any, ANY_CPU) != 0)
		return rc;
	rc = pthread_create(out, &any, main, &tti_crew_state);
	pthread_attr_destroy(&any);
	return rc;
}

static void end_threads(struct tti_crew *crew, bool helper_runs)
{
	pthread_mutex_lock(&crew->mutex);
	crew->stopping = true;
	pthread_mutex_unlock(&crew->mutex);
	tti_pulse_wake();
	tti_crew_kick(crew);
	pthread_join(crew->pulse, NULL);
	if (helper_runs)
		pthread_join(crew->helper, NULL);
	crew->running = crew->stopping = false;
}

/* With the life mutex held. */
static int start_threads(struct tti_crew *crew, const struct tti_crew_opts *opts)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int rc;

	pthread_once(&once, install);
	crew->has_barrier = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
	crew->nice = opts->nice;
	rc = make_attr(&attr, opts->cpu);
	if (rc)
		return -rc;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = create(&crew->pulse, &attr, tti_pulse_main);
	if (rc == 0) {
		rc = create(&crew->helper, &attr, helper_main);
		if (rc)
			end_threads(crew, false);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	crew->running = rc == 0;
	return -rc;
}

int tti_duty_init(struct tti_duty *duty, const struct tti_duty_ops *ops)
{
	pthread_mutexattr_t attr;
	int rc = pthread_mutexattr_init(&attr);

	if (rc)
		return -rc;
	/* a real-time feed that waits for the helper lends it its priority */
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	rc = pthread_mutex_init(&duty->work_mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	if (rc)
		return -rc;
	duty->ops = ops;
	return TT_OK;
}

void tti_duty_fini(struct tti_duty *duty)
{
	if (duty->ops)
		pthread_mutex_destroy(&duty->work_mutex);
	duty->ops = NULL;
}

int tti_crew_join(struct tti_duty *duty, const struct tti_crew_opts *opts)
{
	struct tti_crew *crew = &tti_crew_state;
	int rc = TT_OK;

	pthread_mutex_lock(&life_mutex);
	if (!crew->running)
		rc = start_threads(crew, opts);
	if (rc == TT_OK) {
		pthread_mutex_lock(&crew->mutex);
		duty->period_ns = opts->period_ns;
		duty->due_ns = 0;
		duty->crew = crew->number;
		link_last(crew, duty);
		pthread_mutex_unlock(&crew->mutex);
		tti_pulse_wake();
	}
	pthread_mutex_unlock(&life_mutex);
	return rc;
}

static bool is_unemployed(struct tti_crew *crew)
{
	bool empty;

	pthread_mutex_lock(&crew->mutex);
	empty = !crew->first;
	pthread_mutex_unlock(&crew->mutex);
	return empty;
}

void tti_crew_leave(struct tti_duty *duty)
{
	struct tti_crew *crew = &tti_crew_state;

	if (duty->crew != crew->number) /* never joined, or in the parent of a fork */
		return;
	pthread_mutex_lock(&crew->mutex);
	while (crew->visited == duty)
		pthread_cond_wait(&crew->free, &crew->mutex);
	unlink_duty(crew, duty);
	duty->crew = 0;
	pthread_mutex_unlock(&crew->mutex);
	pthread_mutex_lock(&life_mutex);
	if (crew->running && is_unemployed(crew)) /* nobody joins while we look */
		end_threads(crew, true);
	pthread_mutex_unlock(&life_mutex);
}

/* ---- for tests ---- */

void tti_helper_pause(bool pause)
{
	struct tti_crew *crew = &tti_crew_state;

	pthread_mutex_lock(&crew->mutex);
	atomic_store_explicit(&crew->helper_paused, pause, memory_order_relaxed);
	while (pause && crew->visited)
		pthread_cond_wait(&crew->free, &crew->mutex);
	pthread_mutex_unlock(&crew->mutex);
	tti_crew_kick(crew);
}

void tti_pulse_pause(bool pause)
{
	tti_crew_lock();
	atomic_store_explicit(&tti_crew_state.pulse_paused, pause, memory_order_relaxed);
	tti_crew_unlock();
	tti_pulse_wake();
}

void tti_helper_stop(void)
{
	struct tti_crew *crew = &tti_crew_state;

	pthread_mutex_lock(&life_mutex);
	if (crew->running) {
		end_threads(crew, true);
		pthread_mutex_lock(&crew->mutex);
		while (crew->first) {
			struct tti_duty *duty = crew->first;

			unlink_duty(crew, duty);
			duty->crew = 0;
			tti_attend(duty, TTI_ATTEND_ALWAYS);
			tti_attended(duty, TTI_ATTEND_ASLEEP);
		}
		pthread_mutex_unlock(&crew->mutex);
	}
	pthread_mutex_unlock(&life_mutex);
}

uint64_t tti_pulse_looks(void)
{
	return atomic_load_explicit(&tti_crew_state.looks, memory_order_relaxed);
}
