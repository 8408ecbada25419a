libttstaged_la_SOURCES += \
	src/staged/access.c \
	src/staged/apply.c \
	src/staged/array.c src/staged/array.h \
	src/staged/box.c src/staged/box.h \
	src/staged/cast.c src/staged/cast.h \
	src/staged/commit.c \
	src/staged/create.c \
	src/staged/dedup.c src/staged/dedup.h \
	src/staged/derive.c \
	src/staged/digest.c src/staged/digest.h \
	src/staged/hash.c src/staged/hash.h \
	src/staged/index_parse.c \
	src/staged/mapper.c src/staged/mapper.h \
	src/staged/nd.c src/staged/nd.h \
	src/staged/plan.c src/staged/plan.h \
	src/staged/plan_access.c \
	src/staged/plan_commit.c \
	src/staged/plan_pieces.c \
	src/staged/plan_resize.c \
	src/staged/plan_rows.c \
	src/staged/plan_text.c \
	src/staged/print.c src/staged/print.h \
	src/staged/query.c src/staged/query.h \
	src/staged/select.c src/staged/select.h \
	src/staged/slab.c src/staged/slab.h \
	src/staged/team.c src/staged/team.h \
	src/staged/transfer.c src/staged/transfer.h \
	src/staged/vec.h
