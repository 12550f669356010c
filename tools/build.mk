# SPDX-License-Identifier: GPL-2.0-or-later
# The tool: disk commands need no daemon, cluster commands talk to one.

$(eval $(call rf_program,ringfence,\
	tools/alive.c \
	tools/cmd_attach.c \
	tools/cmd_doctor.c \
	tools/cmd_dump.c \
	tools/cmd_events.c \
	tools/cmd_fence.c \
	tools/cmd_format.c \
	tools/cmd_history.c \
	tools/cmd_image.c \
	tools/cmd_keygen.c \
	tools/cmd_leader.c \
	tools/cmd_metrics.c \
	tools/cmd_nbd_name.c \
	tools/cmd_nodes.c \
	tools/cmd_probe.c \
	tools/cmd_reload.c \
	tools/cmd_repair.c \
	tools/cmd_resign.c \
	tools/cmd_run.c \
	tools/cmd_slots.c \
	tools/cmd_state.c \
	tools/cmd_status.c \
	tools/cmd_timeline.c \
	tools/cmd_timing.c \
	tools/cmd_tune.c \
	tools/cmd_verify.c \
	tools/cmd_wait.c \
	tools/cmd_watch.c \
	tools/cmd_wipe.c \
	tools/cmd_work.c \
	tools/ctl.c \
	tools/disk.c \
	tools/doctor_disk.c \
	tools/doctor_host.c \
	tools/doctor_net.c \
	tools/doctor_pr.c \
	tools/field.c \
	tools/field_table.c \
	tools/format_plan.c \
	tools/format_refuse.c \
	tools/format_write.c \
	tools/inequality.c \
	tools/job.c \
	tools/keep.c \
	tools/locate.c \
	tools/mailbox.c \
	tools/measure.c \
	tools/opt.c \
	tools/out.c \
	tools/past.c \
	tools/prometheus.c \
	tools/proposal.c \
	tools/record.c \
	tools/repair.c \
	tools/repair_epoch.c \
	tools/repair_history.c \
	tools/ringfence.c \
	tools/rows.c \
	tools/timeline.c \
	tools/timeline_svg.c \
	tools/verify_disk.c \
	tools/verify_volume.c \
	tools/victim.c \
	tools/watch_screen.c \
	tools/watch_view.c \
	tools/words.c \
	tools/worker.c \
	daemon/area.c \
	daemon/config.c \
	daemon/config_check.c \
	daemon/config_value.c \
	daemon/helper.c \
	daemon/identity.c \
	daemon/journal.c \
	daemon/line.c \
	daemon/io/tree.c \
	daemon/log.c \
,librf-format librf-blob librf-key,json-c smartcols blkid libsodium inih))

$(eval $(call rf_program,ringfence-exporter,\
	tools/ctl.c \
	tools/exporter.c \
	tools/prometheus.c \
,,libmicrohttpd))

$(eval $(call rf_test,cli,\
	tests/unit/test_cli.c \
	tools/ctl.c \
	tools/inequality.c \
	tools/opt.c \
	tools/proposal.c \
	tools/record.c \
,librf-format,))

$(eval $(call rf_test,victim,\
	tests/unit/test_victim.c \
	tools/victim.c \
,librf-format,))
