/* SPDX-License-Identifier: Apache-2.0 */
/* Staged arrays by name, driven by lines on stdin; what Python's class is compared with.
 *
 *	full NAME ELEMENT SHAPE CHUNK FILL	over NAME bases|staged ELEMENT SHAPE CHUNK FILL DATA
 *	get NAME INDEX				set NAME INDEX | ELEMENT SHAPE DATA
 *	resize NAME SHAPE			append NAME ELEMENT SHAPE DATA
 *	load NAME				commit NAME memory|gaps|apart
 *	copy NAME NEW
 *	astype NAME NEW ELEMENT			refill NAME NEW FILL
 *	rechunk NAME NEW CHUNK			free NAME
 *	plan NAME get|set INDEX			plan NAME resize SHAPE
 *	plan NAME load|changes|hash|commit	state NAME
 *
 * ELEMENT is as f8 or >f8, SHAPE as 3,5 (- for none), data in hex (- for none).  Every answer ends
 * with a line "."; a refusal is "error CODE WORDS". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "staged/driver_slabs.h"
#include "ticktail/staged.h"

enum { NAMES = 16 };

static struct {
	char name[16];
	struct tt_staged *array;
} arrays[NAMES];
/* of "over": arrays and their copies borrow it until the last is gone */
static struct memory {
	struct memory *next;
	void *bytes;
} * memories;
static char *line_at;

static void fail_usage(const char *what)
{
	fprintf(stderr, "driver: %s\n", what);
	exit(2);
}

static char *word(void)
{
	char *at = strtok_r(NULL, " ", &line_at);

	return at ? at : (fail_usage("a word is missing"), NULL);
}

static struct tt_element element_of(const char *text)
{
	bool swapped = *text == '>';

	text += swapped;
	return (struct tt_element){ .kind = text[0],
				    .swapped = swapped,
				    .bytes = (uint32_t)strtoul(text + 1, NULL, 10) };
}

static uint32_t shape_of(const char *text, uint64_t *shape)
{
	uint32_t rank = 0;
	char *end;

	if (strcmp(text, "-") == 0)
		return 0;
	for (;; text = end + 1) {
		shape[rank++] = strtoull(text, &end, 10);
		if (*end != ',' || rank == TT_MAX_RANK)
			return rank;
	}
}

static void *bytes_of(const char *hex)
{
	size_t n = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2;
	unsigned char *bytes = malloc(n + 1);

	for (size_t i = 0; bytes && i < n; i++) {
		unsigned byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			fail_usage("bad hex");
		bytes[i] = (unsigned char)byte;
	}
	return bytes;
}

static size_t slot_of(const char *name, bool create)
{
	for (size_t i = 0; i < NAMES; i++)
		if (strcmp(arrays[i].name, name) == 0)
			return i;
	for (size_t i = 0; create && i < NAMES; i++)
		if (!arrays[i].name[0]) {
			snprintf(arrays[i].name, sizeof(arrays[i].name), "%s", name);
			return i;
		}
	fail_usage("no such array");
	return 0;
}

static void forget(size_t slot)
{
	tt_staged_destroy(arrays[slot].array);
	memset(&arrays[slot], 0, sizeof(arrays[slot]));
	for (size_t i = 0; i < NAMES; i++)
		if (arrays[i].array)
			return;
	while (memories) {
		struct memory *next = memories->next;

		free(memories->bytes);
		free(memories);
		memories = next;
	}
}

static void *keep(void *bytes)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		fail_usage("out of memory");
	*memory = (struct memory){ memories, bytes };
	memories = memory;
	return bytes;
}

static void print_nd(const struct tt_nd *nd)
{
	uint64_t at[TT_MAX_RANK] = { 0 }, size = 1;

	printf("%s%c%u ", nd->element.swapped ? ">" : "", nd->element.kind,
	       nd->element.bytes);
	for (uint32_t i = 0; i < nd->rank; i++)
		printf("%s%" PRIu64, i ? "," : "", nd->shape[i]);
	printf(nd->rank ? " " : "- ");
	for (uint32_t i = 0; i < nd->rank; i++)
		size *= nd->shape[i];
	for (uint64_t k = 0; k < size; k++) {
		const unsigned char *from = nd->data;

		for (uint32_t i = 0; i < nd->rank; i++)
			from += (int64_t)at[i] * nd->strides[i];
		for (uint32_t b = 0; b < nd->element.bytes; b++)
			printf("%02x", from[b]);
		for (uint32_t i = nd->rank; i-- > 0 && ++at[i] == nd->shape[i];)
			at[i] = 0;
	}
	printf(size ? "\n" : "-\n");
}

