# SPDX-License-Identifier: GPL-2.0-or-later
#
# ringfence. `make help` lists the targets.
#
#   make CC=clang                 another compiler
#   make SAN=address,undefined    sanitizers
#   make VARIANT=x EXTRA_CFLAGS=…  any other build, beside the normal one
#
# Each such variant has its own directory under build/. Rooms describe what
# they build in fragments (build.mk) with the functions rf_archive, rf_program,
# rf_plugin and rf_test below. Sources are listed by name, never by wildcard.

VERSION := 0.1.0

ifeq ($(origin CC),default)
CC := gcc
endif
SAN ?=
VARIANT ?=
EXTRA_CFLAGS ?=
PKG_CONFIG ?= pkg-config

PREFIX ?= /usr/local
DESTDIR ?=
SBINDIR ?= $(PREFIX)/sbin
BINDIR ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec/ringfence
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
DATADIR ?= $(PREFIX)/share/ringfence
OCFDIR ?= $(PREFIX)/lib/ocf/resource.d

# ---- where this variant is built ----

empty :=
space := $(empty) $(empty)
comma := ,
rf_cc_part := $(filter-out gcc,$(notdir $(CC)))
rf_san_part := $(subst $(comma),+,$(SAN))
rf_variant := $(subst $(space),-,$(strip $(rf_cc_part) $(rf_san_part) $(VARIANT)))
B := build$(addprefix /,$(rf_variant))
export RF_BUILD := $(abspath $(B))

# ---- flags ----

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
HARDEN := -fstack-protector-strong
ifeq ($(SAN),)
HARDEN += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
else
SANFLAGS := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

RF_CPPFLAGS := -Iinclude -Idaemon -D_GNU_SOURCE -DRF_VERSION='"$(VERSION)"'
RF_CFLAGS := -std=gnu11 -O2 -g $(WARN) $(HARDEN) $(SANFLAGS) -fPIC -fvisibility=hidden
RF_LDFLAGS := $(SANFLAGS) -Wl,-z,relro,-z,now

# Debug checks are never compiled out: a build that asks for it is refused.
ifneq ($(findstring NDEBUG,$(EXTRA_CFLAGS) $(CFLAGS) $(CPPFLAGS)),)
$(error NDEBUG is not supported: assertions are part of the safety argument)
endif

# ---- what fragments use ----
#
# $(call rf_archive,NAME,SOURCES[,PKGS])           $(B)/lib/NAME.a
# $(call rf_program,NAME,SOURCES,ARCHIVES,PKGS)    $(B)/bin/NAME
# $(call rf_plugin,NAME,SOURCES,ARCHIVES,PKGS)     $(B)/lib/NAME.so
# $(call rf_test,NAME,SOURCES,ARCHIVES,PKGS)       $(B)/tests/NAME, a unit test
#
# ARCHIVES are NAMEs of rf_archive, PKGS names of pkg-config. An object belongs
# to its source: however many programs list it, it is compiled once.
# A level of `make check` is a target: append its name to CHECK_LEVELS.

PROGRAMS :=
PLUGINS :=
ARCHIVES :=
UNIT_TESTS :=
CHECK_LEVELS :=
FAST_LEVELS :=
RF_OBJECTS :=

rf_objects = $(patsubst %.c,$(B)/obj/%.o,$(1))
rf_archives = $(patsubst %,$(B)/lib/%.a,$(1))
rf_flags = $(if $(strip $(RF_PKGS)),$$($(PKG_CONFIG) --$(1) $(sort $(RF_PKGS))))
say = @printf '  %-7s %s\n' $(1) $(2)

define rf_compile
RF_OBJECTS += $(call rf_objects,$(1))
$(call rf_objects,$(1)): RF_PKGS += $(2)
endef

define rf_archive
$(call rf_compile,$(2),$(3))
ARCHIVES += $(1)
$(B)/lib/$(strip $(1)).a: $(call rf_objects,$(2))
endef

define rf_link
$(call rf_compile,$(2),$(4))
$(1): private RF_PKGS := $(4) $(5)
$(1): $(call rf_objects,$(2)) $(call rf_archives,$(3))
endef

define rf_program
$(call rf_link,$(B)/bin/$(strip $(1)),$(2),$(3),$(4))
PROGRAMS += $(1)
endef

