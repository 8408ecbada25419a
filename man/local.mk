# man pages; tests/lint/man.t reads them, tests/lint/options.t compares with --help
dist_man_MANS += man/npyt.5 man/ticktail.1 man/ticktail.7 \
	man/tt_archive.3 man/tt_dtype.3 man/tt_error.3 man/tt_file.3 man/tt_index_parse.3 man/tt_nd.3 \
	man/tt_recover.3 man/tt_ring.3 man/tt_staged_commit.3 man/tt_staged_copy.3 \
	man/tt_staged_create.3 man/tt_staged_get.3 man/tt_staged_plan.3 man/tt_status.3

# man finds a page by its file: a link for each function that one describes
page_names = sed -n '/^\.Nd/q; s/^\.Nm \(tt_[a-z0-9_]*\).*/\1.3/p'

install-data-hook: link-man
uninstall-hook: unlink-man

link-man:
	cd "$(DESTDIR)$(man3dir)" && for page in tt_*.3; do \
		test -L "$$page" || for name in `$(page_names) "$$page"`; do \
			test "$$name" = "$$page" || ln -sf "$$page" "$$name" || exit 1; \
		done || exit 1; \
	done

unlink-man:
	cd "$(srcdir)/man" && for page in tt_*.3; do \
		for name in `$(page_names) "$$page"`; do \
			rm -f "$(DESTDIR)$(man3dir)/$$name"; \
		done; \
	done

.PHONY: link-man unlink-man
