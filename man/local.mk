# man pages; tests/lint/man.t reads them, tests/lint/options.t compares with --help
dist_man_MANS += man/npyt.5 man/ticktail.1 man/ticktail.7 \
	man/tt_archive.3 man/tt_dtype.3 man/tt_error.3 man/tt_file.3 man/tt_index_parse.3 man/tt_nd.3 \
	man/tt_recover.3 man/tt_ring.3 man/tt_staged_commit.3 man/tt_staged_copy.3 \
	man/tt_staged_create.3 man/tt_staged_get.3 man/tt_staged_plan.3 man/tt_status.3
