# tests of live
LIVE_TESTS = \
	tests/live/prop_calls_file \
	tests/live/prop_calls_ring \
	tests/live/prop_ring \
	tests/live/test_clock_calls \
	tests/live/test_counters \
	tests/live/test_file \
	tests/live/test_file_bad \
	tests/live/test_file_mark \
	tests/live/test_file_mp \
	tests/live/test_file_ops \
	tests/live/test_file_resize \
	tests/live/test_file_storm \
	tests/live/test_file_threads \
	tests/live/test_fork \
	tests/live/test_golden \
	tests/live/test_helper \
	tests/live/test_helper_denied \
	tests/live/test_helper_file \
	tests/live/test_mark \
	tests/live/test_mark_lost \
	tests/live/test_padding \
	tests/live/test_reboot \
	tests/live/test_recover \
	tests/live/test_recover_bits \
	tests/live/test_recover_doubt \
	tests/live/test_recover_odd \
	tests/live/test_recover_ring \
	tests/live/test_recover_shared \
	tests/live/test_register \
	tests/live/test_ring \
	tests/live/test_ring_ahead \
	tests/live/test_ring_damage \
	tests/live/test_ring_faults \
	tests/live/test_ring_foreign \
	tests/live/test_ring_limit \
	tests/live/test_ring_mend \
	tests/live/test_ring_merge \
	tests/live/test_ring_name \
	tests/live/test_ring_prune \
	tests/live/test_ring_refused \
	tests/live/test_ring_seal \
	tests/live/test_ring_surroundings \
	tests/live/test_ring_time \
	tests/live/test_ring_upkeep \
	tests/live/test_status \
	tests/live/test_tick \
	tests/live/test_wait
# a feed killed at random instants from outside
LIVE_TESTS += tests/live/kill_storm
check_PROGRAMS += $(LIVE_TESTS)
tests_live_prop_calls_file_SOURCES = tests/live/prop_calls.h tests/live/prop_calls_file.c \
	tests/live/prop_calls_file.h tests/live/prop_calls_file_read.c tests/live/prop_calls_file_write.c
tests_live_prop_calls_ring_SOURCES = tests/live/prop_calls.h tests/live/prop_calls_ring.c \
	tests/live/prop_calls_ring.h tests/live/prop_calls_ring_keep.c \
	tests/live/prop_calls_ring_read.c tests/live/prop_calls_ring_write.c
tests_live_prop_ring_SOURCES = tests/live/prop_ring.c tests/live/prop_ring.h \
	tests/live/prop_ring_actors.c
TESTS += $(LIVE_TESTS)
EXTRA_DIST += tests/live/age_mark.h tests/live/helper_help.h tests/live/name_help.h tests/live/reboot_help.h \
	tests/live/recover_help.h tests/live/recover_ring_help.h tests/live/ring_help.h \
	tests/live/status_help.h tests/live/upkeep_help.h

# what makes marks look old, for scripts
check_PROGRAMS += tests/live/age_mark

include tests/live/crash.mk
include tests/live/power.mk
