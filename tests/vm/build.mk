# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel module, and the VMs it is tested in.
#
#   make module [KDIR=/path/to/headers]   for the running kernel, or that one
#   make check-vm [VM="6.1 6.12"]         scripts of tests/vm/guest; VM=6.1:hold for one
#   make bench-gate                       the gate against dm-linear, in one VM

KDIR ?= /lib/modules/$(shell uname -r)/build
VM ?= 6.1 6.12

.PHONY: module check-vm bench-gate
module:
	$(call say,MODULE,$(KDIR))
	@tests/vm/module $(notdir $(patsubst %/,%,$(KDIR))) $(KDIR) $(MODULE_ARGS)

vm_static = $(CC) $(RF_CPPFLAGS) -std=gnu11 -O2 $(WARN) -static -o $@ $^

$(B)/vm-bin/rfvm: tests/vm/helper.c $(B)/lib/librf-core.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	@$(vm_static)

$(B)/vm-bin/rfcycles: tests/vm/cycles.c
	$(call say,LD,$@)
	@mkdir -p $(@D)
	@$(vm_static)

check-vm: $(B)/vm-bin/rfvm $(B)/vm-bin/rfcycles $(B)/bin/ringfence-fencer
	@tests/vm/run $(VM)

bench-gate: $(B)/vm-bin/rfvm
	@tests/vm/bench
