# SPDX-License-Identifier: GPL-2.0-or-later
# The tool: disk commands need no daemon, cluster commands talk to one.

$(eval $(call rf_program,ringfence,\
	tools/cmd_format.c \
	tools/cmd_keygen.c \
	tools/cmd_probe.c \
	tools/disk.c \
	tools/format_plan.c \
	tools/format_refuse.c \
	tools/format_write.c \
	tools/inequality.c \
	tools/locate.c \
	tools/opt.c \
	tools/out.c \
	tools/record.c \
	tools/ringfence.c \
	tools/words.c \
,librf-core librf-key,json-c smartcols blkid libsodium))
