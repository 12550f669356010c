# SPDX-License-Identifier: GPL-2.0-or-later
# Fences: cluster keys, the fencer process and its drivers, the target plugin.

$(eval $(call rf_archive,librf-key,fence/key.c,libsodium))

# Reservations without a device: what the tests link.
$(eval $(call rf_archive,librf-pr,fence/pr_take.c fence/pr_try.c fence/pr_read.c fence/pr_path.c))

# The plugin without nbdkit: what the tests and fuzzers link.
$(eval $(call rf_archive,librf-nbd,\
	fence/nbd/area.c fence/nbd/claimread.c fence/nbd/latch.c fence/nbd/quorum.c))

$(eval $(call rf_plugin,nbdkit-ringfence-plugin,\
	fence/nbd/plugin.c fence/nbd/export.c fence/nbd/volume.c fence/nbd/data.c \
	fence/nbd/refuse.c fence/nbd/stat.c,\
	librf-nbd librf-key librf-format,nbdkit libsodium))

# nbdkit_* come from the server that loads it.
$(B)/lib/nbdkit-ringfence-plugin.so: private LDLIBS += -Wl,-z,undefs

$(eval $(call rf_program,ringfence-fencer,\
	fence/fencer.c fence/driver.c fence/params.c fence/none.c fence/target.c fence/link.c \
	fence/gate.c fence/gate_dm.c fence/gate_table.c fence/pr.c fence/pr_dev.c \
	fence/chain.c fence/chain_way.c,\
	librf-pr librf-key librf-nbd librf-format,libnbd libsodium devmapper))
