/* SPDX-License-Identifier: Apache-2.0 */
/* The power fails at random places of random work, and whatever a disk may hold then is opened
 * again: first read, then written, then read and verified.  Some images lose power a second
 * time while they are brought back.
 *
 * usage: power             TT_SEED=N: the first seed; TT_LONG=1: 5,000 images instead of 90
 *        power check DIR   look again at an image that was kept
 *
 * Every run of work has its own seed; the calls of a helper thread come when they come, so a
 * seed alone may not bring an image back: one that fails is kept whole. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/mp.h"
#include "live/power/model.h"
#include "live/power/power.h"

#define IMAGES_A_RUN 6
#define DEADLINE 60 /* seconds, for work or check */

struct power_record *rec;
struct tt_error power_err;
const char *power_step = "";

static const struct power_kind *const kinds[] = { &power_ring, &power_file,
						  &power_damaged };
#define KINDS 3

/* Images that the worker made, in memory that outlives it. */
struct image {
	char dir[64]; /* below the test's directory */
	char place[64];
	struct power_record record;
};
struct harvest {
	int count, wanted;
	struct image at[IMAGES_A_RUN];
};

static char top[PATH_MAX]; /* the test's directory */
static uint64_t random_state;
static unsigned images_seen, again_seen;

uint64_t power_random(uint64_t n)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return n ? (z ^ (z >> 31)) % n : 0;
}

void power_fail(const char *file, int line, const char *what)
{
	const char *base = strrchr(file, '/');

	fprintf(stderr, "# %s: %s:%d: %s: %s\n", power_step, base ? base + 1 : file, line,
		what, power_err.text);
	fprintf(stderr, "# synced %lld, appended %lld, attempted %lld, gen %llu\n",
		(long long)rec->synced, (long long)rec->appended,
		(long long)rec->attempted, (unsigned long long)rec->gen);
	_exit(1);
}

/* ---- Rows ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t z =
		(a + UINT64_C(0x632be59bd9b4e019)) * UINT64_C(0xff51afd7ed558ccd) ^ b;

	z = (z ^ (z >> 32)) * UINT64_C(0xc4ceb9fe1a85ec53);
	return (z ^ (z >> 29)) | 1; /* no word of a row is zero by chance */
}

void power_fill(struct power_row *row, int64_t number, uint64_t gen)
{
	row->number = number;
	row->gen = gen;
	row->fill[0] = mix((uint64_t)number, gen);
	row->fill[1] = mix(row->fill[0], 1);
	row->check = mix(row->fill[1], row->fill[0]);
}

bool power_is_row(const struct power_row *row)
{
	struct power_row right;

	power_fill(&right, row->number, row->gen);
	return memcmp(&right, row, sizeof(right)) == 0;
}

/* ---- Directories ---- */