define rf_plugin
$(call rf_link,$(B)/lib/$(strip $(1)).so,$(2),$(3),$(4))
PLUGINS += $(1)
endef

define rf_test
$(call rf_link,$(B)/tests/$(strip $(1)),$(2),$(3),$(4),cmocka)
UNIT_TESTS += $(1)
endef

# Not for what a test shares with a program: that is built without cmocka, too.
$(B)/obj/tests/unit/%.o $(B)/obj/tests/nbd/%.o: RF_PKGS += cmocka

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all help check check-fast check-unit check-install lint install clean dist tests

# ---- on a fresh machine, `make demo` and `make check` fetch what they need ----

ifneq ($(filter demo check,$(MAKECMDGOALS)),)
ifeq ($(findstring n,$(firstword -$(MAKEFLAGS)))$(RF_BOOTSTRAPPED),)
ifneq ($(wildcard tools/bootstrap),)
$(shell tools/bootstrap >&2)
ifneq ($(.SHELLSTATUS),0)
$(warning packages are missing (listed above): going on)
endif
export RF_BOOTSTRAPPED := 1
endif
endif
endif

# ---- the rooms ----

-include daemon/build.mk
-include fence/build.mk
-include fence/nbd/build.mk
-include fence/dm/build.mk
-include tools/build.mk
-include tools/demo/build.mk
-include tools/lib/build.mk
-include tools/systemd/build.mk
-include tests/build.mk
-include tests/unit/build.mk
-include tests/scenario/build.mk
-include tests/sim/build.mk
-include tests/model/build.mk
-include tests/fuzz/build.mk
-include tests/e2e/build.mk
-include tests/e2e/tools.mk
-include tests/nbd/build.mk
-include tests/agents/build.mk
-include tests/alerts/build.mk
-include tests/deb/build.mk
-include tests/vm/build.mk
-include tests/bench/build.mk
-include tests/coverage.mk

# Core and format are freestanding (`make lint` reads their symbols): no call may be
# added by the compiler's hardening.
$(B)/obj/daemon/core/%.o $(B)/obj/daemon/format/%.o: RF_PURE := -fno-stack-protector -U_FORTIFY_SOURCE

# ---- how things are made ----

$(B)/obj/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	@$(CC) $(RF_CPPFLAGS) $(CPPFLAGS) $(RF_CFLAGS) $(RF_PURE) $(CFLAGS) $(EXTRA_CFLAGS) \
		$(call rf_flags,cflags) -MMD -MP -c -o $@ $<

$(B)/lib/%.a:
	$(call say,AR,$@)
	@mkdir -p $(@D)
	@rm -f $@
	@$(AR) rcsD $@ $(filter %.o,$^)

rf_link_line = $(CC) $(RF_CFLAGS) $(CFLAGS) $(EXTRA_CFLAGS) $(RF_LDFLAGS) $(LDFLAGS) $(1) \
	-o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
	$(call rf_flags,libs) $(LDLIBS)

define rf_link_program
	$(call say,LD,$@)
	@mkdir -p $(@D)
	@$(call rf_link_line,-pie)
endef

$(B)/bin/%:
	$(rf_link_program)

$(B)/tests/%:
	$(rf_link_program)

$(B)/lib/%.so:
	$(call say,LD,$@)
	@mkdir -p $(@D)
	@$(call rf_link_line,-shared -Wl$(comma)-z$(comma)defs)

-include $(patsubst %.o,%.d,$(sort $(RF_OBJECTS)))

# ---- targets ----

rf_built := $(patsubst %,$(B)/lib/%.a,$(ARCHIVES)) $(patsubst %,$(B)/bin/%,$(PROGRAMS)) \
	$(patsubst %,$(B)/lib/%.so,$(PLUGINS)) $(RF_BUILT_EXTRA)
rf_tests := $(patsubst %,$(B)/tests/%,$(UNIT_TESTS))

all: $(rf_built)

tests: $(rf_tests)

check-unit: $(rf_tests)
	@tests/lib/run unit $^

lint: all
	@CC="$(CC)" tests/lint/run

check-fast: all
	+@MAKE='$(MAKE)' tests/lib/levels lint check-unit $(FAST_LEVELS)

check: all
	+@MAKE='$(MAKE)' tests/lib/levels lint check-unit $(FAST_LEVELS) $(CHECK_LEVELS)