static void print_state(const struct tt_staged *array)
{
	struct tt_staged_info info;
	uint64_t shape[TT_MAX_RANK];

	tt_staged_info(array, &info);
	printf("%c%u %" PRIu64 " %" PRIu64 " %d\n", info.element.kind, info.element.bytes,
	       info.bases, info.staged, info.has_changes);
	for (uint64_t i = 0; i < info.chunks; i++)
		printf("%" PRIu64 " ", info.slab_indices[i]);
	printf("\n");
	for (uint64_t i = 0; i < info.chunks; i++)
		printf("%" PRIu64 " ", info.slab_offsets[i]);
	printf("\n");
	for (uint64_t i = 0; i < info.slabs; i++) {
		bool there = tt_staged_slab_shape(array, i, shape);

		for (uint32_t k = 0; there && k < info.rank; k++)
			printf("%s%" PRIu64, k ? "," : "", shape[k]);
		printf(there ? " " : "None ");
	}
	printf("\n");
}

static int do_over(size_t slot, struct tt_error *err)
{
	bool bases = strcmp(word(), "bases") == 0;
	struct tt_element element = element_of(word());
	uint64_t shape[TT_MAX_RANK], chunk[TT_MAX_RANK];
	uint32_t rank = shape_of(word(), shape);
	void *fill;
	struct tt_nd nd;
	int rc;

	shape_of(word(), chunk);
	fill = bytes_of(word());
	rc = tt_nd_c_order(&nd, element, rank, shape, keep(bytes_of(word())));
	if (rc == TT_OK)
		rc = tt_staged_from_array(
			&arrays[slot].array,
			&(struct tt_staged_over){
				sizeof(struct tt_staged_over), &nd, chunk, fill,
				bases ? TT_FROM_BASES : TT_FROM_STAGED, true },
			err);
	free(fill);
	return rc;
}

static int do_full(size_t slot, struct tt_error *err)
{
	struct tt_staged_opts opts = TT_STAGED_OPTS_INIT;
	uint64_t shape[TT_MAX_RANK], chunk[TT_MAX_RANK];
	void *fill;
	int rc;

	opts.element = element_of(word());
	opts.rank = shape_of(word(), shape);
	shape_of(word(), chunk);
	opts.fill = fill = bytes_of(word());
	opts.shape = shape;
	opts.chunk = chunk;
	rc = tt_staged_create(&arrays[slot].array, &opts, err);
	free(fill);
	return rc;
}

/* The rest of the line is ELEMENT SHAPE DATA. */
static void *take_value(struct tt_nd *nd)
{
	struct tt_element element = element_of(word());
	uint64_t shape[TT_MAX_RANK];
	uint32_t rank = shape_of(word(), shape);
	void *bytes = bytes_of(word());

	if (tt_nd_c_order(nd, element, rank, shape, bytes) < 0)
		fail_usage("a value too large");
	return bytes;
}

static int do_get(struct tt_staged *array, const char *text, struct tt_error *err)
{
	struct tt_index_list *index;
	struct tt_nd out = { .rank = 0 };
	int rc = tt_index_parse(&index, text, err);

	if (rc < 0)
		return rc;
	rc = tt_staged_get(array, index->items, index->count, &out, err);
	if (rc == TT_OK)
		print_nd(&out);
	free(out.data);
	tt_index_free(index);
	return rc;
}

static int do_set(struct tt_staged *array, char *text, struct tt_error *err)
{
	char *bar = strchr(text, '|');
	struct tt_index_list *index;
	struct tt_nd value;
	void *bytes;
	int rc;

	if (!bar)
		fail_usage("set: no value");
	*bar = '\0';
	line_at = bar + 1;
	bytes = take_value(&value);
	rc = tt_index_parse(&index, text, err);
	if (rc == TT_OK) {
		rc = tt_staged_set(array, index->items, index->count, &value, err);
		tt_index_free(index);
	}
	free(bytes);
	return rc;
}

static int print_plan(struct tt_staged_plan *plan, struct tt_error *err)
{
	char *text;
	int rc = tt_staged_plan_text(plan, false, &text, err);

	if (rc == TT_OK)
		printf("%s\n", text);
	free(text);
	tt_staged_plan_free(plan);
	return rc;
}

