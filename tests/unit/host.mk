# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests of configuration, log, control socket and hooks: real files,
# sockets and processes.

$(eval $(call rf_test,config,\
	tests/unit/test_config.c \
	daemon/config.c daemon/config_check.c daemon/config_diff.c daemon/config_value.c \
	daemon/journal.c daemon/log.c,\
	librf-format,inih))
$(eval $(call rf_test,log,\
	tests/unit/test_log.c daemon/journal.c daemon/log.c daemon/log_decision.c daemon/decision.c \
	daemon/io/notify.c,librf-format,))
RF_CONTROL_SUPPORT := tests/unit/control_support.c daemon/io/control.c \
	daemon/io/control_keep.c daemon/io/control_tell.c daemon/io/listen.c
$(eval $(call rf_test,control,\
	tests/unit/test_control.c $(RF_CONTROL_SUPPORT),,))
$(eval $(call rf_test,control-keep,\
	tests/unit/test_control_keep.c $(RF_CONTROL_SUPPORT),,))
$(eval $(call rf_test,blob,tests/unit/test_blob.c,librf-blob,))
$(eval $(call rf_test,hooks,\
	tests/unit/test_hooks.c \
	daemon/io/hooks.c daemon/io/hooks_job.c daemon/io/hooks_keeper.c \
	daemon/io/hooks_runner.c daemon/io/hooks_script.c daemon/io/tree.c,,))
$(eval $(call rf_test,status,tests/unit/test_status.c tests/unit/support.c daemon/status.c,librf-core librf-format,))
$(eval $(call rf_test,library,tests/unit/test_library.c,libringfence,))
