/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several fences for one volume, see chain.c. */
#ifndef RF_CHAIN_H
#define RF_CHAIN_H

/* params: driver=NAME KEY=VALUE… for each, NULL at the end. The exit status. */
int rf_chain_run(char *const *params);

#endif
