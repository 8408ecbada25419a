# tests of cli
CLI_TESTS = \
	tests/cli/append.t \
	tests/cli/archive.t \
	tests/cli/bad_input.t \
	tests/cli/csv.t \
	tests/cli/files.t \
	tests/cli/jsonl.t \
	tests/cli/kill.t \
	tests/cli/npy.t \
	tests/cli/program.t \
	tests/cli/prune.t \
	tests/cli/read.t \
	tests/cli/roundtrip.t \
	tests/cli/status.t \
	tests/cli/tail.t
TESTS += $(CLI_TESTS)
EXTRA_DIST += $(CLI_TESTS) tests/cli/roundtrip.py tests/cli/status.py
