/* SPDX-License-Identifier: Apache-2.0 */
/* One level a dimension; the depth is the rank, at most TT_MAX_RANK. */
#include "staged/print.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "staged/nd.h"

enum { LINE = 75, THRESHOLD = 1000, EDGE = 3 };

struct printer {
	struct tti_text *text;
	const struct tti_numbers *numbers;
	bool summary;
	int width;   /* of a number */
	size_t line; /* length of the line begun */
};

static bool leaves_out(const struct printer *p, uint32_t axis)
{
	return p->summary && p->numbers->shape[axis] > 2 * EDGE;
}

/* The k-th element shown along axis; *gap is set when "..." comes before it. */
static uint64_t shown(const struct printer *p, uint32_t axis, uint64_t k, bool *gap)
{
	*gap = leaves_out(p, axis) && k == EDGE;
	return leaves_out(p, axis) && k >= EDGE ? p->numbers->shape[axis] - 2 * EDGE + k
						: k;
}

static uint64_t shown_count(const struct printer *p, uint32_t axis)
{
	return leaves_out(p, axis) ? 2 * EDGE : p->numbers->shape[axis];
}

/* The widest of the numbers shown. */
static void measure(struct printer *p, uint32_t axis, uint64_t base)
{
	uint64_t n = shown_count(p, axis);

	for (uint64_t k = 0; k < n; k++) {
		bool gap;
		uint64_t i = base * p->numbers->shape[axis] + shown(p, axis, k, &gap);
		int width;

		if (axis + 1 < p->numbers->rank) {
			measure(p, axis + 1, i);
			continue;
		}
		width = snprintf(NULL, 0, "%" PRIu64,
				 p->numbers->get(p->numbers->ctx, i));
		p->width = width > p->width ? width : p->width;
	}
}

static void put_word(struct printer *p, const char *word, int len, uint32_t indent,
		     size_t room)
{
	if (p->line + (size_t)len > room && p->line > indent) {
		while (p->text->len > 0 && p->text->bytes[p->text->len - 1] == ' ')
			p->text->bytes[--p->text->len] = '\0';
		tti_text_putf(p->text, "\n%*s", (int)indent, "");
		p->line = indent;
	}
	tti_text_put(p->text, word, (size_t)len);
	p->line += (size_t)len;
}

static void print_row(struct printer *p, uint64_t base, uint32_t axis)
{
	uint64_t n = shown_count(p, axis);
	size_t room = LINE - axis - 1;
	char word[24];

	p->line = axis + 1; /* the brackets stand where the indent would */
	for (uint64_t k = 0; k < n; k++) {
		bool gap;
		uint64_t i = base * p->numbers->shape[axis] + shown(p, axis, k, &gap);
		int len;

		if (gap) {
			put_word(p, "...", 3, axis + 1, room);
			tti_text_put_str(p->text, " ");
			p->line++;
		}
		len = snprintf(word, sizeof(word), "%*" PRIu64, p->width,
			       p->numbers->get(p->numbers->ctx, i));
		put_word(p, word, len, axis + 1, room);
		if (k + 1 < n) {
			tti_text_put_str(p->text, " ");
			p->line++;
		}
	}
}

static void print_axis(struct printer *p, uint64_t base, uint32_t axis)
{
	uint64_t n = shown_count(p, axis);
	uint32_t left = p->numbers->rank - axis;

	tti_text_put_str(p->text, "[");
	if (left == 1)
		print_row(p, base, axis);
	for (uint64_t k = 0; left > 1 && k < n; k++) {
		bool gap;
		uint64_t i = base * p->numbers->shape[axis] + shown(p, axis, k, &gap);

		for (int part = gap ? 0 : 1; part < 2; part++) {
			if (k > 0 || part == 0)
				tti_text_putf(
					p->text, "%.*s%*s",
					(int)tti_min_u64(left - 1, 31),
					"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
					"\n\n\n\n\n\n\n",
					(int)axis + 1, "");
			if (part == 0)
				tti_text_put_str(p->text, "...");
			else
				print_axis(p, i, axis + 1);
		}
	}
	tti_text_put_str(p->text, "]");
}

void tti_print_numbers(struct tti_text *text, const struct tti_numbers *numbers)
{
	struct printer p = { .text = text, .numbers = numbers };
	uint64_t size;

	if (tti_shape_empty(numbers->rank, numbers->shape)) {
		tti_text_put_str(text, "[]");
		return;
	}
	p.summary = tti_shape_bytes(numbers->rank, numbers->shape, 1, &size, NULL) < 0 ||
		    size > THRESHOLD;
	measure(&p, 0, 0);
	print_axis(&p, 0, 0);
}
