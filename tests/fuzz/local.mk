# tests of fuzz
# Without --enable-fuzzers each target is linked with replay.c, which runs its corpus; with it
# each is a libFuzzer program, and replay.t runs those over the same corpus.
if TT_FUZZERS
FUZZ_MAIN =
else
FUZZ_MAIN = tests/fuzz/replay.c
endif
TT_FUZZ_LINK = $(AM_LDFLAGS) $(TT_FUZZ)

FUZZ_TARGETS = \
	tests/fuzz/fuzz_dtype \
	tests/fuzz/fuzz_manifest \
	tests/fuzz/fuzz_npy \
	tests/fuzz/fuzz_settings \
	tests/fuzz/fuzz_tail
check_PROGRAMS += $(FUZZ_TARGETS)
TESTS += tests/fuzz/replay.t
tests/fuzz/replay.log: $(FUZZ_TARGETS)

tests_fuzz_fuzz_dtype_SOURCES = tests/fuzz/fuzz_dtype.c tests/fuzz/fuzz.h $(FUZZ_MAIN)
tests_fuzz_fuzz_dtype_LDFLAGS = $(TT_FUZZ_LINK)
tests_fuzz_fuzz_dtype_LDADD = libttbase.la
tests_fuzz_fuzz_manifest_SOURCES = tests/fuzz/fuzz_manifest.c $(FUZZ_MAIN)
tests_fuzz_fuzz_manifest_LDFLAGS = $(TT_FUZZ_LINK)
tests_fuzz_fuzz_manifest_LDADD = libttbase.la
tests_fuzz_fuzz_npy_SOURCES = tests/fuzz/fuzz_npy.c $(FUZZ_MAIN)
tests_fuzz_fuzz_npy_LDFLAGS = $(TT_FUZZ_LINK)
tests_fuzz_fuzz_npy_LDADD = libttbase.la
tests_fuzz_fuzz_settings_SOURCES = tests/fuzz/fuzz_settings.c $(FUZZ_MAIN)
tests_fuzz_fuzz_settings_LDFLAGS = $(TT_FUZZ_LINK)
tests_fuzz_fuzz_settings_LDADD = libttbase.la
tests_fuzz_fuzz_tail_SOURCES = tests/fuzz/fuzz_tail.c $(FUZZ_MAIN)
tests_fuzz_fuzz_tail_LDFLAGS = $(TT_FUZZ_LINK)
tests_fuzz_fuzz_tail_LDADD = libttbase.la

EXTRA_DIST += tests/fuzz/replay.t tests/fuzz/make_corpus.py tests/fuzz/corpus
