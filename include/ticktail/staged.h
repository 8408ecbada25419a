/* SPDX-License-Identifier: Apache-2.0 */
/* Staged changes: an n-dimensional array in chunks, of which only the changed chunks are
 * in memory of its own until they are committed.
 *
 * The chunks lie in slabs, each a stack of chunks along axis 0.  Slab 0 is the full slab:
 * one chunk of the fill value.  Then come the base slabs, which are only ever read (an
 * archive's stored chunks), then the staged slabs, which hold what was written.  Two
 * tables with an entry a chunk, slab_indices and slab_offsets, say in which slab and from
 * which of its rows a chunk begins.  The behaviour is that of
 * versioned_hdf5.staged_changes.StagedChangesArray (docs/DECISIONS.md names the
 * differences); nothing here knows files.
 *
 * Threads:   an array belongs to one thread at a time; copies (tt_staged_copy() and what
 *            is made from an array) may be used from different threads at once.
 * Fork:      plain memory; a child owns its copy.  Hashing starts threads and joins them.
 * Ownership: what is passed in is copied unless a function says that it borrows.
 * Units:     shapes, chunks, starts and counts are elements; strides and sizes are bytes.
 * Limits:    rank 1 to TT_MAX_RANK; sizes are checked for overflow.
 * Atomicity: a call that fails, also for lack of memory, leaves values and tables as they
 *            were.  An error of a base slab's read or of a commit's write does too; bytes
 *            that a commit had already written to the new base slab are the allocator's
 *            to discard.
 * Errors:    TT_E_RANGE (an index or a shape outside what there is), TT_E_MISMATCH
 *            (shapes, ranks, sizes or types that do not go together), TT_E_UNSUPPORTED
 *            (an index that is legal in NumPy but not here), TT_E_DTYPE, TT_E_MISUSE
 *            (read-only, or something that is NULL and must not be), -ENOMEM, -EOVERFLOW,
 *            and what a base slab returns.
 * Link:      libticktail-archive. */
#ifndef TICKTAIL_STAGED_H
#define TICKTAIL_STAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ticktail/dtype.h>
#include <ticktail/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Elements and arrays in memory ---- */

/* An element: fixed size, moved as bytes.  kind TT_BOOL, TT_INT, TT_UINT, TT_FLOAT or
 * TT_COMPLEX can be converted into each other as C casts do; any other kind only into
 * itself.  swapped: the bytes of a number stand in the other order than this
 * machine's. */
struct tt_element {
	char kind; /* enum tt_kind; TT_VOID for bytes without meaning */
	bool swapped;
	uint32_t bytes; /* at least 1 */
};
TT_API bool tt_element_equal(struct tt_element a, struct tt_element b);
/* TT_E_DTYPE: no such number (an integer of 3 bytes, a float of 5) or no bytes. */
TT_API int tt_element_check(struct tt_element element, struct tt_error *err);
/* The element of a dtype; structs and strings are TT_VOID of their size. */
TT_API struct tt_element tt_element_of(const struct tt_dtype *dtype);

/* An n-dimensional array in memory, NumPy's ndarray: strides in bytes, may be 0 or
 * negative. */
struct tt_nd {
	struct tt_element element;
	uint32_t rank; /* 0: a scalar */
	void *data;
	uint64_t shape[TT_MAX_RANK];
	int64_t strides[TT_MAX_RANK];
};
/* C order over data, which is borrowed. -EOVERFLOW: more bytes than can be addressed. */
TT_API int tt_nd_c_order(struct tt_nd *out, struct tt_element element, uint32_t rank,
			 const uint64_t *shape, void *data);

/* ---- Indices ---- */

