# tests of cli
CLI_TESTS = \
	tests/cli/append.t \
	tests/cli/csv.t \
	tests/cli/jsonl.t \
	tests/cli/npy.t \
	tests/cli/program.t \
	tests/cli/read.t
TESTS += $(CLI_TESTS)
EXTRA_DIST += $(CLI_TESTS)
