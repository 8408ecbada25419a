# tests of format
check_PROGRAMS += tests/format/test_ring_format
TESTS += tests/format/test_ring_format
check_PROGRAMS += tests/format/dtype_echo
check_PROGRAMS += tests/format/test_npy tests/format/test_npy_write tests/format/test_tail
TESTS += tests/format/test_npy tests/format/test_npy_write tests/format/test_tail
EXTRA_DIST += tests/format/format_help.h

check_PROGRAMS += tests/format/test_dtype tests/format/test_dtype_use
TESTS += tests/format/test_dtype tests/format/test_dtype_use tests/format/dtype_numpy.t

check_PROGRAMS += tests/format/test_dtype_oom
TESTS += tests/format/test_dtype_oom
tests_format_test_dtype_oom_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc \
	-Wl,--wrap=realloc,--wrap=strdup
EXTRA_DIST += tests/format/dtype_numpy.t tests/format/dtype_numpy.py

check_PROGRAMS += tests/format/npy_echo
TESTS += tests/format/npy_numpy.t
EXTRA_DIST += tests/format/npy_numpy.t tests/format/npy_numpy.py

# what scripts run
tests/format/dtype_numpy.log: tests/format/dtype_echo$(EXEEXT)
tests/format/npy_numpy.log: tests/format/npy_echo$(EXEEXT)
