# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests of format, core and claim.h.

RF_UNIT_SUPPORT := tests/unit/support.c

$(eval $(call rf_test,crc32c,tests/unit/test_crc32c.c $(RF_UNIT_SUPPORT),librf-format,))
$(eval $(call rf_test,geometry,tests/unit/test_geometry.c $(RF_UNIT_SUPPORT),librf-format,))
$(eval $(call rf_test,timing,tests/unit/test_timing.c $(RF_UNIT_SUPPORT),librf-format,))
$(eval $(call rf_test,records,tests/unit/test_records.c tests/unit/records.c $(RF_UNIT_SUPPORT),librf-format,))
$(eval $(call rf_test,content,tests/unit/test_content.c tests/unit/records.c $(RF_UNIT_SUPPORT),librf-format,))
$(eval $(call rf_test,wire,tests/unit/test_wire.c $(RF_UNIT_SUPPORT),librf-format,))
$(eval $(call rf_test,claim,tests/unit/test_claim.c $(RF_UNIT_SUPPORT),librf-format,))
$(eval $(call rf_test,core,tests/unit/test_core.c tests/unit/core_world.c $(RF_UNIT_SUPPORT),librf-core librf-format,))
$(eval $(call rf_test,core-odd,tests/unit/test_core_odd.c tests/unit/core_world.c $(RF_UNIT_SUPPORT),librf-core librf-format,))
