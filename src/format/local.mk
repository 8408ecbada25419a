libttbase_la_SOURCES += \
	src/format/dtype.c src/format/dtype.h \
	src/format/dtype_code.c \
	src/format/dtype_dict.c \
	src/format/dtype_leaf.c \
	src/format/dtype_pad.c \
	src/format/dtype_parse.c src/format/dtype_parse.h \
	src/format/dtype_print.c \
	src/format/dtype_short.c \
	src/format/dtype_struct.c \
	src/format/literal.c src/format/literal.h \
	src/format/manifest.c src/format/manifest.h \
	src/format/npy.c src/format/npy.h \
	src/format/npy_header.c \
	src/format/npy_text.c src/format/npy_text.h \
	src/format/printable.c \
	src/format/settings.c src/format/settings.h \
	src/format/tail.c src/format/tail.h \
	src/format/text.c src/format/text.h
