# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzzers: libFuzzer with ASan and UBSan, over the product's own sources.
#
#   make fuzz SECONDS=600          every fuzzer for that long
#   make check-fuzz                a short run of each, part of `make check`

FUZZ_DIR := build/fuzz
FUZZERS := fuzz_config fuzz_core fuzz_datagram fuzz_message fuzz_record
FUZZ_CFLAGS := -std=gnu11 -O1 -g -Iinclude -Idaemon -D_GNU_SOURCE \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
# The core's own list; a fuzzer's other sources and libraries by its name.
FUZZ_CORE := $(wildcard daemon/core/*.c)
FUZZ_SRC_fuzz_config := daemon/config.c daemon/config_check.c daemon/config_value.c
FUZZ_LIB_fuzz_config := -linih
FUZZ_SRC_fuzz_datagram := daemon/io/seal.c
FUZZ_LIB_fuzz_datagram := -lsodium
SECONDS ?= 60

define rf_fuzzer
$$(FUZZ_DIR)/$(1): tests/fuzz/$(1).c tests/fuzz/fuzz.h $$(FUZZ_CORE) $$(FUZZ_SRC_$(1)) \
		$$(wildcard daemon/*.h daemon/core/*.h daemon/io/*.h include/ringfence/*.h)
	$$(call say,FUZZ,$$@)
	@mkdir -p $$(@D)
	@clang $$(FUZZ_CFLAGS) -o $$@ $$(filter %.c,$$^) $$(FUZZ_LIB_$(1))
endef
$(foreach f,$(FUZZERS),$(eval $(call rf_fuzzer,$(f))))

.PHONY: fuzz check-fuzz
fuzz: $(addprefix $(FUZZ_DIR)/,$(FUZZERS))
	@tests/fuzz/run $(SECONDS) $^

check-fuzz: $(addprefix $(FUZZ_DIR)/,$(FUZZERS))
	@tests/fuzz/run 8 $^

CHECK_LEVELS += check-fuzz
