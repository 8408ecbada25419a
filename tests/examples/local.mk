# tests of the examples and of README
EXAMPLE_TESTS = \
	tests/examples/demo.t \
	tests/examples/handlers.t \
	tests/examples/manual.t \
	tests/examples/readme.t \
	tests/examples/staged.t
TESTS += $(EXAMPLE_TESTS)
EXTRA_DIST += $(EXAMPLE_TESTS)
