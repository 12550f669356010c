// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ringfence: a gate that refuses stale writes by itself.
 * The spec is ringfence/gate.h.
 */
#include <linux/module.h>

#include "gate.h"

static int __init rf_init(void)
{
	if (!rf_selftest()) {
		DMERR("self-test failed: the module does not load");
		return -EINVAL;
	}
	return dm_register_target(&rf_target);
}

static void __exit rf_exit(void)
{
	dm_unregister_target(&rf_target);
}

module_init(rf_init);
module_exit(rf_exit);

MODULE_DESCRIPTION("device-mapper gate that refuses I/O of superseded owners");
MODULE_AUTHOR("the ringfence maintainers");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("GPL");
MODULE_ALIAS("dm-" RF_GATE_TARGET);
MODULE_SOFTDEP("pre: crc32c");
