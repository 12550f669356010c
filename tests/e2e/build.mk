# SPDX-License-Identifier: GPL-2.0-or-later
# End to end: real daemons in network namespaces, a loop device, the target.

$(eval $(call rf_program,rf-writer,tests/lib/writer.c,librf-key librf-core,libnbd libsodium))
$(eval $(call rf_program,rf-check,tests/lib/check.c,librf-core,))
$(eval $(call rf_program,rf-gap,tests/lib/gap.c,librf-core,))
$(eval $(call rf_program,rf-mark,tests/lib/mark.c,,))
