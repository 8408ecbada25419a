# tests of what happens around a ring: space, limits, other things in its directory
check_PROGRAMS += tests/live/test_ring_prune
TESTS += tests/live/test_ring_prune
tests_live_test_ring_prune_SOURCES = tests/live/test_ring_prune.c tests/live/ring_help.h
tests_live_test_ring_prune_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_ring_prune_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)
check_PROGRAMS += tests/live/test_ring_surroundings
TESTS += tests/live/test_ring_surroundings
tests_live_test_ring_surroundings_SOURCES = tests/live/test_ring_surroundings.c \
	tests/live/ring_help.h tests/lib/mp.c tests/lib/mp.h
tests_live_test_ring_surroundings_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_ring_surroundings_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)
