libttarchive_la_SOURCES += \
	src/archive/access.c src/archive/access.h \
	src/archive/chunks.c \
	src/archive/commit.c \
	src/archive/digest.c src/archive/digest.h \
	src/archive/driver.c src/archive/driver.h src/archive/driver_state.h \
	src/archive/filters.c src/archive/filters.h \
	src/archive/flock.c src/archive/flock.h \
	src/archive/h5.c src/archive/h5.h \
	src/archive/io.c src/archive/io.h src/archive/io_engine.h \
	src/archive/io_threads.c \
	src/archive/io_uring.c \
	src/archive/journal.c src/archive/journal.h \
	src/archive/lzf.c src/archive/lzf.h \
	src/archive/newfile.c src/archive/newfile.h \
	src/archive/overlay.c src/archive/overlay.h \
	src/archive/stages.c src/archive/stages.h \
	src/archive/step.c src/archive/step.h \
	src/archive/superblock.c src/archive/superblock.h \
	src/archive/vfd.c

# committing
libttarchive_la_SOURCES += \
	src/archive/dedup.c src/archive/dedup.h \
	src/archive/names.c src/archive/names.h \
	src/archive/timefield.c src/archive/timefield.h
# reading
libttarchive_la_SOURCES += \
	src/archive/backup.c \
	src/archive/dataset.c src/archive/dataset.h \
	src/archive/h5attr.c src/archive/h5attr.h \
	src/archive/h5dtype.c \
	src/archive/h5type.c src/archive/h5type.h \
	src/archive/layout.c src/archive/layout.h \
	src/archive/mapping.c src/archive/mapping.h \
	src/archive/slotread.c \
	src/archive/raw.c \
	src/archive/read.c \
	src/archive/reader.c src/archive/reader.h \
	src/archive/slotdigest.c src/archive/slotdigest.h \
	src/archive/table.c src/archive/table.h \
	src/archive/verify.c src/archive/verify.h \
	src/archive/verify_dataset.c \
	src/archive/versions.c
