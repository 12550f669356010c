# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzzers: libFuzzer with ASan and UBSan, over the product's own sources.
#
#   make fuzz SECONDS=600          every fuzzer for that long
#   make check-fuzz                a short run of each, part of `make check`

FUZZ_DIR := build/fuzz
FUZZERS := fuzz_core fuzz_record fuzz_message
FUZZ_CFLAGS := -std=gnu11 -O1 -g -Iinclude -Idaemon -D_GNU_SOURCE \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
FUZZ_CORE := $(wildcard daemon/core/*.c)
SECONDS ?= 60

$(FUZZ_DIR)/%: tests/fuzz/%.c tests/fuzz/fuzz.h $(FUZZ_CORE) $(wildcard daemon/core/*.h include/ringfence/*.h)
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	@clang $(FUZZ_CFLAGS) -o $@ $< $(FUZZ_CORE)

.PHONY: fuzz check-fuzz
fuzz: $(addprefix $(FUZZ_DIR)/,$(FUZZERS))
	@tests/fuzz/run $(SECONDS) $^

check-fuzz: $(addprefix $(FUZZ_DIR)/,$(FUZZERS))
	@tests/fuzz/run 8 $^

CHECK_LEVELS += check-fuzz
