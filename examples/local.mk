# examples: built with everything, run by tests/examples
noinst_PROGRAMS += examples/feed_handler examples/tail_reader
examples_feed_handler_SOURCES = examples/feed_handler.c
examples_feed_handler_LDADD = libticktail.la
examples_tail_reader_SOURCES = examples/tail_reader.c
examples_tail_reader_LDADD = libticktail.la
EXTRA_DIST += examples/read_ring.py examples/demo.sh
