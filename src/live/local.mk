libttlive_la_SOURCES += \
	src/live/cut_rows.c src/live/cut_rows.h \
	src/live/file.c src/live/file.h \
	src/live/file_adopt.c \
	src/live/file_copy.c \
	src/live/file_create.c \
	src/live/file_duty.c \
	src/live/file_mark.c src/live/file_mark.h \
	src/live/file_mark_cut.c \
	src/live/file_mark_slot.c src/live/file_mark_slot.h \
	src/live/file_ops.c \
	src/live/file_read.c \
	src/live/file_recover.c \
	src/live/file_verify.c \
	src/live/file_wait.c \
	src/live/file_write.c \
	src/live/fork_guard.c src/live/fork_guard.h \
	src/live/futex.c src/live/futex.h \
	src/live/helper.c src/live/helper.h \
	src/live/live_file.h \
	src/live/live_make.c \
	src/live/live_open.c \
	src/live/live_read.c \
	src/live/live_write.c \
	src/live/mark_verify.c src/live/mark.c src/live/mark.h \
	src/live/path_kind.c \
	src/live/place.c src/live/place.h \
	src/live/recover.c src/live/recover.h \
	src/live/shared_text.c src/live/shared_text.h \
	src/live/salvage.c src/live/salvage.h \
	src/live/salvage_header.c \
	src/live/salvage_tail.c \
	src/live/populate.c src/live/populate.h \
	src/live/pulse.c \
	src/live/row_copy.h \
	src/live/words.h
libttlive_la_SOURCES += \
	src/live/ring.h \
	src/live/ring_append.c \
	src/live/ring_backup.c \
	src/live/ring_counters.c src/live/ring_counters.h \
	src/live/ring_create.c \
	src/live/ring_unproven.c src/live/ring_cut.c src/live/ring_cut.h \
	src/live/ring_reboot.c src/live/ring_reboot_next.c \
	src/live/ring_dir.c \
	src/live/ring_duty.c \
	src/live/ring_entry.c \
	src/live/ring_index.c \
	src/live/ring_info.c \
	src/live/ring_like.c \
	src/live/ring_list.c \
	src/live/ring_lock.c \
	src/live/ring_manifest.c \
	src/live/ring_mark.c src/live/ring_mark.h \
	src/live/ring_mend_tail.c \
	src/live/ring_merge.c \
	src/live/ring_name.c \
	src/live/ring_next.c \
	src/live/ring_number.c \
	src/live/ring_odd.c src/live/ring_odd.h \
	src/live/ring_open.c \
	src/live/ring_parts.c \
	src/live/ring_pass.c \
	src/live/ring_prune.c \
	src/live/ring_site.c src/live/ring_site.h \
	src/live/ring_reader.c src/live/ring_reader.h \
	src/live/ring_rebuild.c \
	src/live/ring_recover.c src/live/ring_recover.h \
	src/live/ring_recover_entries.c \
	src/live/ring_recover_rows.c \
	src/live/ring_register.c src/live/ring_register.h \
	src/live/ring_roll.c \
	src/live/ring_seal.c \
	src/live/ring_seek.c \
	src/live/ring_settings.c \
	src/live/ring_settle.c \
	src/live/ring_status.c src/live/ring_status.h \
	src/live/ring_status_files.c \
	src/live/ring_status_readers.c \
	src/live/ring_upkeep.c \
	src/live/ring_verify.c \
	src/live/ring_view.c \
	src/live/ring_wait.c \
	src/live/ring_wfile.c src/live/ring_wfile.h \
	src/live/ring_words.h \
	src/live/ring_writer.c src/live/ring_writer.h

# those with failpoints; tests/live/crash_names.t looks that none is left out
libttfail_live_a_SOURCES += \
	src/live/cut_rows.c \
	src/live/file_adopt.c \
	src/live/file_copy.c \
	src/live/file_create.c \
	src/live/file_mark.c \
	src/live/file_mark_cut.c \
	src/live/file_ops.c \
	src/live/file_write.c \
	src/live/live_make.c \
	src/live/live_open.c \
	src/live/live_write.c \
	src/live/recover.c \
	src/live/ring_append.c \
	src/live/ring_backup.c \
	src/live/ring_create.c \
	src/live/ring_duty.c \
	src/live/ring_entry.c \
	src/live/ring_manifest.c \
	src/live/ring_mark.c \
	src/live/ring_mend_tail.c \
	src/live/ring_merge.c \
	src/live/ring_name.c \
	src/live/ring_odd.c \
	src/live/ring_open.c \
	src/live/ring_prune.c \
	src/live/ring_reboot.c \
	src/live/ring_reboot_next.c \
	src/live/ring_recover.c \
	src/live/ring_recover_entries.c \
	src/live/ring_roll.c \
	src/live/ring_seal.c \
	src/live/ring_settings.c \
	src/live/ring_settle.c \
	src/live/ring_site.c \
	src/live/ring_upkeep.c \
	src/live/ring_wfile.c \
	src/live/ring_writer.c
