# docs: every page of the directory goes into the tarball
dist_doc_DATA = README.md NEWS HACKING.md SECURITY.md \
	docs/ARCHITECTURE.md docs/DECISIONS.md docs/FORMAT.md docs/CONCURRENCY.md docs/BENCHMARKS.md \
	docs/ASKS.md

# drawn by make bench-docs
dist_docimg_DATA = docs/img/append-latency-100000.svg docs/img/append-latency-1000.svg \
	docs/img/roll-stall.svg docs/img/spin-latency.svg docs/img/wake-latency.svg
docimgdir = $(docdir)/img
