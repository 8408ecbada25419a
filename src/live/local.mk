libttlive_la_SOURCES +=
