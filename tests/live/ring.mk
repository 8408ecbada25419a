# tests of rings
check_PROGRAMS += tests/live/test_ring
TESTS += tests/live/test_ring
tests_live_test_ring_SOURCES = tests/live/test_ring.c tests/live/ring_help.h
tests_live_test_ring_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_ring_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/live/test_ring_upkeep
TESTS += tests/live/test_ring_upkeep
tests_live_test_ring_upkeep_SOURCES = tests/live/test_ring_upkeep.c tests/live/ring_help.h
tests_live_test_ring_upkeep_CPPFLAGS = $(TEST_CPPFLAGS)
tests_live_test_ring_upkeep_LDADD = libttlive.la libttbase.la $(CHECK_LIBS)
