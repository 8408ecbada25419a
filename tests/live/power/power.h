/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the power-loss test share: the record of what was promised, rows that
 * prove themselves, and the kinds of work.
 *
 * A kind works in the current directory under the model, keeping the record true at every
 * place; its check then looks at what a loss of power left, in another process. */
#ifndef TEST_POWER_H
#define TEST_POWER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "ticktail/ring.h"

#define POWER_ROWS 2048

struct power_row {
	int64_t number;
	uint64_t gen; /* 0: before the loss; then one more for each */
	uint64_t fill[2];
	uint64_t check;
};
#define POWER_DTYPE "number:i8,gen:u8,fill:u8[2],check:u8"

/* Operations that end once in a file's life: begun, and returned. */
struct power_once {
	bool begun, done;
};

/* Lies in memory that outlives the worker; an image takes a copy. */
struct power_record {
	uint64_t kind, seed, boot;
	uint64_t image; /* of the run that made it: its number */
	uint64_t gen;
	/* a ring, "r" */
	bool made; /* its create returned */
	int64_t sync_ms;
	bool proves;	/* its sync policy leaves marks: nothing unwritten may be shown */
	int64_t synced; /* rows that must be there */
	int64_t appended;  /* rows whose append returned */
	int64_t attempted; /* rows that an append was given */
	bool limited;	   /* the ring has max_bytes */
	int64_t removable; /* rows that may have been removed on purpose */
	int64_t copied;	   /* rows that the backup "copy" must hold; -1: none was made */
	int64_t copying;   /* rows that one being made may hold */
	struct tt_pos pos[POWER_ROWS]; /* of each row; file 0: not known */
	uint8_t gen_of[POWER_ROWS];
	/* the ring with a damaged file: what was damaged, and rows whose bytes that left */
	bool damaged;
	char damage[160];
	uint8_t intact[POWER_ROWS];
	/* single files; made, synced and so on are those of "a.npy" */
	struct power_once roomy, tight, cleared, merged, moved, removed, updated;
};
extern struct power_record *rec;

struct power_kind {
	const char *name;
	void (*prepare)(void); /* before the model comes: what it makes is on disk */
	void (*work)(void);
	void (*check)(void);
};
extern const struct power_kind power_ring, power_file, power_damaged;

/* Files of an image are other inodes than those they stand for: let FILE.mark mean them. */
void power_keep_marks(const char *dir);

/* Random numbers of the worker: another stream than the model's. */
uint64_t power_random(uint64_t n);

/* ---- rows ---- */

void power_fill(struct power_row *row, int64_t number, uint64_t gen);
bool power_is_row(const struct power_row *row);

/* ---- words ---- */

extern struct tt_error power_err;
extern const char *power_step;
/* Ends the process with a line about what is wrong. */
void power_fail(const char *file, int line, const char *what) __attribute__((noreturn));
#define NEED(cond) \
	do { \
		if (!(cond)) \
			power_fail(__FILE__, __LINE__, #cond); \
	} while (0)
#define GOOD(call) NEED((call) >= 0)

#endif
