/* SPDX-License-Identifier: Apache-2.0 */
/* The two threads that a process has for all its writers: the pulse (pulse.c), which looks how
 * far each writer has come and never waits for a disk, and the helper (helper.c), which does
 * what may take long.  What they do for a writer is its duty's ops.
 *
 * The registry of duties is the one piece of process-wide state beside the fork guard.
 * Invariant: a duty on the list, and what its ops reach, stays until tti_crew_leave() has
 * returned; nobody who holds the registry's mutex waits for anything but a processor.
 * Ordering and the claim protocol: docs/CONCURRENCY.md. */
#ifndef TTI_HELPER_H
#define TTI_HELPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What makes an append leave its quick path. */
#define TTI_ATTEND_ALWAYS 1u  /* each append wakes or syncs, or nobody helps */
#define TTI_ATTEND_ASLEEP 2u  /* the pulse sleeps until it is woken */
#define TTI_ATTEND_CLAIMED 4u /* the helper has, or wants, the writer */
#define TTI_ATTEND_STAMP 8u   /* the coarse clock went on */
#define TTI_ATTEND_ROLL 16u   /* a seal request, or the time of a roll has come */

struct tti_duty;

/* One look of the pulse. */
struct tti_look {
	int64_t now_ns;	 /* monotonic */
	int64_t wall_ns; /* coarse */
	bool ticked;	 /* wall_ns differs from the last look's */
};

struct tti_duty_ops {
	/* Pulse: never blocks.  true: rows came since the last look. */
	bool (*look)(struct tti_duty *duty, const struct tti_look *look);
	/* Pulse, all its appends being seen: no row since the last look, none under way. */
	bool (*is_still)(const struct tti_duty *duty);
	/* Pulse: how long it may be left alone when no row comes; INT64_MAX for ever. */
	int64_t (*patience_ns)(const struct tti_duty *duty, const struct tti_look *look);
	/* Helper, with the duty's work mutex held. */
	void (*work)(struct tti_duty *duty);
};

/* Two lines apart from what each append stores: a processor fetches lines in pairs. */
#define TTI_APART 128

struct tti_duty {
	_Alignas(TTI_APART) _Atomic(uint32_t) attention; /* TTI_ATTEND_*; 0: quick */
	_Atomic(uint64_t) turn;	  /* TTI_TURN_* or rows reserved; 0: nobody is at work */
	_Atomic(int64_t) wall_ns; /* coarse clock, as of the pulse's last tick */
	uint32_t ticks;		  /* the owner's: those that it met */
	_Alignas(TTI_APART)
		pthread_mutex_t work_mutex; /* one at a time does what may take long */
	const struct tti_duty_ops *ops;
	/* under the registry's mutex */
	struct tti_duty *prev, *next;
	uint64_t crew; /* which crew it joined; 0 none */
	int64_t period_ns, due_ns;
	bool kicked; /* the helper is to visit */
};

struct tti_crew_opts {
	int cpu;	   /* both threads on this one; -1 any */
	int nice;	   /* 0: as they are */
	int64_t period_ns; /* between two looks at this duty */
};

int tti_duty_init(struct tti_duty *duty, const struct tti_duty_ops *ops);
void tti_duty_fini(struct tti_duty *duty); /* accepts one of zeros */

/* The threads run and look after duty from now on.  A negated errno: they could not be
 * started, nobody does. */
int tti_crew_join(struct tti_duty *duty, const struct tti_crew_opts *opts);
/* On return neither thread touches the duty, and without duties both have ended.  Accepts one
 * that is not on the list. */
void tti_crew_leave(struct tti_duty *duty);
static inline bool tti_crew_has(const struct tti_duty *duty)
{
	return duty->crew != 0;
}

/* For ops->look: let the helper visit. */
static inline void tti_duty_kick(struct tti_duty *duty)
{
	duty->kicked = true;
}

/* After this the pulse holds no pointer that it loaded from a duty before. */
void tti_crew_pass(void);
/* The registry's mutex, to change what look reads. */
void tti_crew_lock(void);
void tti_crew_unlock(void);

/* The pulse looks at once. */
void tti_pulse_wake(void);

/* ---- turns and attention ---- */

/* Keeps a store before a later load in the code that the compiler makes.  The processor's fence
 * is the other side's membarrier: tti_duty_claim(), tti_crew_barrier(). */
