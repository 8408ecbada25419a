# tests of interop
INTEROP_TESTS = \
	tests/interop/archive_killed.t \
	tests/interop/archive_vh5.t \
	tests/interop/end_to_end.t \
	tests/interop/files_npyt.t \
	tests/interop/golden_extend.t \
	tests/interop/read_vh5.t \
	tests/interop/ring_npyt.t
TESTS += $(INTEROP_TESTS)
EXTRA_DIST += $(INTEROP_TESTS) \
	tests/interop/archive_vh5.py \
	tests/interop/files_npyt.py \
	tests/interop/golden_extend.py \
	tests/interop/ring_npyt.py \
	tests/interop/tap.py

tests/interop/read_vh5.log: tests/archive/archive_tool$(EXEEXT)
