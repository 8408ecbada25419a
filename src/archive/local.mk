libttarchive_la_SOURCES += \
	src/archive/access.c src/archive/access.h \
	src/archive/chunks.c \
	src/archive/commit.c \
	src/archive/compare.c src/archive/compare.h \
	src/archive/driver.c src/archive/driver.h src/archive/driver_state.h \
	src/archive/filters.c src/archive/filters.h \
	src/archive/flock.c src/archive/flock.h \
	src/archive/h5.c src/archive/h5.h \
	src/archive/io.c src/archive/io.h src/archive/io_engine.h \
	src/archive/io_threads.c \
	src/archive/io_uring.c \
	src/archive/journal.c src/archive/journal.h \
	src/archive/look.c \
	src/archive/lzf.c src/archive/lzf.h \
	src/archive/newfile.c src/archive/newfile.h \
	src/archive/overlay.c src/archive/overlay.h \
	src/archive/stages.c src/archive/stages.h \
	src/archive/step.c src/archive/step.h \
	src/archive/superblock.c src/archive/superblock.h \
	src/archive/vfd.c

# committing
libttarchive_la_SOURCES += \
	src/archive/archiver.c \
	src/archive/bands.c src/archive/bands.h \
	src/archive/crew.c src/archive/crew.h \
	src/archive/deposit.c src/archive/deposit.h \
	src/archive/h5put.c src/archive/h5put.h \
	src/archive/hashes.c src/archive/hashes.h \
	src/archive/history.c src/archive/history.h \
	src/archive/history_missing.c \
	src/archive/holds.c \
	src/archive/item.c \
	src/archive/ledger.c src/archive/ledger.h \
	src/archive/names.c src/archive/names.h \
	src/archive/plan.c src/archive/plan.h \
	src/archive/removal.c src/archive/removal.h \
	src/archive/slots.c src/archive/slots.h \
	src/archive/sources.c src/archive/sources.h \
	src/archive/timefield.c src/archive/timefield.h \
	src/archive/vds.c src/archive/vds.h \
	src/archive/versiongroup.c src/archive/versiongroup.h
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
	src/archive/verify_dataset.c src/archive/verify_dataset.h \
	src/archive/verify_slots.c \
	src/archive/versions.c

# those with failpoints; tests/live/crash_names.t looks that none is left out
libttfail_archive_a_SOURCES += \
	src/archive/archiver.c \
	src/archive/commit.c \
	src/archive/journal.c \
	src/archive/step.c