enum tt_index_kind {
	TT_INDEX_INT,	/* start: one position, negative from the end; removes the axis */
	TT_INDEX_SLICE, /* start:stop:step */
	TT_INDEX_ELLIPSIS, /* as many full slices as are missing */
	TT_INDEX_INTS,	   /* count positions in ints, any order, negative from the end */
	TT_INDEX_BOOLS,	   /* count flags in bools, one a position of the axis */
};
struct tt_index {
	enum tt_index_kind kind;
	bool has_start, has_stop; /* of a slice; a step of 0 is refused, set 1 */
	int64_t start, stop, step;
	const int64_t *ints; /* borrowed */
	const bool *bools;   /* borrowed */
	uint64_t count;
};
/* The element i of an index, as NumPy counts; the missing axes at the end are whole. */
#define TT_INDEX_AT(i) ((struct tt_index){ .kind = TT_INDEX_INT, .start = (i) })
#define TT_INDEX_RANGE(a, b) \
	((struct tt_index){ .kind = TT_INDEX_SLICE, \
			    .has_start = true, \
			    .has_stop = true, \
			    .start = (a), \
			    .stop = (b), \
			    .step = 1 })
#define TT_INDEX_ALL ((struct tt_index){ .kind = TT_INDEX_SLICE, .step = 1 })

/* An index written as in Python: "2, 1:5, ..., ::2", "[0, 3, 1]", "[True, False]", "()".
 * What Python's array refuses is refused in words: None, floats, strings, nested
 * lists, ... */
struct tt_index_list {
	uint32_t count;
	struct tt_index *items;
};
TT_API int tt_index_parse(struct tt_index_list **out, const char *text,
			  struct tt_error *err);
TT_API void tt_index_free(struct tt_index_list *list); /* NULL: nothing */

/* ---- Base slabs ---- */

/* Something of chunks that can be read.  memory set: it lies there, and read is not
 * called.  Else read copies the box of count[] elements from start[] in steps of stride[]
 * into to, whose shape is count[] and whose element is the slab's.  It is called on the
 * thread that called us; of copies used on different threads, on each of them.
 * write (NULL: cannot be written) is called by a commit for the slab that its allocator
 * gave.  Both return 0 or a negative code, which the call that needed them returns; err,
 * if not set by them, gets words for it.  A positive code is TT_E_MISUSE.
 * release is called once, when the last array that has the slab lets go; may be NULL. */
struct tt_base_slab {
	struct tt_element element;
	uint32_t rank;
	uint64_t shape[TT_MAX_RANK];
	void *memory;
	int64_t strides[TT_MAX_RANK]; /* of memory */
	int (*read)(void *ctx, const uint64_t *start, const uint64_t *count,
		    const uint64_t *stride, const struct tt_nd *to, struct tt_error *err);
	int (*write)(void *ctx, const uint64_t *start, const uint64_t *count,
		     const struct tt_nd *from, struct tt_error *err);
	void (*release)(void *ctx);
	void *ctx;
	/* SHA-256 of each chunk, 32 bytes each, all zero for unknown; NULL: none is
	 * known.  Copied.  digest_count must be ceil(shape[0] / chunk[0]). */
	const uint8_t *digests;
	uint64_t digest_count;
};

/* ---- Making arrays ---- */

struct tt_staged;

struct tt_staged_opts {
	size_t struct_size;
	struct tt_element element; /* bytes 0: that of the first base slab */
	const void *fill;	   /* one element; NULL: all bytes zero */
	uint32_t rank;
	const uint64_t *shape, *chunk;
	const struct tt_base_slab *bases; /* their ctx is owned from success on */
	uint64_t base_count;
	/* an entry a chunk in C order; NULL: every chunk is in the full slab */
	const uint64_t *slab_indices, *slab_offsets;
};
#define TT_STAGED_OPTS_INIT \
	{ \
		.struct_size = sizeof(struct tt_staged_opts) \
	}

TT_API int tt_staged_create(struct tt_staged **out, const struct tt_staged_opts *opts,
			    struct tt_error *err);
enum tt_staged_from {
	/* the array's columns of chunks become base slabs: never written */
	TT_FROM_BASES,
	/* they become staged slabs: writes reach the array itself */
	TT_FROM_STAGED,
};
struct tt_staged_over {
	size_t struct_size;
	const struct tt_nd *from;
	const uint64_t *chunk;
	const void *fill; /* one element; NULL: all bytes zero */
	enum tt_staged_from how;
	bool writable; /* false: staged slabs are copied before the first write to each */
};
#define TT_STAGED_OVER_INIT \
	{ \
		.struct_size = sizeof(struct tt_staged_over) \
	}
/* The array over from, whose memory is borrowed until the result and all that was made
 * from it are destroyed. */