static int remove_one(const char *name, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(name);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void copy_tree(const char *from, const char *to)
{
	char command[2 * PATH_MAX + 32];

	snprintf(command, sizeof(command), "cp -a '%s' '%s'", from, to);
	NEED(system(command) == 0);
}

static const char *in_top(char path[PATH_MAX], const char *name)
{
	NEED(snprintf(path, PATH_MAX, "%s/%s", top, name) < PATH_MAX);
	return path;
}

/* The machine starts again. */
static void new_boot(unsigned boot)
{
	static char path[PATH_MAX];
	FILE *file = fopen(in_top(path, "boot_id"), "w");

	NEED(file && fprintf(file, "%08x-7469-4063-8b6b-74616964b007\n", boot) > 0 &&
	     fclose(file) == 0);
	model_boot(path);
}

/* ---- Work under the model ---- */

struct run {
	const struct power_kind *kind;
	const char *dir; /* worked in */
	uint64_t seed;
	bool check; /* bring an image back, instead of working from nothing */
	unsigned boot;
	struct harvest *harvest; /* NULL: no model */
	uint64_t spared;	 /* places left at which the power stays on */
};

/* Rare places get more than their share: most of the time a feed only appends. */
static void at_place(void *ctx, const char *place, unsigned times)
{
	struct run *run = ctx;
	struct harvest *harvest = run->harvest;
	struct image *image;
	char path[PATH_MAX];

	if (run->spared > 0)
		run->spared--;
	if (run->spared > 0 || model_random(6 + times) != 0)
		return;
	image = &harvest->at[harvest->count];
	snprintf(image->dir, sizeof(image->dir), "%.40s-%d", run->dir, harvest->count);
	snprintf(image->place, sizeof(image->place), "%s:%u", place, times);
	image->record = *rec;
	image->record.image = (uint64_t)harvest->count;
	model_image(in_top(path, image->dir));
	power_keep_marks(path);
	if (++harvest->count == harvest->wanted)
		_exit(0);
}

static int work(void *arg)
{
	struct run *run = arg;
	char path[PATH_MAX];

	random_state = run->seed;
	rec->seed = run->seed;
	rec->boot = run->boot;
	NEED(chdir(in_top(path, run->dir)) == 0);
	new_boot(run->boot);
	if (!run->check && run->kind->prepare)
		run->kind->prepare();
	if (run->harvest) {
		static const uint64_t early[] = { 1, 100, 500, 1500 };

		run->spared = run->check ? 0 : power_random(early[power_random(4)]);
		model_start(".", run->seed);
		model_on_place(at_place, run);
	}
	if (run->check)
		run->kind->check();
	else
		run->kind->work();
	return 0;
}

static int carry_out(struct run *run)
{
	return mp_wait(mp_spawn(work, run), DEADLINE);
}

/* ---- Judging ---- */

static void keep(const struct image *image, const char *pristine, int status)
{
	const char *tmp = getenv("TMPDIR");
	char kept[PATH_MAX], path[PATH_MAX + 16];
	FILE *file;

	snprintf(kept, sizeof(kept), "%s/tt-power-kept-XXXXXX", tmp ? tmp : "/tmp");
	NEED(mkdtemp(kept));
	snprintf(path, sizeof(path), "%s/image", kept);
	copy_tree(pristine, path);
	snprintf(path, sizeof(path), "%s/record", kept);
	file = fopen(path, "wb");
	NEED(file && fwrite(&image->record, sizeof(image->record), 1, file) == 1 &&
	     fclose(file) == 0);
	printf("# power lost at %s, %s of seed %llu: status %d\n"
	       "# replay: tests/live/power/power check %s\n",
	       image->place, kinds[image->record.kind]->name,
	       (unsigned long long)image->record.seed, status, kept);
}

static bool judge(const struct image *image, unsigned boot, bool again)
{
	char from[PATH_MAX], pristine[PATH_MAX];
	struct run run = { .kind = kinds[image->record.kind],
			   .dir = image->dir,
			   .seed = image->record.seed + boot,
			   .check = true,
			   .boot = boot };
	static struct harvest *harvest;
	bool good = true;
	int status;

	images_seen++;
	in_top(from, image->dir);
	copy_tree(from, in_top(pristine, again ? "pristine" : "pristine-again"));
	*rec = image->record;
	if (again) {
		if (!harvest)
			harvest = mp_shared(sizeof(*harvest));
		run.harvest = harvest;
		run.harvest->count = 0;
		run.harvest->wanted = 3;
	}
	status = carry_out(&run);
	if (status != 0) {
		keep(image, pristine, status);
		good = false;
	}
	remove_tree(from);
	remove_tree(pristine);
	for (int i = 0; again && i < run.harvest->count; i++) {
		again_seen++;
		good = judge(&run.harvest->at[i], boot + 1, false) && good;
	}
	return good;
}

static bool try_seed(const struct power_kind *kind, unsigned kind_no, uint64_t seed)
{
	static struct harvest *harvest;
	struct run run = { .kind = kind, .dir = "work", .seed = seed, .boot = 1 };
	char path[PATH_MAX];
	bool good;
	int status;

	if (!harvest)
		harvest = mp_shared(sizeof(*harvest));
	harvest->count = 0;
	harvest->wanted = IMAGES_A_RUN;
	run.harvest = harvest;
	memset(rec, 0, sizeof(*rec));
	rec->kind = kind_no;
	NEED(mkdir(in_top(path, "work"), 0755) == 0);
	status = carry_out(&run);
	good = status == 0;
	if (!good)
		printf("# the work of seed %llu ended with status %d\n",
		       (unsigned long long)seed, status);
	for (int i = 0; i < harvest->count; i++)
		good = judge(&harvest->at[i], 2, i % 4 == 3) && good;
	remove_tree(path);
	return good;
}

/* ---- The test ---- */

static void make_top(void)
{
	/* memory where there is some: the model is the disk */
	const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");

	snprintf(top, sizeof(top), "%s/tt-power-XXXXXX", tmp ? tmp : "/tmp");
	NEED(mkdtemp(top));
}

static int check_kept(const char *kept)
{
	struct run run = { .dir = "image", .check = true };
	char path[PATH_MAX], image[PATH_MAX];
	FILE *file;
	int status;

	snprintf(path, sizeof(path), "%s/record", kept);
	file = fopen(path, "rb");
	NEED(file && fread(rec, sizeof(*rec), 1, file) == 1 && fclose(file) == 0 &&
	     rec->kind < KINDS);
	snprintf(path, sizeof(path), "%s/image", kept);
	copy_tree(path, in_top(image, "image"));
	run.kind = kinds[rec->kind];
	run.boot = (unsigned)rec->boot + 1;
	run.seed = rec->seed + run.boot;
	status = carry_out(&run);
	printf("status %d; looked at in %s\n", status, top);
	return status != 0;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	const char *seed_text = getenv("TT_SEED"), *only = getenv("TT_POWER_KIND");
	uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : (uint64_t)time(NULL);
	unsigned wanted = getenv("TT_LONG") ? 5000 / KINDS : 90 / KINDS;
	int failed = 0;

	rec = mp_shared(sizeof(*rec));
	NEED(rec);
	setvbuf(stdout, NULL, _IOLBF, 0);
	make_top();
	if (argc == 3 && strcmp(argv[1], "check") == 0)
		return check_kept(argv[2]);
	printf("1..%d\n# TT_SEED=%llu\n", KINDS, (unsigned long long)seed);
	for (unsigned k = 0; k < KINDS; k++) {
		int64_t began = now_ms();
		unsigned bad = 0;

		images_seen = again_seen = 0;
		for (uint64_t i = 0; images_seen < wanted && bad < 5; i++)
			if (!only || strcmp(only, kinds[k]->name) == 0)
				bad += !try_seed(kinds[k], k, (seed + i) * 1000);
			else
				images_seen = wanted;
		printf("# %u images, %u of them of a second loss, %lld ms\n", images_seen,
		       again_seen, (long long)(now_ms() - began));
		printf("%s %u - %s: whatever the disk holds, what was synced is there\n",
		       bad ? "not ok" : "ok", k + 1, kinds[k]->name);
		failed += bad > 0;
	}
	remove_tree(top);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
