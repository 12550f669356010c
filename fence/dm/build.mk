# SPDX-License-Identifier: GPL-2.0-only
# The kernel module. Not part of `make all`: it is built for a kernel, not a host.
#
#   make module [KDIR=/path/to/headers]   for the running kernel, or that one
#   make install-dkms [DESTDIR=]          its sources where dkms finds them

KDIR ?= /lib/modules/$(shell uname -r)/build
DKMS_DIR = $(DESTDIR)/usr/src/ringfence-$(VERSION)

.PHONY: module install-dkms
module:
	$(call say,MODULE,$(KDIR))
	@fence/dm/make-module local $(KDIR) $(MODULE_ARGS)

install-dkms:
	$(call say,INSTALL,$(DKMS_DIR))
	@install -d $(DKMS_DIR)/include/ringfence
	@install -m 0644 fence/dm/*.c fence/dm/*.h fence/dm/Kbuild fence/dm/dkms.conf $(DKMS_DIR)/
	@install -m 0644 include/ringfence/*.h $(DKMS_DIR)/include/ringfence/
