check_PROGRAMS += tests/base/test_base
TESTS += tests/base/test_base
tests_base_test_base_SOURCES = tests/base/test_base.c
tests_base_test_base_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_base_LDADD = $(TEST_LIBS)
