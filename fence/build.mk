# SPDX-License-Identifier: GPL-2.0-or-later
# Fences: cluster keys, the fencer process and its drivers, the target plugin.

$(eval $(call rf_archive,librf-key,fence/key.c))
