# SPDX-License-Identifier: GPL-2.0-or-later
# The target plugin and the fencer, against a real nbdkit and libnbd.

$(eval $(call rf_test,nbd-switch,tests/nbd/switch.c tests/nbd/lab.c,\
	librf-core librf-key,libnbd libsodium))

$(eval $(call rf_test,nbd-key,tests/nbd/key.c,librf-key,libsodium))

# What the tests start, and the shim that makes a disk slow.
$(B)/tests/nbd-switch: | $(B)/lib/nbdkit-ringfence-plugin.so $(B)/tests/nbd-slow.so

$(eval $(call rf_compile,tests/nbd/slow.c))
$(B)/tests/nbd-slow.so: $(B)/obj/tests/nbd/slow.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	@$(CC) $(filter-out -fsanitize=%,$(RF_CFLAGS)) $(LDFLAGS) -shared -o $@ $<
