# tests of archive
check_PROGRAMS += \
	tests/archive/test_filters
TESTS += \
	tests/archive/filters_h5py.t \
	tests/archive/test_filters
EXTRA_DIST += tests/archive/filters_h5py.t
tests_archive_test_filters_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_test_filters_LDADD = $(TEST_LIBS)
check_PROGRAMS += tests/archive/test_io
TESTS += tests/archive/test_io
tests_archive_test_io_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_test_io_LDADD = $(TEST_LIBS)

# the file driver; the crash tests on the rooms with failpoints
check_PROGRAMS += tests/archive/test_driver tests/archive/test_driver_files \
	tests/archive/test_overlay tests/archive/test_crash
TESTS += tests/archive/test_driver tests/archive/test_driver_files tests/archive/test_overlay \
	tests/archive/test_crash tests/archive/driver_h5py.t
EXTRA_DIST += tests/archive/driver_h5py.t tests/archive/driver_help.h tests/archive/work_dir.h
tests_archive_test_driver_SOURCES = tests/archive/test_driver.c \
	tests/archive/commit_model.c tests/archive/commit_model.h
tests_archive_test_driver_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_test_driver_LDADD = $(TEST_LIBS)
tests_archive_test_driver_files_SOURCES = tests/archive/test_driver_files.c \
	tests/archive/commit_model.c tests/archive/commit_model.h
tests_archive_test_driver_files_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_test_driver_files_LDADD = $(TEST_LIBS)
tests_archive_test_overlay_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_test_overlay_LDADD = $(TEST_LIBS)
tests_archive_test_crash_SOURCES = tests/archive/test_crash.c \
	tests/archive/commit_model.c tests/archive/commit_model.h
tests_archive_test_crash_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_test_crash_LDADD = $(FAIL_ARCHIVE_LIBS) $(CHECK_LIBS)

# committing
check_PROGRAMS += tests/archive/test_rules
TESTS += tests/archive/test_rules
tests_archive_test_rules_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_test_rules_LDADD = $(TEST_LIBS)
check_PROGRAMS += tests/archive/test_commit tests/archive/test_commit_stored \
	tests/archive/test_commit_whole tests/archive/commit_tool tests/archive/commit_fail
TESTS += tests/archive/test_commit tests/archive/test_commit_stored \
	tests/archive/test_commit_whole
EXTRA_DIST += tests/archive/commit_help.h
tests_archive_test_commit_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_test_commit_LDADD = $(TEST_LIBS)
tests_archive_test_commit_stored_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_test_commit_stored_LDADD = $(TEST_LIBS)
tests_archive_test_commit_whole_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_test_commit_whole_LDADD = $(TEST_LIBS)
check_PROGRAMS += tests/archive/test_history
TESTS += tests/archive/test_history
tests_archive_test_history_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_test_history_LDADD = $(TEST_LIBS)
tests_archive_commit_tool_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_commit_tool_LDADD = $(TEST_LIBS)
tests_archive_commit_fail_SOURCES = tests/archive/commit_tool.c
tests_archive_commit_fail_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_commit_fail_LDADD = $(FAIL_ARCHIVE_LIBS)
TESTS += tests/archive/commit_crash.t tests/archive/commit_vh5.t tests/archive/hostile_h5py.t
EXTRA_DIST += tests/archive/commit_crash.t tests/archive/commit_vh5.t tests/archive/hostile_h5py.t

# reading
check_PROGRAMS += tests/archive/h5type_tool
TESTS += tests/archive/h5type_h5py.t
EXTRA_DIST += tests/archive/h5type_h5py.t
tests_archive_h5type_tool_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_h5type_tool_LDADD = $(TEST_LIBS)
check_PROGRAMS += tests/archive/archive_tool
tests_archive_archive_tool_CPPFLAGS = $(TEST_CPPFLAGS)
tests_archive_archive_tool_LDADD = $(TEST_LIBS)
TESTS += tests/archive/golden.t tests/archive/odd_h5py.t
EXTRA_DIST += tests/archive/golden.t tests/archive/odd_h5py.t
TESTS += tests/archive/corrupt_h5py.t
EXTRA_DIST += tests/archive/corrupt_h5py.t

# what scripts run
tests/archive/commit_crash.log: tests/archive/commit_tool$(EXEEXT) tests/archive/commit_fail$(EXEEXT)
tests/archive/commit_vh5.log: tests/archive/commit_tool$(EXEEXT)
tests/archive/driver_h5py.log: tests/archive/test_crash$(EXEEXT) tests/archive/test_driver$(EXEEXT)
tests/archive/filters_h5py.log: tests/archive/test_filters$(EXEEXT)
tests/archive/h5type_h5py.log: tests/archive/h5type_tool$(EXEEXT)
tests/archive/golden.log tests/archive/odd_h5py.log: tests/archive/archive_tool$(EXEEXT)
tests/archive/corrupt_h5py.log: tests/archive/archive_tool$(EXEEXT)
