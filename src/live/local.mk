libttlive_la_SOURCES += \
	src/live/file.c src/live/file.h \
	src/live/file_copy.c \
	src/live/file_create.c \
	src/live/file_read.c \
	src/live/file_wait.c \
	src/live/file_write.c \
	src/live/fork_guard.c src/live/fork_guard.h \
	src/live/futex.c src/live/futex.h \
	src/live/live_file.h \
	src/live/live_make.c \
	src/live/live_open.c \
	src/live/live_read.c \
	src/live/live_write.c \
	src/live/place.c src/live/place.h \
	src/live/words.h
