# tests of the examples and of README
TESTS += tests/examples/handlers.t
EXTRA_DIST += \
	tests/examples/demo.t \
	tests/examples/handlers.t \
	tests/examples/readme.t
