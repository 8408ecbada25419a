# docs: every page of the directory goes into the tarball
dist_doc_DATA = README.md NEWS HACKING.md SECURITY.md \
	docs/ARCHITECTURE.md docs/DECISIONS.md docs/FORMAT.md docs/CONCURRENCY.md
