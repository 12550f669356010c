/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the configuration again, for `ringfence reload` and SIGHUP.
 *
 * A file system can hang for minutes and a name service too, so a helper process does
 * it, forked at the start. It checks the whole as a start does, the disks' facts
 * included, and sends what differs; a configuration with one mistake changes nothing.
 * The daemon takes over what it can (config.h, rf_config_changed) and says of the rest
 * that it waits for a restart.
 */
#ifndef RF_RELOAD_H
#define RF_RELOAD_H

struct daemon;

/* Areas are open, the loop is not. Forks. 0 or -errno. */
int rf_reload_start(struct daemon *daemon, const char *config_path);
/* From now on the loop looks after it. */
void rf_reload_attach(struct daemon *daemon);
/* For a client, who is told the end (rf_control_reloaded). 0; -EBUSY: one is under way;
 * -EPIPE: the helper died. */
int rf_reload_ask(void *daemon);
/* For a signal: after the one that is under way, if one is. */
void rf_reload_signalled(struct daemon *daemon);
void rf_reload_stop(struct daemon *daemon);

#endif
