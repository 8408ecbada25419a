/* SPDX-License-Identifier: Apache-2.0 */
/* libticktail: live tick files that other processes read without copying.
 *
 * Read this before you rely on it:
 *  - np.load() of a live file shows capacity rows, not the rows written.  Rows [start, end)
 *    are valid; examples/read_ring.py shows how NumPy alone finds them.
 *  - Visible is not durable.  A killed process loses nothing that was published; power loss
 *    loses at most what came after the last sync.
 *  - One writer.  A second one is refused with the first one's pid.
 *  - Live files are shared memory: keep them on a local file system.
 *  - Nobody may make a live file shorter by hand; a process that maps it would be killed by
 *    SIGBUS.  Nothing in this library does.
 *  - 64-bit little-endian hosts only.
 *
 * libticktail needs libc alone.  The archive is <ticktail/archive.h> and a second library. */
#ifndef TICKTAIL_TICKTAIL_H
#define TICKTAIL_TICKTAIL_H

#include <ticktail/dtype.h>
#include <ticktail/error.h>
#include <ticktail/file.h>
#include <ticktail/npy.h>
#include <ticktail/recover.h>
#include <ticktail/ring.h>
#include <ticktail/status.h>
#include <ticktail/time.h>

#endif
