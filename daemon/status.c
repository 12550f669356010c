/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the core knows, as rows of the control socket. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/timing.h"
#include "status.h"

static void head(struct rf_ctl_head *h, uint16_t kind)
{
	h->magic = RF_CTL_MAGIC;
	h->version = RF_CTL_VERSION;
	h->kind = kind;
}

static void text(char *to, size_t bytes, const char *from)
{
	snprintf(to, bytes, "%s", from ? from : "");
}

static int64_t ms_between(uint64_t later_ns, uint64_t earlier_ns)
{
	return (int64_t)(later_ns - earlier_ns) / (int64_t)RF_MS_NS;
}

static int64_t age_ms(uint64_t now_ns, uint64_t at_ns)
{
	return at_ns ? ms_between(now_ns, at_ns) : -1;
}

static void timings(struct rf_ctl_area *row, const struct rf_timing *t)
{
	row->heartbeat_ms = t->heartbeat_ms;
	row->suspect_ms = t->suspect_ms;
	row->lease_ms = t->lease_ms;
	row->grace_ms = t->grace_ms;
	row->hold_ms = t->hold_ms;
	row->isolation_ms = t->isolation_ms;
	row->slot_timeout_ms = t->slot_timeout_ms;
	row->inflight_ms = t->inflight_ms;
	row->epsilon_ppm = t->epsilon_ppm;
}

/* CASES 28: whoever waits at start says for what and until when. */
static void waiting(struct rf_ctl_area *row, const struct rf_core_self *self, uint64_t now_ns)
{
	if (self->joined)
		return;
	if (self->halted)
		text(row->waiting, sizeof(row->waiting), "stopped: restart the daemon");
	else if (self->join_until_ns > now_ns)
		snprintf(row->waiting, sizeof(row->waiting),
			 "joining: watching this node's slot for %" PRId64 " ms more",
			 ms_between(self->join_until_ns, now_ns));
	else
		text(row->waiting, sizeof(row->waiting),
		     "joining: waiting for the quorum disk");
}

void rf_status_area(struct rf_ctl_area *row, const struct rf_core *core,
		    const struct rf_super *super, uint32_t node, uint64_t now_ns)
{
	struct rf_core_self self;

	rf_core_self(core, &self);
	memset(row, 0, sizeof(*row));
	head(&row->h, RF_CTL_ROW_AREA);
	text(row->cluster, sizeof(row->cluster), super->cluster_name);
	memcpy(row->cluster_uuid, super->id.cluster, RF_UUID_BYTES);
	memcpy(row->area_uuid, super->id.area, RF_UUID_BYTES);
	row->incarnation = self.incarnation;
	row->generation = self.generation;
	row->node = node;
	row->nodes = super->id.nodes;
	row->volumes = super->volumes;
	row->disks = (uint8_t)self.disks;
	row->disks_good = (uint8_t)self.disks_good;
	row->joined = self.joined;
	row->quorum_rule = super->quorum;
	timings(row, &super->timing);
	row->health = self.health;
	row->write_us = self.write_us;
	row->read_us = self.read_us;
	row->worst_us = self.worst_us;
	waiting(row, &self, now_ns);
}

static bool nothing_in_force(const char *driver)
{
	return !driver || !*driver || !strcmp(driver, "expiry") || !strcmp(driver, "none");
}

/* Of several fences what the gate alone holds is not what others could do. */
bool rf_status_at_storage(const char *driver, uint32_t can)
{
	return !nothing_in_force(driver) && strcmp(driver, "gate") != 0 &&
	       can & RF_FENCE_CAN_EVICT;
}

const char *rf_status_weakest(const char *driver, uint32_t can)
{
	if (nothing_in_force(driver))
		return "advisory only: nothing refuses a stale write";
	if (rf_status_at_storage(driver, can)) {
		if (!strcmp(driver, "target"))
			return "target: stale writes are refused by the NBD server";
		if (can & RF_FENCE_CAN_DRAIN)
			return "storage and host gate: stale writes are refused by the storage";
		return "storage: stale writes are refused there; on this host nothing but the "
		       "demote hook stops the writers of a leadership that ended";
	}
	if ((can & RF_FENCE_CAN_DEADLINE) && (can & RF_FENCE_CAN_DRAIN))
		return "host gate: a paused or migrated virtual machine can still write";
	if (can & RF_FENCE_CAN_DEADLINE)
		return "host gate without drain: writes in flight may land within the grace";
	return "the fencer has not said what it can do: waiting for leases only";
}

static const char *host_of(const struct rf_core *core, const struct rf_super *super,
			   uint32_t node)
{
	struct rf_core_peer peer;

	if (!node || node > super->id.nodes)
		return "";
	rf_core_peer(core, node, &peer);
	return peer.host;
}

void rf_status_volume(struct rf_ctl_volume *row, const struct rf_core *core,
		      const struct rf_super *super, const struct rf_status_volume *about,
		      uint64_t now_ns)
{
	struct rf_core_volume v;
	bool mine;

	rf_core_volume(core, about->volume, &v);
	mine = v.lease_ns != 0;
	memset(row, 0, sizeof(*row));
	head(&row->h, RF_CTL_ROW_VOLUME);
	text(row->name, sizeof(row->name), about->name);
	row->epoch = v.epoch;
	row->owner_incarnation = v.owner_incarnation;
	row->since_unix_ns = v.since_unix_ns;
	row->lease_left_ms = mine ? ms_between(v.lease_ns, now_ns) : 0;
	row->margin_min_ms = mine ? v.margin_min_ns / (int64_t)RF_MS_NS : 0;
	if (!mine && v.silent_since_ns)
		row->silent_ms = (uint64_t)ms_between(now_ns, v.silent_since_ns);
	row->area = about->area;
	row->volume = about->volume;
	row->owner = v.owner;
	row->cause = v.cause;
	row->excluded_by = v.excluded_by;
	row->can = v.can;
	row->role = (uint8_t)v.role;
	row->suspected = v.suspected;
	row->unreadable = v.unreadable;
	row->has_leader = v.has_leader;
	row->refused_hi = (uint32_t)(about->refused >> 32);
	row->refused_lo = (uint32_t)about->refused;
	text(row->owner_host, sizeof(row->owner_host), host_of(core, super, v.owner));
	text(row->driver, sizeof(row->driver), about->driver);
	text(row->weakest, sizeof(row->weakest), rf_status_weakest(about->driver, v.can));
}

void rf_status_node(struct rf_ctl_node *row, const struct rf_core *core,
		    const struct rf_super *super, uint32_t area, uint32_t node, uint64_t now_ns)
{
	struct rf_core_peer p;

	rf_core_peer(core, node, &p);
	memset(row, 0, sizeof(*row));
	head(&row->h, RF_CTL_ROW_NODE);
	text(row->host, sizeof(row->host), p.host);
	row->incarnation = p.incarnation;
	row->seq = p.seq;
	row->area = area;
	row->node = node;
	row->state = p.state;
	row->health = p.health;
	row->net_age_ms = age_ms(now_ns, p.net_ns);
	row->disk_age_ms = age_ms(now_ns, p.disk_ns);
	row->rtt_us = p.rtt_us;
	row->priority = p.priority;
	row->gates_open = rf_map_count(p.gate_open, super->volumes);
	row->hears = rf_map_count(p.hears, super->id.nodes);
}
