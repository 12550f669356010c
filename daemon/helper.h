/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where programs lie that are started by ours. */
#ifndef RF_HELPER_H
#define RF_HELPER_H

/* Beside the running program (a build tree), or in libexec; else its bare name. The
 * result is good until the next call. */
const char *rf_helper_path(const char *name);

#endif