static inline void tti_turn_compiler_fence(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* What the owner's thread is doing, 0 nothing; else nobody else touches the writer.  A number
 * of rows: so many were reserved and wait for their publish.  No value is made of the one before:
 * an append whose stores wait for a load of what was just stored costs as much as two rows. */
#define TTI_TURN_WORKING UINT64_MAX
/* With a number of rows: their publish has things to look at. */
#define TTI_TURN_SLOWLY (UINT64_C(1) << 63)

/* The owner's thread: the word as it stored it last. */
static inline uint64_t tti_turn(const struct tti_duty *duty)
{
	return atomic_load_explicit(&duty->turn, memory_order_relaxed);
}

/* Rows that a reserve waits to publish. */
static inline uint64_t tti_turn_promised(const struct tti_duty *duty)
{
	uint64_t turn = tti_turn(duty);

	return turn == TTI_TURN_WORKING ? 0 : turn & ~TTI_TURN_SLOWLY;
}

/* Begin with turn; a reserve that came before is forgotten or
 * renewed.  Returns what is to be attended to; with TTI_ATTEND_CLAIMED in it, tti_turn_wait()
 * comes next.  Pairs with tti_duty_claim(). */
static inline uint32_t tti_turn_open(struct tti_duty *duty, uint64_t turn)
{
	atomic_store_explicit(&duty->turn, turn, memory_order_relaxed);
	tti_turn_compiler_fence();
	return atomic_load_explicit(&duty->attention, memory_order_acquire);
}

/* All that was done in the turn is seen by who claims after it. */
static inline void tti_turn_close(struct tti_duty *duty)
{
	atomic_store_explicit(&duty->turn, 0, memory_order_release);
}

/* The owner's thread: rows that it reserved wait for their publish. */
static inline bool tti_turn_is_reserved(const struct tti_duty *duty)
{
	return tti_turn(duty) != 0 && tti_turn(duty) != TTI_TURN_WORKING;
}

/* Wait until the helper has let go. */
void tti_turn_wait(struct tti_duty *duty);

/* After a publish that is no turn: a pulse that set a flag before it slept is seen here or
 * sees the rows.  Pairs with the membarrier of the pulse. */
static inline uint32_t tti_attention(const struct tti_duty *duty)
{
	tti_turn_compiler_fence();
	return atomic_load_explicit(&duty->attention, memory_order_acquire);
}

static inline void tti_attend(struct tti_duty *duty, uint32_t flags)
{
	if ((atomic_load_explicit(&duty->attention, memory_order_relaxed) & flags) !=
	    flags)
		atomic_fetch_or_explicit(&duty->attention, flags, memory_order_acq_rel);
}

static inline void tti_attended(struct tti_duty *duty, uint32_t flags)
{
	atomic_fetch_and_explicit(&duty->attention, ~flags, memory_order_acq_rel);
}

/* Pulse: the coarse clock went on.  The time is renewed though nobody attended to the last. */
static inline void tti_duty_tick(struct tti_duty *duty, int64_t wall_ns)
{
	atomic_store_explicit(&duty->wall_ns, wall_ns, memory_order_relaxed);
	tti_attend(duty, TTI_ATTEND_STAMP);
}

/* The owner, of TTI_ATTEND_STAMP: what the time is, without a look at the clock. */
static inline int64_t tti_duty_ticked(struct tti_duty *duty)
{
	duty->ticks++;
	tti_attended(duty, TTI_ATTEND_STAMP);
	return atomic_load_explicit(&duty->wall_ns, memory_order_relaxed);
}

/* Helper: own the writer for a moment.  false: its thread is at work, or there is no
 * membarrier. */
bool tti_duty_claim(struct tti_duty *duty);
void tti_duty_unclaim(struct tti_duty *duty);

/* ---- shared by the two threads' files ---- */

struct tti_crew {
	pthread_mutex_t mutex; /* the list and all below */
	pthread_cond_t free;   /* the helper finished a visit */
	struct tti_duty *first, *last;
	const struct tti_duty *visited; /* by the helper, now */
	pthread_t pulse, helper;
	bool running, stopping;
	int nice;
	bool has_barrier; /* membarrier(PRIVATE_EXPEDITED) */
	uint64_t number;  /* of this crew; another one after a fork */
	_Atomic(uint32_t) pulse_word, helper_word;
	_Atomic(bool) pulse_paused, helper_paused; /* tests */
	_Atomic(uint64_t) looks;
};
extern struct tti_crew tti_crew_state;

void *tti_pulse_main(void *arg);
/* What each thread does first. */
void tti_crew_settle(const struct tti_crew *crew, const char *name);
/* Every store before a plain load of another thread is seen, or that load sees ours. */
void tti_crew_barrier(const struct tti_crew *crew);
void tti_crew_kick(struct tti_crew *crew); /* the helper looks for kicked duties */

/* ---- for tests: here because they touch what this room alone may touch ---- */

/* The thread stands still, as if it got no processor. */
void tti_helper_pause(bool pause);
void tti_pulse_pause(bool pause);
/* Both end; writers go on without. */
void tti_helper_stop(void);
/* Passes of the pulse over its list. */
uint64_t tti_pulse_looks(void);

#endif
