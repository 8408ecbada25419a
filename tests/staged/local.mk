# the staged-changes array
staged_help = tests/staged/help.c tests/staged/help.h
check_PROGRAMS += \
	tests/staged/driver \
	tests/staged/test_digest \
	tests/staged/test_scenarios_digest \
	tests/staged/test_scenarios_index \
	tests/staged/test_scenarios_write \
	tests/staged/test_scenarios_resize \
	tests/staged/test_scenarios_derive \
	tests/staged/test_scenarios_commit
TESTS += \
	tests/staged/test_digest \
	tests/staged/test_scenarios_digest \
	tests/staged/test_scenarios_index \
	tests/staged/test_scenarios_write \
	tests/staged/test_scenarios_resize \
	tests/staged/test_scenarios_derive \
	tests/staged/test_scenarios_commit
tests_staged_driver_SOURCES = tests/staged/driver.c \
	tests/staged/driver_slabs.c tests/staged/driver_slabs.h
tests_staged_driver_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_driver_LDADD = $(TEST_LIBS)
tests_staged_test_digest_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_digest_LDADD = $(TEST_LIBS)
tests_staged_test_scenarios_digest_SOURCES = tests/staged/test_scenarios_digest.c $(staged_help)
tests_staged_test_scenarios_digest_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_scenarios_digest_LDADD = $(TEST_LIBS)
tests_staged_test_scenarios_index_SOURCES = tests/staged/test_scenarios_index.c $(staged_help)
tests_staged_test_scenarios_index_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_scenarios_index_LDADD = $(TEST_LIBS)
tests_staged_test_scenarios_write_SOURCES = tests/staged/test_scenarios_write.c $(staged_help)
tests_staged_test_scenarios_write_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_scenarios_write_LDADD = $(TEST_LIBS)
tests_staged_test_scenarios_resize_SOURCES = tests/staged/test_scenarios_resize.c $(staged_help)
tests_staged_test_scenarios_resize_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_scenarios_resize_LDADD = $(TEST_LIBS)
tests_staged_test_scenarios_derive_SOURCES = tests/staged/test_scenarios_derive.c $(staged_help)
tests_staged_test_scenarios_derive_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_scenarios_derive_LDADD = $(TEST_LIBS)
tests_staged_test_scenarios_commit_SOURCES = tests/staged/test_scenarios_commit.c $(staged_help)
tests_staged_test_scenarios_commit_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_scenarios_commit_LDADD = $(TEST_LIBS)
EXTRA_DIST += tests/staged/differential.py

# against a plain array
check_PROGRAMS += tests/staged/test_model
TESTS += tests/staged/test_model
tests_staged_test_model_SOURCES = tests/staged/test_model.c \
	tests/staged/model.c tests/staged/model.h $(staged_help)
tests_staged_test_model_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_model_LDADD = $(TEST_LIBS)

# more than caches hold
check_PROGRAMS += tests/staged/test_large
TESTS += tests/staged/test_large
tests_staged_test_large_SOURCES = tests/staged/test_large.c $(staged_help)
tests_staged_test_large_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_large_LDADD = $(TEST_LIBS)

# what moves bytes
check_PROGRAMS += tests/staged/test_box
TESTS += tests/staged/test_box
tests_staged_test_box_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_box_LDADD = $(TEST_LIBS)

# what callers get wrong
check_PROGRAMS += tests/staged/test_refusals
TESTS += tests/staged/test_refusals
tests_staged_test_refusals_SOURCES = tests/staged/test_refusals.c $(staged_help)
tests_staged_test_refusals_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_refusals_LDADD = $(TEST_LIBS)

# without memory
check_PROGRAMS += tests/staged/test_alloc
TESTS += tests/staged/test_alloc
tests_staged_test_alloc_SOURCES = tests/staged/test_alloc.c \
	tests/staged/failing.c tests/staged/failing.h $(staged_help)
tests_staged_test_alloc_CPPFLAGS = $(TEST_CPPFLAGS)
tests_staged_test_alloc_LDADD = $(TEST_LIBS)
tests_staged_test_alloc_LDFLAGS = \
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=free

# against Python
TESTS += tests/staged/casts_numpy.t tests/staged/differential_vh5.t
EXTRA_DIST += \
	tests/staged/casts.py tests/staged/casts_numpy.t \
	tests/staged/differential_vh5.t

# what scripts run
tests/staged/casts_numpy.log tests/staged/differential_vh5.log: tests/staged/driver$(EXEEXT)