TT_API int tt_staged_from_array(struct tt_staged **out, const struct tt_staged_over *over,
				struct tt_error *err);
TT_API void tt_staged_destroy(struct tt_staged *array); /* NULL: nothing */

struct tt_staged_info {
	struct tt_element element;
	const void *fill;
	uint32_t rank;
	const uint64_t *shape, *chunk;
	uint64_t size, bytes, chunks;
	const uint64_t *grid; /* chunks along each axis */
	const uint64_t *slab_indices, *slab_offsets;
	uint64_t slabs, bases, staged; /* holes are counted */
	bool resized, has_changes, writable;
};
/* Valid until the next call that changes the array. */
TT_API void tt_staged_info(const struct tt_staged *array, struct tt_staged_info *out);
/* Shape of slab i into shape[rank]; false when it is a hole. */
TT_API bool tt_staged_slab_shape(const struct tt_staged *array, uint64_t slab,
				 uint64_t *shape);
/* The 32 bytes of each chunk of slab i (zero: unknown), or NULL when none is known. */
TT_API const uint8_t *tt_staged_digests(const struct tt_staged *array, uint64_t slab,
					uint64_t *count_out);
/* From now on writing, resizing, loading and committing are TT_E_MISUSE. */
TT_API void tt_staged_set_read_only(struct tt_staged *array);

/* ---- Reading and writing ---- */

/* The shape that get gives and set wants, and the element, into *out; its data is NULL and its
 * strides are those of C order. */
TT_API int tt_staged_shape_of(const struct tt_staged *array, const struct tt_index *index,
			      uint32_t index_count, struct tt_nd *out,
			      struct tt_error *err);
/* out->data NULL: it is allocated in C order (free() it; not NULL also when empty); else
 * out must have the shape and the element of the result. */
TT_API int tt_staged_get(struct tt_staged *array, const struct tt_index *index,
			 uint32_t index_count, struct tt_nd *out, struct tt_error *err);
/* value is broadcast and converted; a value with more axes than the selection is refused
 * even if they are of length 1.  It may lie in memory that the array reads. */
TT_API int tt_staged_set(struct tt_staged *array, const struct tt_index *index,
			 uint32_t index_count, const struct tt_nd *value,
			 struct tt_error *err);
/* New places hold the fill value; nothing is kept of what lay outside a smaller shape. */
TT_API int tt_staged_resize(struct tt_staged *array, const uint64_t *shape,
			    struct tt_error *err);
/* Resize along axis 0 and write rows there: shape is that of the array but for axis 0. */
TT_API int tt_staged_append(struct tt_staged *array, const struct tt_nd *rows,
			    struct tt_error *err);
/* No chunk is left in a base slab. */
TT_API int tt_staged_load(struct tt_staged *array, struct tt_error *err);

/* The chunks that are not in the full slab, row-major, cut at the edges.  start and count
 * are the box in the array, from[] its start in slab number slab; data is NULL for a base
 * slab.  fn must not change the array; it returns 0 to go on, else changes returns its
 * value. */
struct tt_staged_change {
	const uint64_t *start, *count;
	uint64_t slab;
	const uint64_t *from;
	const struct tt_nd *data;
};
TT_API int tt_staged_changes(struct tt_staged *array,
			     int (*fn)(void *ctx, const struct tt_staged_change *change),
			     void *ctx, struct tt_error *err);

/* ---- Digests and committing ---- */

/* SHA-256 of every staged chunk that is in use and of the full chunk. threads 0: one for
 * each processor that the calling thread may run on. */
TT_API int tt_staged_hash(struct tt_staged *array, unsigned threads,
			  struct tt_error *err);
/* Make room for a new base slab of the element, rank and shape of like (its data is
 * NULL); *out is to be writable and readable, in memory (no two elements in one place) or by
 * write and read.  Returns 0 or a negative code, as these do. */
typedef int tt_staged_alloc_fn(void *ctx, const struct tt_nd *like,
			       struct tt_base_slab *out, struct tt_error *err);
/* A base slab in memory; what lies beyond the edge of the array in it is not to be relied on.
 * A commit that is given this function keeps a staged slab all of whose chunks are new as the
 * base slab, instead of copying it. */
