# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests of what moves bytes: real files, sockets and processes.

$(eval $(call rf_test,loop,tests/unit/test_loop.c,librf-io,))
