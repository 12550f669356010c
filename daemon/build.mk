# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon: the pure core, then what moves bytes for it.

$(eval $(call rf_archive,librf-core,\
	daemon/core/crc32c.c \
))
