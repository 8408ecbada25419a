# The program is linked from the rooms' objects, not from the shared libraries, so that
# build/ticktail is one file that can be run, traced and copied; it includes public headers
# only (tests/lint/deps.t).
