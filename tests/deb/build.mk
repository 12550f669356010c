# SPDX-License-Identifier: GPL-2.0-or-later
# Debian packages: built, judged by lintian, installed, used, removed.

CHECK_LEVELS += check-deb

.PHONY: deb check-deb

deb: all
	+@MAKE='$(MAKE)' tools/debian/build $(B)/deb

DEB_TESTS := \
	tests/deb/deb.sh \
	tests/deb/dkms.sh \
	tests/deb/systemd.sh \
	tests/deb/udev.sh

check-deb: deb
	+@MAKE='$(MAKE)' tests/deb/next $(B)/deb-next >$(B)/deb-next.log 2>&1 || { cat $(B)/deb-next.log; exit 1; }
	+@MAKE='$(MAKE)' tests/lib/run deb $(DEB_TESTS)
