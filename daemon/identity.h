/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who a block device says it is: WWID, UUID or serial number from sysfs. */
#ifndef RF_IDENTITY_H
#define RF_IDENTITY_H

#include "ringfence/limits.h"

/* Of an open block device; "" when it says nothing (loop devices, files). A
 * partition is told from its disk. Printable, no spaces. */
void rf_identity(char id[RF_DEVICE_ID_BYTES], int fd);

#endif
