# SPDX-License-Identifier: GPL-2.0-or-later
# Debian packages: built, judged by lintian, installed, used, removed.

CHECK_LEVELS += check-deb

.PHONY: deb check-deb

deb: all
	+@MAKE='$(MAKE)' tools/debian/build $(B)/deb

check-deb: all
	+@MAKE='$(MAKE)' tests/lib/run deb tests/deb/deb.sh