TT_API int tt_staged_alloc_memory(void *ctx, const struct tt_nd *like,
				  struct tt_base_slab *out, struct tt_error *err);
/* Move the staged chunks that no slab holds yet into one new base slab and drop the
 * staged slabs.  A chunk with the digest of the full chunk or of a base chunk, used or
 * not, is not written again.  alloc is not called when nothing is new. */
TT_API int tt_staged_commit(struct tt_staged *array, tt_staged_alloc_fn *alloc, void *ctx,
			    unsigned threads, struct tt_error *err);

/* ---- Arrays made from arrays ---- */

/* Costs an entry a slab: chunks and tables are shared until one side writes. */
TT_API int tt_staged_copy(struct tt_staged **out, struct tt_staged *array,
			  struct tt_error *err);
/* Another element. bases NULL: base chunks are loaded, base slabs become holes.  With
 * as many bases as there are, of the same shapes and of the new element, they take the
 * place of the old.  Staged slabs are converted when first touched. */
struct tt_new_bases {
	const struct tt_base_slab *bases; /* their ctx is owned from success on */
	uint64_t count;
};
TT_API int tt_staged_astype(struct tt_staged **out, struct tt_staged *array,
			    struct tt_element element, const struct tt_new_bases *bases,
			    struct tt_error *err);
/* Another fill value, which also takes the place of every element equal to the old
 * one. */
TT_API int tt_staged_refill(struct tt_staged **out, struct tt_staged *array,
			    const void *fill, struct tt_error *err);
TT_API int tt_staged_rechunk(struct tt_staged **out, struct tt_staged *array,
			     const uint64_t *chunk, struct tt_error *err);

/* ---- Plans ---- */

/* What an operation would do, made without doing it. */
struct tt_staged_plan;
enum tt_staged_op {
	TT_PLAN_GET,
	TT_PLAN_SET,
	TT_PLAN_RESIZE,
	TT_PLAN_LOAD,
	TT_PLAN_CHANGES,
	TT_PLAN_HASH,
	TT_PLAN_COMMIT, /* needs the digests: tt_staged_hash() first */
};
struct tt_plan_what {
	enum tt_staged_op op;
	const struct tt_index *index; /* of get and set */
	uint32_t index_count;
	const uint64_t *shape; /* of resize */
};
TT_API int tt_staged_plan(struct tt_staged_plan **out, const struct tt_staged *array,
			  const struct tt_plan_what *what, struct tt_error *err);
TT_API void tt_staged_plan_free(struct tt_staged_plan *plan); /* NULL: nothing */

/* A slab, or the output of a get, or the value of a set. */
#define TT_PLAN_OUTSIDE UINT64_MAX
/* rows rows from slab from to slab to; all 0 for a transfer that there is none of. */
struct tt_plan_transfer {
	uint64_t from, to, rows;
};
/* How far the rows of a transfer have been looked at; { 0 }: not yet. */
struct tt_plan_cursor {
	uint64_t at, part;
};
struct tt_plan_info {
	enum tt_staged_op op;
	uint32_t rank;
	uint64_t appended, dropped, rows, transfers;
	bool mutates;
};
TT_API void tt_staged_plan_info(const struct tt_staged_plan *plan,
				struct tt_plan_info *out);
TT_API void tt_staged_plan_transfer(const struct tt_staged_plan *plan, uint64_t i,
				    struct tt_plan_transfer *out);
/* The next rows of transfer i, at most room of them, into rows, which has room for as many times
 * 5 x rank numbers: of each axis the start in the source, then of each the start in the
 * destination, the count, the stride in the source, the stride in the destination.  Returns
 * how many; 0: there are no more.  They are made here, not stored. */
TT_API uint64_t tt_staged_plan_rows(const struct tt_staged_plan *plan, uint64_t transfer,
				    struct tt_plan_cursor *cursor, uint64_t *rows,
				    uint64_t room);
/* The plan in words, malloc'ed; head_only: its first line. */
TT_API int tt_staged_plan_text(const struct tt_staged_plan *plan, bool head_only,
			       char **text_out, struct tt_error *err);

#ifdef __cplusplus
}
#endif
#endif
