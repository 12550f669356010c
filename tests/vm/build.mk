# SPDX-License-Identifier: GPL-2.0-or-later
# The VMs that the kernel module is tested in.
#
#   make check-vm-quick             of all below what `make check` runs: one boot a kernel
#   make check-san-quick            the essentials of check-san (3 min on two cores)
#   make check-vm [VM="6.1 6.12"]   scripts of tests/vm/guest, each in a machine; and nodes: a
#                                   storage machine and three nodes, for scripts of tests/e2e
#                                   and tests/vm/hosts; and service: the unit under a
#                                   real systemd. VM=6.1:hold,nodes for some;
#                                   VM=newest:quick the newest kernel that apt can find
#   make check-vm-debug             in a kernel with KASAN, lockdep, kmemleak; built once.
#                                   SCRIPTS=hold,cluster for some
#   make check-san [VM=6.12]        fence = reservation against iSCSI targets, three machines
#   make check-nvme                 fence = reservation on NVMe over TCP, in the newest kernel
#   make torture MINUTES=30         random faults on three nodes with gates, in one VM;
#                                   FENCE=reservation: on the machines of check-san
#   make bench-gate [ROUNDS=7]      the gate against dm-linear, in one VM

VM ?= 6.1 6.12

CHECK_LEVELS += check-vm-quick

.PHONY: check-nvme check-san check-san-quick check-vm check-vm-quick check-vm-debug bench-gate torture torture-gate

# Static: they run in the machines, too.
vm_bin := $(addprefix $(B)/vm-bin/,rfvm rfcycles rfsan rf-writer rf-check rf-gap rf-mark)
$(B)/vm-bin/rfvm: tests/vm/helper.c tests/lib/dm.c $(B)/lib/librf-format.a
$(B)/vm-bin/rfcycles: tests/vm/cycles.c tests/lib/dm.c
$(B)/vm-bin/rfsan: tests/vm/san.c
$(B)/vm-bin/rf-writer: tests/lib/writer.c tests/lib/outlet-gate.c tests/lib/dm.c $(B)/lib/librf-format.a
$(B)/vm-bin/rf-check: tests/lib/check.c tests/lib/medium.c $(B)/lib/librf-format.a
$(B)/vm-bin/rf-gap: tests/lib/gap.c $(B)/lib/librf-format.a
$(B)/vm-bin/rf-mark: tests/lib/mark.c
$(vm_bin): $(wildcard tests/lib/*.h)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	@$(CC) $(RF_CPPFLAGS) -Itests/lib -std=gnu11 -O2 $(WARN) -static -o $@ $(filter-out %.h,$^)

vm_programs := $(addprefix $(B)/bin/,ringfenced ringfence ringfence-fencer)

check-vm: $(vm_bin) $(vm_programs)
	@tests/vm/run $(VM)

check-vm-quick: $(vm_bin) $(vm_programs)
	@RF_VM_LEVEL=vm-quick RF_VM_SLOW=$(or $(RF_VM_SLOW),3) tests/vm/run $(VM:%=%:quick)

check-san: $(vm_bin) $(vm_programs)
	@RF_VM_LEVEL=san tests/vm/run $(VM:%=%:san)

check-san-quick: $(vm_bin) $(vm_programs)
	@RF_VM_LEVEL=san-quick RF_SAN_QUICK=1 tests/vm/run $(lastword $(VM)):san

check-nvme: $(vm_bin) $(vm_programs)
	@RF_VM_LEVEL=nvme tests/vm/run newest:nvme

check-vm-debug: $(vm_bin) $(vm_programs)
	@RF_VM_SLOW=$(or $(RF_VM_SLOW),8) RF_VM_APPEND="rf.cycles=100 $(SCRIPTS:%=rf.scripts=%)" tests/vm/run debug:debug

bench-gate: $(vm_bin)
	@tests/vm/bench

torture torture-gate: $(vm_bin) $(vm_programs)
	@$(if $(filter reservation,$(FENCE)),tests/vm/san-torture $(MINUTES) $(lastword $(VM)) $(SEED),\
		tests/vm/torture $(MINUTES) $(firstword $(VM)))
