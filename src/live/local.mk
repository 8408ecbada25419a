libttlive_la_SOURCES += \
	src/live/fork_guard.c src/live/fork_guard.h \
	src/live/futex.c src/live/futex.h \
	src/live/live_file.h \
	src/live/live_make.c \
	src/live/live_open.c \
	src/live/live_read.c \
	src/live/live_write.c \
	src/live/words.h
