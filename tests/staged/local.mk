# the staged-changes array
check_PROGRAMS += tests/staged/driver
tests_staged_driver_SOURCES = tests/staged/driver.c
tests_staged_driver_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_driver_LDADD = $(TEST_LIBS)
EXTRA_DIST += tests/staged/differential.py
