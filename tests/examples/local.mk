# tests of the examples and of README
EXTRA_DIST += \
	tests/examples/demo.t \
	tests/examples/handlers.t \
	tests/examples/readme.t
