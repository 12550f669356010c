# SPDX-License-Identifier: GPL-2.0-or-later
# Units, udev rule, texts for the journal, and the hook that drives the target of a leader. Paths of the
# installed programs are put in when they are installed.

UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
UDEVRULESDIR ?= $(PREFIX)/lib/udev/rules.d
CATALOGDIR ?= $(PREFIX)/lib/systemd/catalog
SYSCONFDIR ?= /etc

RF_UNITS := ringfenced.service ringfence-exporter.service ringfence-leader@.target

# $(call rf_install_paths,DIRECTORY,NAME,FILE): with @SBINDIR@ and @BINDIR@ replaced.
define rf_install_paths
@printf '  %-7s %s\n' INSTALL $(DESTDIR)$(1)/$(2)
@mkdir -p $(DESTDIR)$(1)
@sed -e 's,@SBINDIR@,$(SBINDIR),g' -e 's,@BINDIR@,$(BINDIR),g' $(3) >$(DESTDIR)$(1)/$(2)
@chmod 0644 $(DESTDIR)$(1)/$(2)

endef

# What `journalctl -x` says of lines of the daemon.
RF_BUILT_EXTRA += $(B)/ringfence.catalog

$(B)/ringfence.catalog: tools/systemd/catalog tools/systemd/ringfence.catalog daemon/message_id.def
	$(call say,CATALOG,$@)
	@mkdir -p $(@D)
	@tools/systemd/catalog >$@

.PHONY: install-systemd

install: install-systemd

install-systemd:
	$(foreach u,$(RF_UNITS),$(call rf_install_paths,$(UNITDIR),$(u),tools/systemd/$(u)))
	$(call rf_install_paths,$(SYSUSERSDIR),ringfence.conf,tools/systemd/sysusers.conf)
	$(call rf_install_paths,$(TMPFILESDIR),ringfence.conf,tools/systemd/tmpfiles.conf)
	$(call rf_install_paths,$(UDEVRULESDIR),61-ringfence.rules,tools/udev/61-ringfence.rules)
	$(call rf_install,0644,$(CATALOGDIR),$(B)/ringfence.catalog)
	$(call rf_install,0755,$(SYSCONFDIR)/ringfence/hooks.d,tools/systemd/50-systemd)
