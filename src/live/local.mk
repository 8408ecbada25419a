libttlive_la_SOURCES += \
	src/live/fork_guard.c src/live/fork_guard.h \
	src/live/futex.c src/live/futex.h \
	src/live/live_file.h \
	src/live/words.h
