# The power-loss test.  Calls that make things durable, or give and take names, are sent to
# tests/live/power/wraps.c, which keeps a model of what a disk would hold.
POWER_MODEL = \
	tests/live/power/model.c tests/live/power/model.h \
	tests/live/power/model_image.c tests/live/power/model_parts.h \
	tests/live/power/model_trace.c \
	tests/live/power/wraps.c
# -Wl,--wrap=CALL for each
POWER_WRAPS = -Wl,--wrap=open,--wrap=openat,--wrap=fopen,--wrap=fsync,--wrap=fdatasync \
	-Wl,--wrap=linkat,--wrap=unlinkat,--wrap=unlink,--wrap=renameat2,--wrap=renameat \
	-Wl,--wrap=rename,--wrap=mkdirat,--wrap=mkdir,--wrap=ftruncate,--wrap=fallocate \
	-Wl,--wrap=pwrite,--wrap=write,--wrap=sync_file_range,--wrap=msync \
	-Wl,--wrap=tti_failpoint

check_PROGRAMS += tests/live/power/marks tests/live/power/order tests/live/power/power
TESTS += tests/live/power/marks tests/live/power/order tests/live/power/power
tests_live_power_power_SOURCES = \
	tests/live/power/power.c tests/live/power/power.h \
	tests/live/power/ring_power.c tests/live/power/ring_power.h \
	tests/live/power/ring_check.c \
	tests/live/power/file_power.c \
	tests/live/power/damage_power.c \
	$(POWER_MODEL)
tests_live_power_power_CPPFLAGS = $(CRASH_CPPFLAGS)
tests_live_power_power_LDFLAGS = $(AM_LDFLAGS) $(POWER_WRAPS)
tests_live_power_power_LDADD = $(CRASH_LIBS)

# the order of calls, by the same means
tests_live_power_order_SOURCES = tests/live/power/order.c $(POWER_MODEL)
tests_live_power_order_CPPFLAGS = $(CRASH_CPPFLAGS)
tests_live_power_order_LDFLAGS = $(AM_LDFLAGS) $(POWER_WRAPS)
tests_live_power_order_LDADD = $(CRASH_LIBS)

# what each mark says against what is on disk then
tests_live_power_marks_SOURCES = tests/live/power/marks.c $(POWER_MODEL)
tests_live_power_marks_CPPFLAGS = $(CRASH_CPPFLAGS)
tests_live_power_marks_LDFLAGS = $(AM_LDFLAGS) $(POWER_WRAPS)
tests_live_power_marks_LDADD = $(CRASH_LIBS)
