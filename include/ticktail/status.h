/* SPDX-License-Identifier: Apache-2.0 */
/* A look at a ring for those who watch it: does it run, does it keep up, who reads, how long
 * does the disk last.
 *
 * Needs read permission only, opens no file but the newest and those whose rows nothing else
 * tells, and never disturbs writer or readers.  The figures are of about one instant; none
 * depends on another being exact.  What cannot be known is TT_UNKNOWN, TT_UNKNOWN_NS or NaN:
 * so is most of a ring of npyt's and of one without a usable settings file.  Texts are valid
 * UTF-8 without controls; other bytes stand there as \xNN.
 *
 * Threads: a call shares nothing with others.  Visibility: counters are stored late, by up
 * to a tenth of a second; rows, files and writer are those of the look itself. */
#ifndef TICKTAIL_STATUS_H
#define TICKTAIL_STATUS_H

#include <ticktail/ring.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TT_UNKNOWN UINT64_MAX
#define TT_UNKNOWN_NS INT64_MIN

enum tt_writer_state {
	TT_WRITER_NONE,
	TT_WRITER_ALIVE,
	TT_WRITER_UNKNOWN, /* nothing tells: no usable settings file */
};

/* bucket[i] counts what took [2^i, 2^(i+1)) ns.  Quantiles are upper bounds of their bucket;
 * TT_UNKNOWN_NS when nothing was counted. */
struct tt_status_hist {
	uint64_t count;
	uint64_t bucket[64];
	int64_t p50_ns, p99_ns, p999_ns, max_ns;
};

/* A reader that registered. */
struct tt_status_reader {
	unsigned slot;
	char name[257];
	uint32_t pid;
	bool alive; /* false: it died or was killed, and nobody took its slot yet */
	struct tt_pos pos; /* file 0: before the first row */
	uint64_t lag_rows; /* rows published behind its position */
	int64_t lag_ns;	   /* no row that it has not read is older; 0: it has read all */
	uint64_t lost;	   /* rows that it was told it lost */
	int64_t seen_ns;   /* wall clock at which it last said so */
};

/* What could not be read, whole or in part; its rows are in no figure. */
struct tt_status_damage {
	char file_name[32]; /* in the directory */
	char text[2048];    /* why, without the path */
};

struct tt_ring_status {
	int64_t now_ns;	 /* wall clock of the look */
	bool foreign;	 /* npyt's, or no settings file */
	int settings_rc; /* TT_OK, -ENOENT: none, or why the settings file is not used */

	enum tt_writer_state writer;
	int64_t writer_pid;    /* 0: none, or not known */
	int64_t opened_ns;     /* wall clock at which the last writer opened */
	int64_t last_write_ns; /* of the last row */

	/* rows and files now */
	uint64_t rows;	     /* on disk */
	uint64_t rows_total; /* that the ring ever had */
	uint64_t row_bytes;
	uint64_t newest, newest_rows, newest_capacity; /* the file that takes rows */
	uint64_t keep;
	uint64_t files_queued; /* in the queue */
	uint64_t files_left;   /* that left it, merged or not */
	uint64_t files_merged; /* of these */
	uint64_t bytes;	       /* that all files of the ring take on disk */

	/* space */
	uint64_t max_bytes;	    /* limit of the ring; 0: none */
	uint64_t fs_bytes, fs_free; /* of the file system, free to its users */
	double bytes_per_day;	    /* by the files of the last 7 days */
	/* at that rate; NaN also when max_bytes is reached before the disk is full */
	double days_left;
	bool limit_holds; /* it is */

	/* durability */
	int64_t sync_ms; /* as stored in the ring: TT_SYNC_*, or ms */
	int64_t last_sync_ns;
	uint64_t unsynced_rows;
	int64_t unsynced_ns; /* how old the oldest of them may be; 0 without any */

	/* counters since the ring was made */
	uint64_t count_rows, count_bytes, count_appends, rolls;
	uint64_t wakes, syncs, sync_failures, prepared;
	uint64_t clock_steps, repairs, errors;
	int64_t clock_step_ns; /* how far the clock was behind, the last time */
	struct tt_status_hist append, roll, sync, wake;

	/* the last error; code 0: none, or one that is just being stored */
	int error_code;
	int64_t error_ns;
	uint64_t rows_since_error; /* TT_UNKNOWN: none */
	char error_tag[97];	   /* as tt_error_tag() */
	char error_text[321];	   /* without the path of the ring */

	struct tt_status_reader *readers; /* in the order of their slots */
	size_t reader_count;

	/* Manifest, settings file and files that are damaged; the look does not open
	 * every file, tt_ring_verify() does. */
	struct tt_status_damage *damage;
	size_t damage_count;
};

/* Damage is no error: it is told in out->damage.  Errors: -ENOENT, TT_E_FORMAT (no ring),
 * -EACCES, -EMFILE, ... */
TT_API int tt_ring_status(const char *dir, struct tt_ring_status *out,
			  struct tt_error *err);
TT_API void tt_ring_status_free(struct tt_ring_status *status); /* accepts an empty one */

/* ---- Being seen ---- */

/* Let others see this reader by tt_ring_status().  It takes one of 64 places in the settings
 * file, which the reader must be allowed to write; the place is free again when the reader
 * is closed or its process dies, however that happens.  Reading costs a few stores more, no
 * system call, and the writer never waits for it.
 * name: UTF-8 of at most 63 bytes without controls; NULL: the program's name.  Again: another
 * name.  Errors, after which the reader reads on unseen: TT_E_RANGE (the name, or all places
 * taken), TT_E_UNSUPPORTED (no settings file to stand in), -EACCES, ... */
TT_API int tt_ring_reader_register(struct tt_ring_reader *reader, const char *name,
				   struct tt_error *err);
TT_API void tt_ring_reader_unregister(struct tt_ring_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
