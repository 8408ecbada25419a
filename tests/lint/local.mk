# tests of lint
LINT_TESTS = \
	tests/lint/deps.t \
	tests/lint/exports.t \
	tests/lint/format.t \
	tests/lint/funclen.t \
	tests/lint/headers.t \
	tests/lint/man.t \
	tests/lint/options.t \
	tests/lint/pairs.t \
	tests/lint/paths.t \
	tests/lint/structs.t \
	tests/lint/words.t
TESTS += $(LINT_TESTS)
EXTRA_DIST += $(LINT_TESTS)
