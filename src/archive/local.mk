libttarchive_la_SOURCES +=
