/* SPDX-License-Identifier: Apache-2.0 */
/* The pulse: at each writer's period it looks how far the writer has come, wakes its readers,
 * and tells the helper what is to be done.  Without rows it sleeps until an append wakes it.
 * Invariant: it waits for nothing but its clock, its word and the registry's mutex. */
#include "live/helper.h"

#include <sys/prctl.h>
#include "base/clock.h"
#include "live/futex.h"

#define DOZE_AFTER_NS INT64_C(10000000) /* without rows of any writer */
#define UNSURE_NS INT64_C(1000000)	/* the longest nap that nobody could end */
#define LONGEST_NS (INT64_C(3600) * 1000000000)

struct pulse {
	struct tti_crew *crew;
	struct tti_look look;
	int64_t moved_ns; /* when rows came last */
	bool kicks, dozes;
};

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Look at those whose time has come; until when the next has. */
static int64_t look_at_all(struct pulse *pulse)
{
	struct tti_look *look = &pulse->look;
	int64_t wall = tti_clock_coarse_ns(), next = INT64_MAX;

	look->now_ns = tti_clock_monotonic_ns();
	look->ticked = wall != look->wall_ns;
	look->wall_ns = wall;
	pulse->kicks = false;
	for (struct tti_duty *duty = pulse->crew->first; duty; duty = duty->next) {
		if (duty->due_ns <= look->now_ns) {
			if (duty->ops->look(duty, look))
				pulse->moved_ns = look->now_ns;
			duty->due_ns = look->now_ns + duty->period_ns;
		} else if (look->ticked) {
			tti_duty_tick(duty, wall);
		}
		pulse->kicks = pulse->kicks || duty->kicked;
		next = smaller(next, duty->due_ns);
	}
	return next - look->now_ns;
}

static void flag_all(struct tti_crew *crew, bool asleep)
{
	for (struct tti_duty *duty = crew->first; duty; duty = duty->next) {
		if (asleep)
			tti_attend(duty, TTI_ATTEND_ASLEEP);
		else
			tti_attended(duty, TTI_ATTEND_ASLEEP);
		duty->due_ns = 0; /* awake again, all are looked at */
	}
}

/* Whoever appends after this wakes us; who appended before is seen.  How long to sleep: as
 * before when somebody is at work. */
static int64_t doze(struct pulse *pulse)
{
	int64_t nap = LONGEST_NS;

	if (!pulse->crew->has_barrier)
		return UNSURE_NS;
	flag_all(pulse->crew, true);
	pulse->dozes = true;
	tti_crew_barrier(pulse->crew);
	for (struct tti_duty *duty = pulse->crew->first; duty; duty = duty->next) {
		if (!duty->ops->is_still(duty))
			return duty->period_ns;
		nap = smaller(nap, duty->ops->patience_ns(duty, &pulse->look));
	}
	return nap;
}

static void get_up(struct pulse *pulse)
{
	if (pulse->dozes)
		flag_all(pulse->crew, false);
	pulse->dozes = false;
}

static void pass(struct pulse *pulse)
{
	struct tti_crew *crew = pulse->crew;
	uint32_t seen = atomic_load_explicit(&crew->pulse_word, memory_order_acquire);
	int64_t nap = LONGEST_NS;

	if (!atomic_load_explicit(&crew->pulse_paused, memory_order_relaxed)) {
		nap = look_at_all(pulse);
		if (pulse->look.now_ns - pulse->moved_ns > DOZE_AFTER_NS)
			nap = doze(pulse);
		atomic_fetch_add_explicit(&crew->looks, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&crew->mutex);
	if (pulse->kicks)
		tti_crew_kick(crew);
	if (nap > 0)
		tti_futex_wait((const uint32_t *)(const void *)&crew->pulse_word, seen,
			       smaller(nap, LONGEST_NS));
	pthread_mutex_lock(&crew->mutex);
	/* woken by an append: rows are coming; else one look suffices */
	if (atomic_load_explicit(&crew->pulse_word, memory_order_acquire) != seen)
		pulse->moved_ns = tti_clock_monotonic_ns();
	get_up(pulse);
}

void *tti_pulse_main(void *arg)
{
	struct pulse pulse = { .crew = arg };

	tti_crew_settle(pulse.crew, "tt-pulse");
	prctl(PR_SET_TIMERSLACK,
	      1000ul); /* ns; the default would double a short period */
	pulse.moved_ns = tti_clock_monotonic_ns();
	pthread_mutex_lock(&pulse.crew->mutex);
	while (!pulse.crew->stopping)
		pass(&pulse);
	get_up(&pulse);
	pthread_mutex_unlock(&pulse.crew->mutex);
	return NULL;
}
