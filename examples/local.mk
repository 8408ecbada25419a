# examples: built with everything, run by tests/examples
EXTRA_DIST += examples/read_ring.py examples/demo.sh \
	examples/feed_handler.c examples/tail_reader.c
