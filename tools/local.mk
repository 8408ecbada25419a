# The program is linked from the rooms' objects, not from the shared libraries, so that
# build/ticktail is one file that can be run, traced and copied; it includes public headers
# only (tests/lint/deps.t).
bin_PROGRAMS += ticktail
ticktail_CPPFLAGS = $(AM_CPPFLAGS) $(JSONC_CFLAGS)
ticktail_LDADD = libttarchive.la libttlive.la libttbase.la $(TT_ARCHIVE_LIBS) \
	$(JSONC_LIBS) $(CSV_LIBS) -lm
ticktail_SOURCES = \
	tools/cmd.h \
	tools/cmd_adopt.c \
	tools/cmd_append.c \
	tools/cmd_archive.c \
	tools/cmd_backup.c \
	tools/cmd_clear.c \
	tools/cmd_create.c \
	tools/cmd_gen.c \
	tools/cmd_info.c \
	tools/cmd_merge.c \
	tools/cmd_prune.c \
	tools/cmd_read.c \
	tools/cmd_recover.c \
	tools/cmd_resize.c \
	tools/cmd_seal.c \
	tools/cmd_status.c \
	tools/cmd_tail.c \
	tools/cmd_top.c \
	tools/cmd_update.c \
	tools/cmd_verify.c \
	tools/cmd_versions.c \
	tools/codec.c tools/codec.h \
	tools/codec_csv_in.c \
	tools/codec_csv_out.c \
	tools/codec_jsonl_in.c \
	tools/codec_jsonl_out.c \
	tools/codec_npy_in.c \
	tools/codec_npy_out.c \
	tools/codec_raw.c \
	tools/commands.h \
	tools/convert.c tools/convert.h \
	tools/descr.c tools/descr.h \
	tools/human.c \
	tools/input.c tools/input.h \
	tools/json_doc.c tools/json_doc.h \
	tools/json_text.c tools/json_text.h \
	tools/guard.c tools/guard.h \
	tools/kind.c tools/kind.h \
	tools/live.c tools/live.h \
	tools/live_opts.c tools/live_opts.h \
	tools/nearest.c \
	tools/options.c \
	tools/output.c tools/output.h \
	tools/position.c \
	tools/progress.c tools/progress.h \
	tools/range.c tools/range.h \
	tools/recent.c \
	tools/report.c \
	tools/rowtype.c tools/rowtype.h \
	tools/signals.c tools/signals.h \
	tools/source.c tools/source.h \
	tools/source_archive.c \
	tools/spool.c tools/spool.h \
	tools/status.h \
	tools/status_json.c \
	tools/status_metrics.c \
	tools/status_text.c \
	tools/tail.c tools/tail.h \
	tools/tail_begin.c tools/tail_file.c tools/tail_file.h \
	tools/tail_cut.c tools/tail_ring.c \
	tools/ticktail.c \
	tools/value.h \
	tools/value_float.c \
	tools/value_parse.c \
	tools/value_print.c \
	tools/value_text.c