static int do_plan(struct tt_staged *array, struct tt_error *err)
{
	static const char *const names[] = { "get",	"set",	"resize", "load",
					     "changes", "hash", "commit" };
	const char *name = word();
	struct tt_index_list *index = NULL;
	struct tt_staged_plan *plan;
	uint64_t shape[TT_MAX_RANK];
	int op = 0, rc = TT_OK;

	while (op < 7 && strcmp(names[op], name) != 0)
		op++;
	if (op == TT_PLAN_RESIZE)
		shape_of(word(), shape);
	if (op <= TT_PLAN_SET)
		rc = tt_index_parse(&index, line_at, err);
	if (rc == TT_OK && op == TT_PLAN_COMMIT)
		rc = tt_staged_hash(array, 0, err);
	if (rc == TT_OK)
		rc = tt_staged_plan(&plan, array,
				    &(struct tt_plan_what){ (enum tt_staged_op)op,
							    index ? index->items : NULL,
							    index ? index->count : 0,
							    shape },
				    err);
	tt_index_free(index);
	return rc < 0 ? rc : print_plan(plan, err);
}

static int do_append(struct tt_staged *array, struct tt_error *err)
{
	struct tt_nd rows;
	void *bytes = take_value(&rows);
	int rc = tt_staged_append(array, &rows, err);

	free(bytes);
	return rc;
}

static int derive(const char *command, struct tt_staged *array, struct tt_error *err)
{
	size_t slot = slot_of(word(), true);
	struct tt_staged **out = &arrays[slot].array;
	uint64_t chunk[TT_MAX_RANK];
	void *fill = NULL;
	int rc;

	if (strcmp(command, "copy") == 0) {
		rc = tt_staged_copy(out, array, err);
	} else if (strcmp(command, "astype") == 0) {
		rc = tt_staged_astype(out, array, element_of(word()), NULL, err);
	} else if (strcmp(command, "refill") == 0) {
		fill = bytes_of(word());
		rc = tt_staged_refill(out, array, fill, err);
	} else {
		shape_of(word(), chunk);
		rc = tt_staged_rechunk(out, array, chunk, err);
	}
	free(fill);
	if (rc < 0)
		forget(slot);
	return rc;
}

static int do_commit(struct tt_staged *array, struct tt_error *err)
{
	const char *where = word();

	return tt_staged_commit(array,
				strcmp(where, "gaps") == 0    ? driver_alloc_gaps
				: strcmp(where, "apart") == 0 ? driver_alloc_apart
							      : tt_staged_alloc_memory,
				NULL, 0, err);
}

static int change(const char *command, struct tt_staged *array, struct tt_error *err)
{
	uint64_t shape[TT_MAX_RANK];

	if (strcmp(command, "get") == 0)
		return do_get(array, line_at, err);
	if (strcmp(command, "set") == 0)
		return do_set(array, line_at, err);
	if (strcmp(command, "resize") == 0) {
		shape_of(word(), shape);
		return tt_staged_resize(array, shape, err);
	}
	if (strcmp(command, "append") == 0)
		return do_append(array, err);
	if (strcmp(command, "load") == 0)
		return tt_staged_load(array, err);
	if (strcmp(command, "commit") == 0)
		return do_commit(array, err);
	if (strcmp(command, "plan") == 0)
		return do_plan(array, err);
	return derive(command, array, err);
}

static int run(const char *command, const char *name, struct tt_error *err)
{
	bool create = strcmp(command, "full") == 0 || strcmp(command, "over") == 0;
	size_t slot = slot_of(name, create);
	int rc = TT_OK;

	if (create) {
		rc = command[0] == 'f' ? do_full(slot, err) : do_over(slot, err);
		if (rc < 0)
			forget(slot);
	} else if (strcmp(command, "free") == 0) {
		forget(slot);
	} else if (strcmp(command, "state") == 0) {
		print_state(arrays[slot].array);
	} else {
		rc = change(command, arrays[slot].array, err);
	}
	return rc;
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) > 0) {
		struct tt_error err = { .code = 0 };
		char *command, *name;
		int rc;

		line[strcspn(line, "\n")] = '\0';
		command = strtok_r(line, " ", &line_at);
		if (!command)
			continue;
		name = word();
		rc = run(command, name, &err);
		if (rc < 0)
			printf("error %d %s\n", rc, err.text);
		printf(".\n");
		fflush(stdout);
	}
	free(line);
	for (size_t i = 0; i < NAMES; i++)
		if (arrays[i].name[0])
			forget(i);
	return 0;
}
