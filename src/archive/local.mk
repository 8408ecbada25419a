libttarchive_la_SOURCES += \
	src/archive/digest.h \
	src/archive/driver.h \
	src/archive/filters.h \
	src/archive/h5.h \
	src/archive/io.h \
	src/archive/lzf.h
