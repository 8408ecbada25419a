libttbase_la_SOURCES += \
	src/base/boot.c src/base/boot.h \
	src/base/clock.c src/base/clock.h \
	src/base/compiler.h \
	src/base/crc32c.c src/base/crc32c.h \
	src/base/error.c src/base/error.h \
	src/base/error_tag.c \
	src/base/failpoint.c src/base/failpoint.h \
	src/base/fs.c src/base/fs.h \
	src/base/limits.c src/base/limits.h \
	src/base/lock.c src/base/lock.h \
	src/base/map.c src/base/map.h \
	src/base/num.c src/base/num.h \
	src/base/opts.h \
	src/base/time.c
