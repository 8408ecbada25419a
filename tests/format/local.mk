# tests of format
check_PROGRAMS += tests/format/test_ring_format
TESTS += tests/format/test_ring_format
tests_format_test_ring_format_SOURCES = tests/format/test_ring_format.c
tests_format_test_ring_format_CPPFLAGS = $(TEST_CPPFLAGS)
tests_format_test_ring_format_LDADD = libttbase.la $(CHECK_LIBS)
check_PROGRAMS += tests/format/dtype_echo
tests_format_dtype_echo_SOURCES = tests/format/dtype_echo.c
tests_format_dtype_echo_LDADD = libttbase.la
check_PROGRAMS += tests/format/test_npy tests/format/test_tail
TESTS += tests/format/test_npy tests/format/test_tail
tests_format_test_npy_SOURCES = tests/format/test_npy.c
tests_format_test_npy_CPPFLAGS = $(TEST_CPPFLAGS)
tests_format_test_npy_LDADD = libttbase.la $(CHECK_LIBS)
tests_format_test_tail_SOURCES = tests/format/test_tail.c
tests_format_test_tail_CPPFLAGS = $(TEST_CPPFLAGS)
tests_format_test_tail_LDADD = libttbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/format/test_dtype
TESTS += tests/format/test_dtype tests/format/dtype_numpy.t
tests_format_test_dtype_SOURCES = tests/format/test_dtype.c
tests_format_test_dtype_CPPFLAGS = $(TEST_CPPFLAGS)
tests_format_test_dtype_LDADD = libttbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/format/test_dtype_oom
TESTS += tests/format/test_dtype_oom
tests_format_test_dtype_oom_SOURCES = tests/format/test_dtype_oom.c
tests_format_test_dtype_oom_CPPFLAGS = $(TEST_CPPFLAGS)
tests_format_test_dtype_oom_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc \
	-Wl,--wrap=realloc,--wrap=strdup
tests_format_test_dtype_oom_LDADD = libttbase.la $(CHECK_LIBS)
EXTRA_DIST += tests/format/dtype_numpy.t tests/format/dtype_numpy.py

check_PROGRAMS += tests/format/npy_echo
TESTS += tests/format/npy_numpy.t
tests_format_npy_echo_SOURCES = tests/format/npy_echo.c
tests_format_npy_echo_LDADD = libttbase.la
EXTRA_DIST += tests/format/npy_numpy.t tests/format/npy_numpy.py