# What is installed, all of it by name.
HEADERS := blob claim control fence format gate key limits metrics reservation restart rule wire
MANPAGES := \
	nbdkit-ringfence-plugin.1 \
	libringfence.3 \
	ringfence-format.5 \
	ringfence.conf.5 \
	dm-ringfence.7 \
	ocf_ringfence_volume.7 \
	ringfence-protocol.7 \
	ringfence-reservation.7 \
	ringfence-timing.7 \
	fence_ringfence.8 \
	ringfence-attach.8 \
	ringfence-doctor.8 ringfence-dump.8 \
	ringfence-exporter.8 \
	ringfence-fence.8 \
	ringfence-fencer.8 \
	ringfence-format.8 \
	ringfence-history.8 \
	ringfence-keygen.8 \
	ringfence-metrics.8 \
	ringfence-resign.8 \
	ringfence-run.8 \
	ringfence-state.8 \
	ringfence-status.8 \
	ringfence-tune.8 \
	ringfence-watch.8 \
	ringfence-wipe.8 \
	ringfence.8 \
	ringfenced.8

# Where nbdkit looks for plugins, unless the packager says otherwise.
PLUGINDIR ?= $(shell $(PKG_CONFIG) --variable=plugindir nbdkit)

# $(call rf_install,MODE,DIRECTORY,FILES): one line for each file.
define rf_install
$(foreach f,$(3),@printf '  %-7s %s\n' INSTALL $(DESTDIR)$(2)/$(notdir $(f)) && \
	install -D -m $(1) $(f) $(DESTDIR)$(2)/$(notdir $(f))
)
endef

install: all install-lib
	$(call rf_install,0644,$(INCLUDEDIR)/ringfence,$(HEADERS:%=include/ringfence/%.h))
	$(call rf_install,0755,$(SBINDIR),$(addprefix $(B)/bin/,ringfenced ringfence-exporter))
	$(call rf_install,0755,$(BINDIR),$(filter $(B)/bin/ringfence,$(rf_built)))
	$(call rf_install,0755,$(LIBEXECDIR),$(filter $(B)/bin/ringfence-fencer,$(rf_built)))
	$(call rf_install,0755,$(OCFDIR)/ringfence,tools/agents/ocf/volume)
	$(call rf_install,0755,$(SBINDIR),tools/agents/fence/fence_ringfence)
	$(call rf_install,0755,$(DATADIR)/keepalived,tools/agents/keepalived/notify)
	$(call rf_install,0644,$(DATADIR)/keepalived,tools/agents/keepalived/keepalived.conf)
	$(call rf_install,0755,$(PLUGINDIR),$(PLUGINS:%=$(B)/lib/%.so))
	$(call rf_install,0644,$(DATADIR),$(addprefix tools/grafana/,ringfence-alerts.yml ringfence-dashboard.json))
	$(call rf_install,0644,$(COMPLETIONDIR),tools/completion/ringfence)
	$(foreach s,1 3 5 7 8,$(call rf_install,0644,$(MANDIR)/man$(s),\
		$(addprefix man/,$(filter %.$(s),$(MANPAGES)))))

check-install: all
	+@MAKE='$(MAKE)' tests/lib/run install tests/lint/install.sh

CHECK_LEVELS += check-install

clean:
	@rm -rf build

dist:
	@mkdir -p build
	@git archive --prefix=ringfence-$(VERSION)/ -o build/ringfence-$(VERSION).tar.gz HEAD
	$(call say,DIST,build/ringfence-$(VERSION).tar.gz)

help:
	@echo 'all            daemon, tool, fencer, plugin (default)'
	@echo 'demo           three nodes, four faults, no stale write (root)'
	@echo 'check-fast     lint, unit and scenario tests'
	@echo 'check          every test this machine can run'
	@echo 'lint           structure, style, static analysis'
	@echo 'coverage       lines and branches of core and format that fast tests reach'
	@echo 'install        DESTDIR= PREFIX= SBINDIR= LIBEXECDIR= PLUGINDIR= …'
	@echo 'deb            Debian packages, in build/deb'
	@echo 'dist clean'
	@echo 'variables      CC=clang SAN=address,undefined VARIANT= EXTRA_CFLAGS='
	@echo 'levels         $(strip lint check-unit $(FAST_LEVELS) $(CHECK_LEVELS))'
