# tests of interop
EXTRA_DIST += \
	tests/interop/archive_killed.t \
	tests/interop/archive_vh5.py \
	tests/interop/archive_vh5.t \
	tests/interop/end_to_end.t \
	tests/interop/files_npyt.py \
	tests/interop/files_npyt.t \
	tests/interop/tap.py
TESTS += tests/interop/read_vh5.t
EXTRA_DIST += tests/interop/read_vh5.t
