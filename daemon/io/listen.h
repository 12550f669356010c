/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The listening end of the control socket. */
#ifndef RF_IO_LISTEN_H
#define RF_IO_LISTEN_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#define RF_LISTEN_PATH_BYTES (sizeof(((struct sockaddr_un *)0)->sun_path))

/*
 * A listening SOCK_SEQPACKET at path (0660, group gid; its directory is made, one
 * level). A stale socket is replaced; a live one (-EADDRINUSE) and anything else
 * (-EEXIST) are refused. The descriptor, or -errno and one line in err.
 */
int rf_listen(const char *path, gid_t gid, char *err, size_t err_bytes);

#endif
