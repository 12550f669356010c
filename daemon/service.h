/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the service manager is told: state in words, more time while joining. */
#ifndef RF_SERVICE_H
#define RF_SERVICE_H

struct daemon;

/* From now on, every second and at rf_service_tell(); nothing without a manager. */
void rf_service_attach(struct daemon *daemon);
void rf_service_tell(struct daemon *daemon);

#endif
