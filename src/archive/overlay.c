/* SPDX-License-Identifier: Apache-2.0 */
/* Invariant: room is a power of two and at least 4/3 of count, so a search ends. */
#include "archive/overlay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/num.h"
#include "ticktail/error.h"

void tti_overlay_clear(struct tti_overlay *overlay)
{
	for (size_t i = 0; i < overlay->room; i++)
		free(overlay->slots[i]);
	free(overlay->slots);
	*overlay = (struct tti_overlay){ .room = 0 };
}

/* Where number is, or would be put; room must not be 0. */
static struct tti_page **slot_of(const struct tti_overlay *overlay, uint64_t number)
{
	size_t i = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) &
		   (overlay->room - 1);

	while (overlay->slots[i] && overlay->slots[i]->number != number)
		i = (i + 1) & (overlay->room - 1);
	return &overlay->slots[i];
}

static struct tti_page *find(const struct tti_overlay *overlay, uint64_t number)
{
	return overlay->room ? *slot_of(overlay, number) : NULL;
}

static int grow(struct tti_overlay *overlay)
{
	struct tti_overlay larger = { .room = overlay->room ? 2 * overlay->room : 256 };

	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < overlay->room; i++)
		if (overlay->slots[i])
			*slot_of(&larger, overlay->slots[i]->number) = overlay->slots[i];
	larger.count = overlay->count;
	free(overlay->slots);
	*overlay = larger;
	return TT_OK;
}

static struct tti_page *find_or_add(struct tti_overlay *overlay, uint64_t number)
{
	struct tti_page *page = find(overlay, number);

	if (page)
		return page;
	if (4 * (overlay->count + 1) > 3 * overlay->room && grow(overlay) < 0)
		return NULL;
	page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	page->number = number;
	*slot_of(overlay, number) = page;
	overlay->count++;
	return page;
}

/* The part of [address, address + n) that lies in the first page of it. */
struct part {
	uint64_t number;
	size_t from, n; /* in the page */
};

static struct part first_part(uint64_t address, uint64_t n)
{
	struct part part = { .number = address / TTI_PAGE, .from = address % TTI_PAGE };

	part.n = (size_t)tti_min_u64(n, TTI_PAGE - part.from);
	return part;
}

/* Bits [from, from + n) that lie in the 64-bit word w. */
static uint64_t bits_in(size_t w, size_t from, size_t n)
{
	size_t low = from > 64 * w ? from - 64 * w : 0;
	size_t high = from + n < 64 * w + 64 ? from + n - 64 * w : 64;
	uint64_t below_high = high == 64 ? UINT64_MAX : (UINT64_C(1) << high) - 1;

	return below_high & ~((UINT64_C(1) << low) - 1);
}

static size_t first_word(const struct part *part)
{
	return part->from / 64;
}

static size_t end_word(const struct part *part)
{
	return (part->from + part->n + 63) / 64;
}

int tti_overlay_write(struct tti_overlay *overlay, uint64_t address, const void *bytes,
		      size_t n)
{
	const unsigned char *at = bytes;

	while (n > 0) {
		struct part part = first_part(address, n);
		struct tti_page *page = find_or_add(overlay, part.number);

		if (!page)
			return -ENOMEM;
		memcpy(page->bytes + part.from, at, part.n);
		for (size_t w = first_word(&part); w < end_word(&part); w++)
			page->changed[w] |= bits_in(w, part.from, part.n);
		at += part.n;
		address += part.n;
		n -= part.n;
	}
	return TT_OK;
}

int tti_overlay_watch(struct tti_overlay *overlay, uint64_t address)
{
	struct tti_page *page = find_or_add(overlay, address / TTI_PAGE);

	if (!page)
		return -ENOMEM;
	page->watched = true;
	return TT_OK;
}

void tti_overlay_uncover(struct tti_overlay *overlay, uint64_t address, uint64_t n)
{
	while (n > 0 && overlay->count > 0) {
		struct part part = first_part(address, n);
		struct tti_page *page = find(overlay, part.number);

		for (size_t w = first_word(&part); page && w < end_word(&part); w++)
			page->changed[w] &= ~bits_in(w, part.from, part.n);
		address += part.n;
		n -= part.n;
	}
}

static void lay_word(const struct tti_page *page, size_t w, uint64_t bits,
		     unsigned char *out)
{
	if (bits == UINT64_MAX) {
		memcpy(out, page->bytes + 64 * w, 64);
		return;
	}
	for (size_t i = 0; bits; i++, bits >>= 1)
		if (bits & 1)
			out[i] = page->bytes[64 * w + i];
}

void tti_overlay_lay(const struct tti_overlay *overlay, uint64_t address, void *bytes,
		     size_t n)
{
	unsigned char *at = bytes;

	while (n > 0 && overlay->count > 0) {
		struct part part = first_part(address, n);
		const struct tti_page *page = find(overlay, part.number);

		for (size_t w = first_word(&part); page && w < end_word(&part); w++) {
			uint64_t bits = page->changed[w] & bits_in(w, part.from, part.n);
			size_t skip = part.from > 64 * w ? part.from - 64 * w : 0;

			/* a word that begins before the part is shifted to where the part begins */
			if (skip == 0)
				lay_word(page, w, bits, at + (64 * w - part.from));
			else
				for (size_t i = skip; i < 64; i++)
					if (bits >> i & 1)
						at[i - skip] = page->bytes[64 * w + i];
		}
		at += part.n;
		address += part.n;
		n -= part.n;
	}
}

bool tti_overlay_hides(const struct tti_overlay *overlay, uint64_t address, size_t n)
{
	while (n > 0) {
		struct part part = first_part(address, n);
		const struct tti_page *page = find(overlay, part.number);

		if (!page)
			return false;
		for (size_t w = first_word(&part); w < end_word(&part); w++)
			if (~page->changed[w] & bits_in(w, part.from, part.n))
				return false;
		address += part.n;
		n -= part.n;
	}
	return true;
}

static bool is_changed(const struct tti_page *page)
{
	for (size_t w = 0; w < TTI_LEN(page->changed); w++)
		if (page->changed[w])
			return true;
	return false;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int tti_overlay_list(const struct tti_overlay *overlay, uint64_t end,
		     uint64_t **numbers_out, size_t *count_out)
{
	uint64_t *numbers = malloc((overlay->count + 1) * sizeof(*numbers));
	size_t count = 0;

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < overlay->room; i++) {
		const struct tti_page *page = overlay->slots[i];

		if (page && page->number * TTI_PAGE < end &&
		    (page->watched || is_changed(page)))
			numbers[count++] = page->number;
	}
	qsort(numbers, count, sizeof(*numbers), by_number);
	*numbers_out = numbers;
	*count_out = count;
	return TT_OK;
}
