# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests of what moves bytes: real files, sockets and processes.

$(eval $(call rf_test,loop,tests/unit/test_loop.c daemon/io/loop.c,,liburing))
$(eval $(call rf_test,disk,tests/unit/test_disk.c daemon/io/disk.c daemon/io/loop.c,,liburing))
$(eval $(call rf_test,net,tests/unit/test_net.c daemon/io/net.c daemon/io/loop.c,,liburing))
$(eval $(call rf_test,seal,tests/unit/test_seal.c daemon/io/seal.c,librf-key,libsodium))
$(eval $(call rf_test,fencer,\
	tests/unit/test_fencer.c daemon/io/fencer.c daemon/io/loop.c,,liburing))
$(eval $(call rf_test,loop-old,tests/unit/test_loop_old.c daemon/io/loop.c,,liburing))
$(B)/tests/loop-old: private LDLIBS += \
	-Wl,--wrap=io_uring_queue_init_params,--wrap=io_uring_register_buf_ring
$(eval $(call rf_test,watchdog,\
	tests/unit/test_watchdog.c daemon/io/watchdog.c daemon/guard_record.c daemon/line.c,,))
$(eval $(call rf_test,guard,\
	tests/unit/test_guard.c \
	daemon/guard.c daemon/guard_record.c daemon/io/watchdog.c daemon/line.c,,))
$(B)/tests/guard: private LDLIBS += -Wl,--wrap=unlink
$(eval $(call rf_test,pr-read,tests/unit/test_pr_read.c,librf-pr))
$(eval $(call rf_test,pr,tests/unit/test_pr.c tests/unit/pr_target.c,librf-pr))
$(eval $(call rf_test,params,tests/unit/test_params.c fence/params.c,))
$(eval $(call rf_test,chain,tests/unit/test_chain.c fence/chain.c fence/chain_way.c fence/driver.c,))
$(eval $(call rf_test,pr-try,tests/unit/test_pr_try.c tests/unit/pr_target.c,librf-pr))
