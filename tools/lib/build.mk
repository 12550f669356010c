# SPDX-License-Identifier: LGPL-2.1-or-later
# libringfence: shared with a version script, static, and its pkg-config file.

RFL_ABI := 0
RFL_SOURCES := tools/lib/keep.c tools/lib/ringfence.c
RFL_SHARED := $(B)/lib/libringfence.so.$(VERSION)
LIBDIR ?= $(PREFIX)/lib
EXAMPLEDIR ?= $(PREFIX)/share/doc/libringfence-dev/examples

$(eval $(call rf_archive,libringfence,$(RFL_SOURCES)))

$(RFL_SHARED): $(call rf_objects,$(RFL_SOURCES)) tools/lib/libringfence.map
	$(call say,LD,$@)
	@mkdir -p $(@D)
	@$(CC) $(RF_CFLAGS) $(CFLAGS) $(EXTRA_CFLAGS) $(RF_LDFLAGS) $(LDFLAGS) -shared \
		-Wl,-z,defs -Wl,-soname,libringfence.so.$(RFL_ABI) \
		-Wl,--version-script=tools/lib/libringfence.map -o $@ $(filter %.o,$^)

RF_BUILT_EXTRA += $(RFL_SHARED)

.PHONY: install-lib

install-lib: $(RFL_SHARED) $(B)/lib/libringfence.a
	$(call rf_install,0644,$(INCLUDEDIR)/ringfence,include/ringfence/ringfence.h)
	$(call rf_install,0644,$(LIBDIR),$(RFL_SHARED) $(B)/lib/libringfence.a)
	@ln -sf libringfence.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libringfence.so.$(RFL_ABI)
	@ln -sf libringfence.so.$(RFL_ABI) $(DESTDIR)$(LIBDIR)/libringfence.so
	@sed -e 's,@PREFIX@,$(PREFIX),' -e 's,@LIBDIR@,$(LIBDIR),' -e 's,@VERSION@,$(VERSION),' \
		-e 's,@INCLUDEDIR@,$(INCLUDEDIR),' tools/lib/libringfence.pc.in \
		>$(B)/lib/libringfence.pc
	$(call rf_install,0644,$(LIBDIR)/pkgconfig,$(B)/lib/libringfence.pc)
	$(call rf_install,0644,$(EXAMPLEDIR),tools/lib/example.c)
