libttbase_la_SOURCES += \
	src/format/manifest.c src/format/manifest.h \
	src/format/npy.h \
	src/format/settings.c src/format/settings.h \
	src/format/tail.h
