check_PROGRAMS += tests/base/test_base
TESTS += tests/base/test_base
check_PROGRAMS += tests/base/test_time
TESTS += tests/base/test_time
