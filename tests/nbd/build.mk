# SPDX-License-Identifier: GPL-2.0-or-later
# The target plugin and the fencer, against a real nbdkit and libnbd.

$(eval $(call rf_test,nbd-key,tests/nbd/key.c,librf-key,libsodium))
$(eval $(call rf_test,nbd-latch,tests/nbd/latch.c,librf-nbd))
$(eval $(call rf_test,nbd-judge,tests/nbd/judge.c,librf-nbd librf-format,libsodium))
$(eval $(call rf_test,nbd-switch,tests/nbd/switch.c tests/nbd/lab.c,\
	librf-format librf-key,libnbd libsodium))
$(eval $(call rf_test,nbd-quorum,tests/nbd/quorum.c tests/nbd/lab.c,\
	librf-format librf-key,libnbd libsodium))
$(eval $(call rf_test,nbd-fencer,tests/nbd/fencer.c tests/nbd/lab.c,\
	librf-format librf-key,libnbd libsodium))

# What the tests start, and the shim that makes a disk slow.
$(B)/tests/nbd-switch $(B)/tests/nbd-quorum $(B)/tests/nbd-fencer: \
	| $(B)/lib/nbdkit-ringfence-plugin.so $(B)/bin/ringfence-fencer $(B)/tests/nbd-slow.so

$(eval $(call rf_compile,tests/nbd/slow.c))
$(B)/tests/nbd-slow.so: $(B)/obj/tests/nbd/slow.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	@$(CC) $(RF_CFLAGS) $(LDFLAGS) -shared -o $@ $<
