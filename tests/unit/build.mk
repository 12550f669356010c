# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests of the daemon, by who keeps them: what moves bytes, what serves people.

-include tests/unit/io.mk
-include tests/unit/host.mk
