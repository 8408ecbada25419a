# man pages; tests/lint/man.t reads them, tests/lint/options.t compares with --help
dist_man_MANS += man/npyt.5 man/ticktail.1 man/ticktail.7 \
	man/tt_archive.3 man/tt_dtype.3 man/tt_error.3 man/tt_file.3 man/tt_recover.3 man/tt_ring.3 \
	man/tt_status.3
