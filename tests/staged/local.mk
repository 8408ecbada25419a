# the staged-changes array
check_PROGRAMS += tests/staged/driver
tests_staged_driver_SOURCES = tests/staged/driver.c
tests_staged_driver_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_driver_LDADD = $(TEST_LIBS)
EXTRA_DIST += tests/staged/differential.py
check_PROGRAMS += tests/staged/test_digest
TESTS += tests/staged/test_digest
tests_staged_test_digest_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_digest_LDADD = $(TEST_LIBS)
