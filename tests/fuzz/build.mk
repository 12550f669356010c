# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzzers: libFuzzer with ASan and UBSan, over the product's own sources.
#
#   make fuzz SECONDS=600          every fuzzer for that long
#   make check-fuzz                a short run of each, part of `make check`

FUZZ_DIR := build/fuzz
FUZZERS := fuzz_config fuzz_control fuzz_core fuzz_datagram fuzz_message fuzz_name \
	fuzz_plugin fuzz_record
FUZZ_CFLAGS := -std=gnu11 -O1 -g -Iinclude -Idaemon -D_GNU_SOURCE \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
# A fuzzer's sources and libraries, by its name.
FUZZ_CODEC := daemon/format/codec_disk.c daemon/format/codec_meta.c daemon/format/codec_wire.c \
	daemon/format/crc32c.c daemon/format/geometry.c daemon/format/timing.c
FUZZ_SRC_fuzz_config := daemon/config.c daemon/config_check.c daemon/config_value.c $(FUZZ_CODEC)
FUZZ_LIB_fuzz_config := -linih
FUZZ_SRC_fuzz_control := daemon/io/control.c daemon/io/control_keep.c \
	daemon/io/control_tell.c daemon/io/listen.c
FUZZ_SRC_fuzz_core := $(wildcard daemon/core/*.c) $(FUZZ_CODEC)
FUZZ_SRC_fuzz_datagram := daemon/io/seal.c
FUZZ_LIB_fuzz_datagram := -lsodium
FUZZ_SRC_fuzz_message := $(FUZZ_CODEC)
FUZZ_SRC_fuzz_name := fence/key.c
FUZZ_LIB_fuzz_name := -lsodium
FUZZ_SRC_fuzz_plugin := fence/nbd/area.c fence/nbd/claimread.c fence/nbd/latch.c \
	fence/nbd/quorum.c $(FUZZ_CODEC)
FUZZ_LIB_fuzz_plugin := -Wl,--wrap=pthread_create
FUZZ_SRC_fuzz_record := $(FUZZ_CODEC)
SECONDS ?= 60

define rf_fuzzer
$$(FUZZ_DIR)/$(1): tests/fuzz/$(1).c tests/fuzz/fuzz.h $$(FUZZ_SRC_$(1)) \
		$$(wildcard daemon/*.h daemon/core/*.h daemon/core/*.def daemon/format/*.h \
			daemon/io/*.h \
			fence/nbd/*.h include/ringfence/*.h)
	$$(call say,FUZZ,$$@)
	@mkdir -p $$(@D)
	@clang $$(FUZZ_CFLAGS) -o $$@ $$(filter %.c,$$^) $$(FUZZ_LIB_$(1))
endef
$(foreach f,$(FUZZERS),$(eval $(call rf_fuzzer,$(f))))

$(FUZZ_DIR)/seeds: tests/fuzz/seeds $(wildcard tests/unit/golden/*.hex) man/ringfence.conf.5
	$(call say,SEEDS,$@)
	@rm -rf $@
	@tests/fuzz/seeds $@
	@touch $@

.PHONY: fuzz check-fuzz
fuzz: $(addprefix $(FUZZ_DIR)/,$(FUZZERS)) | $(FUZZ_DIR)/seeds
	@tests/fuzz/run $(SECONDS) $^

check-fuzz: $(addprefix $(FUZZ_DIR)/,$(FUZZERS)) | $(FUZZ_DIR)/seeds
	@tests/fuzz/run 8 $^

CHECK_LEVELS += check-fuzz
