# man pages; tests/lint/man.t reads them, tests/lint/options.t compares with --help
dist_man_MANS += man/npyt.5 man/ticktail.1 man/ticktail.7
