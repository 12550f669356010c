# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon: format and core, both pure, then what moves bytes for them.

$(eval $(call rf_archive,librf-format,\
	daemon/format/codec_disk.c \
	daemon/format/codec_meta.c \
	daemon/format/codec_wire.c \
	daemon/format/crc32c.c \
	daemon/format/geometry.c \
	daemon/format/names.c \
	daemon/format/timing.c \
))

$(eval $(call rf_archive,librf-core,\
	daemon/core/ballot.c \
	daemon/core/beat.c \
	daemon/core/campaign.c \
	daemon/core/claim.c \
	daemon/core/commit.c \
	daemon/core/core.c \
	daemon/core/exclusion.c \
	daemon/core/join.c \
	daemon/core/lead.c \
	daemon/core/lease.c \
	daemon/core/op.c \
	daemon/core/peers.c \
	daemon/core/quorum.c \
	daemon/core/view.c \
	daemon/core/wake.c \
))

# The payload of a committed state: the daemon's and the tool's.
$(eval $(call rf_archive,librf-blob,daemon/blob.c daemon/newest.c))

$(eval $(call rf_program,ringfenced,\
	daemon/area.c \
	daemon/bind.c \
	daemon/config.c \
	daemon/config_check.c \
	daemon/config_diff.c \
	daemon/config_value.c \
	daemon/decision.c \
	daemon/guard.c \
	daemon/guard_past.c \
	daemon/guard_record.c \
	daemon/helper.c \
	daemon/fencers.c \
	daemon/figures.c \
	daemon/fit.c \
	daemon/identity.c \
	daemon/journal.c \
	daemon/line.c \
	daemon/keep.c \
	daemon/keep_disk.c \
	daemon/life.c \
	daemon/log.c \
	daemon/log_decision.c \
	daemon/main.c \
	daemon/metrics.c \
	daemon/node.c \
	daemon/pause.c \
	daemon/reload.c \
	daemon/reopen.c \
	daemon/service.c \
	daemon/show.c \
	daemon/start.c \
	daemon/status.c \
	daemon/tell.c \
	daemon/io/control.c \
	daemon/io/control_keep.c \
	daemon/io/control_tell.c \
	daemon/io/disk.c \
	daemon/io/fencer.c \
	daemon/io/hooks.c \
	daemon/io/hooks_job.c \
	daemon/io/hooks_keeper.c \
	daemon/io/hooks_runner.c \
	daemon/io/hooks_script.c \
	daemon/io/listen.c \
	daemon/io/loop.c \
	daemon/io/net.c \
	daemon/io/notify.c \
	daemon/io/seal.c \
	daemon/io/tree.c \
	daemon/io/watchdog.c \
,librf-core librf-format librf-blob librf-key,liburing libsodium inih))
