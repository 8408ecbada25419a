# examples: built with everything, run by tests/examples
noinst_PROGRAMS += examples/feed_handler examples/tail_reader
examples_feed_handler_SOURCES = examples/feed_handler.c
examples_feed_handler_LDADD = libticktail.la
examples_tail_reader_SOURCES = examples/tail_reader.c
examples_tail_reader_LDADD = libticktail.la
if TT_ARCHIVE
noinst_PROGRAMS += examples/staged_corrections
endif
examples_staged_corrections_SOURCES = examples/staged_corrections.c
examples_staged_corrections_LDADD = libticktail-archive.la libticktail.la
EXTRA_DIST += examples/read_ring.py examples/demo.sh
