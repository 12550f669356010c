/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The other nodes, as their slots and their datagrams show them.
 *
 * The two sources differ in weight. What a slot says is a fact; what a datagram
 * says is a hint (it only moves suspicion, campaigns and the order of reads).
 * A datagram counts only when its incarnation is the one in the sender's slot:
 * replays of earlier lives do nothing (CASES 22).
 */
#include <string.h>

#include "state.h"

#define SCAN_A_BEAT 4u /* unheard nodes whose slots are read in one beat */

/* ---- verdicts ---- */

bool rf_peer_hears(const struct rf_core *c, uint32_t node)
{
	const struct peer *p = &c->peer[node];

	return p->net_ns && c->now - p->net_ns < c->suspect_ns;
}

/*
 * §4 "whose slots beat". Unknown counts as beating for the slot timeout, neither
 * instant nor endless (CASES 19): a slot that was never seen to move, or whose
 * node fell silent on the network and which nobody has looked at since.
 */
bool rf_peer_beats(const struct rf_core *c, uint32_t node)
{
	const struct peer *p = &c->peer[node];
	uint64_t since = p->moved_ns ? p->moved_ns : p->first_ns, quiet;
	bool looked;

	if (since < c->awake_ns)
		since = c->awake_ns;
	quiet = c->now - since;
	looked = p->moved_ns && p->read_ns >= since + c->suspect_ns;

	if (p->state != RF_SLOT_JOINED)
		return false;
	if (p->moved_ns && quiet < c->suspect_ns)
		return true;
	if (p->moved_ns && !RF_RULE(BEATS_LOOK, !looked))
		return false;
	return quiet <
	       c->super.timing.slot_timeout_ms * RF_MS_NS + (p->moved_ns ? c->suspect_ns : 0);
}

/*
 * Does it show signs of life, as far as is known? The node that is suspected just now
 * may yet be found beating by the next look: when votes are counted that matters, but
 * nobody is to hold back for it, or to ask through the slots because of it.
 */
bool rf_peer_moves(const struct rf_core *c, uint32_t node)
{
	const struct peer *p = &c->peer[node];

	return rf_peer_beats(c, node) && (!p->moved_ns || c->now - p->moved_ns < c->suspect_ns);
}

void rf_peers_fill(struct rf_core *c, uint8_t *hears)
{
	for (uint32_t j = 1; j <= c->nodes; j++)
		rf_bit_set(hears, j - 1, j == c->me || rf_peer_hears(c, j));
}

/* ---- slots ---- */

void rf_peer_read(struct rf_core *c, uint32_t node)
{
	rf_assert(node >= 1 && node <= c->nodes && node != c->me);
	c->peer[node].asked_ns = c->now;
	rf_read(c, OP_PEER, RF_NO_VOLUME, node, 0);
}

static void begin_life(struct rf_core *c, uint32_t node, const struct rf_slot *s)
{
	struct peer *p = &c->peer[node];
	bool known = p->incarnation != 0;

	*p = (struct peer){.incarnation = s->incarnation,
			   .generation = s->generation,
			   .disk_seq = s->seq,
			   .disk_seq_ns = c->now,
			   .seq = s->seq,
			   .first_ns = c->now,
			   .asked_ns = p->asked_ns,
			   .busy = p->busy};
	if (known && c->join.stage == JOIN_DONE && s->state == RF_SLOT_JOINED)
		rf_emit_say(c, NULL, RF_SAY_PEER_LIFE, node, 0, s->incarnation, s->generation);
}

/* A sequence was read or heard: a life sign if it is a new one. */
static bool moves(const struct rf_core *c, struct peer *p, uint64_t seq)
{
	if (seq <= p->seq)
		return false;
	p->seq = seq;
	p->moved_ns = c->now;
	p->lost_said = false;
	return true;
}

static void copy_slot(struct peer *p, const struct rf_slot *s)
{
	p->state = s->state;
	p->health = s->health;
	p->priority = s->priority;
	memcpy(p->gate_open, s->gate_open, sizeof(p->gate_open));
	memcpy(p->hears, s->hears, sizeof(p->hears));
	memcpy(p->host, s->host, sizeof(p->host));
}

/* What its slot says of the volumes it owns: a life sign, or a reason to look. */
static void slot_on_volumes(struct rf_core *c, uint32_t node, const struct rf_slot *s,
			    bool moved)
{
	rf_each_volume (c, v) {
		bool same = v->owner == node && v->owner_incarnation == s->incarnation;

		if (v->owner != node || v->epoch_state != RF_EPOCH_CLAIMED)
			continue;
		if (same && rf_bit_get(s->leads, v->number)) {
			if (moved)
				v->seen_ns = c->now;
		} else if (moved) {
			rf_region_look(c, v);
		}
	}
}

static void slot_on_campaigns(struct rf_core *c, uint32_t node, const struct rf_slot *s)
{
	struct peer *p = &c->peer[node];
	uint64_t want = (uint64_t)s->want_volume << 32 | s->want_round;

	for (uint32_t k = 0; k < RF_SLOT_GRANTS; k++) {
		const struct rf_grant *g = &s->grants[k];

		if (g->candidate == c->me && g->volume < c->volumes)
			rf_campaign_vote(c, &c->volume[g->volume], node, true, g->epoch,
					 g->round, 0);
	}
	if (s->want_round == 0 || s->want_volume >= c->volumes || want == p->want_round_seen)
		return;
	p->want_round_seen = want;
	rf_campaign_prevote(c, &c->volume[s->want_volume], node, s->want_epoch, s->want_round,
			    rf_map_count(s->hears, c->nodes), true);
}

/*
 * Is what this disk shows of an earlier life than the one that is known? A life goes on
 * with the sequence that it finds, so that a lower one is of a disk that missed the newer
 * life. Two lives share a number when one died in its first writes: then the generation
 * decides, whatever the order in which the disks answer, or each look would seem a life
 * sign for ever (§4).
 */
static bool earlier_life(const struct peer *p, const struct rf_slot *s)
{
	if (s->seq != p->disk_seq)
		return s->seq < p->disk_seq;
	if (s->generation != p->generation)
		return s->generation < p->generation;
	return s->incarnation < p->incarnation;
}

void rf_peer_slot(struct rf_core *c, uint32_t node, uint32_t disk, const uint8_t *record)
{
	struct peer *p = &c->peer[node];
	struct rf_slot s;
	bool moved;

	rf_assert(node != c->me);
	if (rf_slot_decode(record, &c->super.id, node, &s) != RF_RECORD_OK) {
		if (p->state == 0)
			p->state = 1; /* unreadable is never empty (§1) */
		return;
	}
	if (s.incarnation != p->incarnation || p->state <= 1) {
		/* But on the disk that showed the newer one it came later. (A second host
		 * took the id, saw that it is in use, and left; its owner goes on.) */
		if (p->state > 1 && earlier_life(p, &s) && disk != p->seq_disk)
			return;
		begin_life(c, node, &s);
		p->seq_disk = (uint8_t)disk;
	}
	if (s.seq < p->disk_seq)
		return;
	p->read_ns = c->now;
	if (s.seq > p->disk_seq) {
		p->disk_seq = s.seq;
		p->disk_seq_ns = c->now; /* §2.4, §7: t_r, taken after the read */
		p->seq_disk = (uint8_t)disk;
	}
	moved = moves(c, p, s.seq);
	rf_assert(p->incarnation == s.incarnation && p->seq >= p->disk_seq);
	copy_slot(p, &s);
	if (c->join.stage != JOIN_DONE)
		return;
	slot_on_volumes(c, node, &s, moved || p->first_ns == c->now);
	slot_on_campaigns(c, node, &s);
	rf_exclusion_seen(c, node, &s);
}

/* ---- datagrams ---- */

static void heartbeat_entry(struct rf_core *c, uint32_t from, const struct rf_msg_entry *e)
{
	struct volume *v = &c->volume[e->volume];

	if (e->epoch > v->epoch) {
		/* A hint: look at the disk; until the look it is a life sign, but one
		 * that the disk never confirms stops counting. */
		if (v->hint_epoch != e->epoch) {
			v->hint_epoch = e->epoch;
			v->hint_ns = c->now;
		}
		if (c->now - v->hint_ns < c->suspect_ns)
			v->seen_ns = c->now;
		rf_region_look(c, v);
	} else if (e->epoch == v->epoch && v->owner == from &&
		   v->owner_incarnation == c->peer[from].incarnation) {
		v->seen_ns = c->now;
	}
}

static void heartbeat(struct rf_core *c, uint32_t from, const struct rf_msg *m)
{
	struct peer *p = &c->peer[from];

	p->health = m->heartbeat.health;
	p->priority = m->heartbeat.priority;
	memcpy(p->hears, m->heartbeat.hears, sizeof(p->hears));
	p->clock_ns = m->heartbeat.clock_ns;
	p->clock_at_ns = c->now;
	moves(c, p, m->heartbeat.slot_seq);
	if (m->heartbeat.echo == c->me && m->heartbeat.echo_ns <= c->now) {
		uint64_t ns = c->now - m->heartbeat.echo_ns;
		uint64_t held = m->heartbeat.echo_held_us * 1000ull;

		if (ns >= held && ns - held < c->lease_ns)
			p->rtt_us = rf_us(ns - held);
	}
	for (uint32_t k = 0; k < m->heartbeat.count; k++)
		heartbeat_entry(c, from, &m->heartbeat.entries[k]);
}

static void released(struct rf_core *c, uint32_t from, const struct rf_msg *m)
{
	struct volume *v = &c->volume[m->released.volume];

	rf_region_look(c, v);
	if (m->released.to == c->me && m->released.epoch > v->epoch) {
		v->promised_epoch = m->released.epoch; /* quicker than my look at the disk */
		v->promised_by = from;
	}
	if (m->released.epoch != v->epoch || v->owner != from)
		return;
	v->epoch_state = RF_EPOCH_RELEASED; /* a hint; the ballot will read the truth */
	if (m->released.to == c->me)
		rf_campaign_mandate(c, v);
	else if (m->released.to && v->holdoff_ns < c->now + c->suspect_ns / 2)
		v->holdoff_ns = c->now + c->suspect_ns / 2; /* it is meant for another */
}

void rf_peer_message(struct rf_core *c, const struct rf_event *e)
{
	uint32_t from = e->message.from;
	struct rf_msg m;
	struct peer *p;

	if (from < 1 || from > c->nodes || from == c->me ||
	    rf_msg_decode(e->message.data, e->message.len, c->nodes, c->volumes, &m) != 0) {
		rf_emit_say(c, NULL, RF_SAY_MESSAGE_REFUSED, from, 0, RF_REJECT_FORM, 0);
		return;
	}
	p = &c->peer[from];
	if (c->join.stage != JOIN_DONE)
		return;
	if (RF_RULE(LIFE, e->message.incarnation != p->incarnation)) {
		rf_emit_say(c, NULL, RF_SAY_MESSAGE_REFUSED, from, 0, RF_REJECT_LIFE, m.kind);
		if (c->now - p->asked_ns >= c->hb_ns / 2)
			rf_peer_read(c, from);
		return;
	}
	p->net_ns = c->now;
	switch ((enum rf_wire_kind)m.kind) {
	case RF_WIRE_HEARTBEAT:
		heartbeat(c, from, &m);
		break;
	case RF_WIRE_PREVOTE:
		rf_campaign_prevote(c, &c->volume[m.prevote.volume], from, m.prevote.epoch,
				    m.prevote.round, m.prevote.hears, false);
		break;
	case RF_WIRE_VOTE:
		if (m.vote.candidate == c->me)
			rf_campaign_vote(c, &c->volume[m.vote.volume], from, m.vote.granted,
					 m.vote.epoch, m.vote.round, m.vote.known);
		break;
	case RF_WIRE_CLOSED:
		rf_exclusion_closed(c, &c->volume[m.closed.volume], from, m.closed.epoch);
		break;
	case RF_WIRE_RELEASED:
	default: /* no other kind is decoded */
		released(c, from, &m);
		break;
	}
}

/* ---- each beat ---- */

/* Nodes that the network does not show are watched on the disk. Those that seem
 * dead or were never there only while somebody may need their votes. */
static bool worth_scanning(const struct rf_core *c, uint32_t node, bool searching)
{
	const struct peer *p = &c->peer[node];

	if (node == c->me || p->asked_ns == c->now)
		return false;
	/* heard, and its datagrams carry a sequence that moves: no replays */
	if (rf_peer_hears(c, node) && c->now - p->moved_ns < c->suspect_ns)
		return false;
	if (searching || rf_peer_beats(c, node) || p->state <= 1)
		return true;
	return p->state == RF_SLOT_JOINED && p->moved_ns &&
	       c->now - p->moved_ns < 2 * c->suspect_ns;
}

static bool searching(const struct rf_core *c)
{
	rf_each_volume (c, v)
		if (v->role <= RF_ROLE_CANDIDATE && rf_leaderless(c, v))
			return true;
	/* Somebody beats whom I do not hear: who else does? One that was dead may have
	 * come back on that side of a cut, and make it the larger one. */
	rf_each_other (c, j)
		if (rf_peer_beats(c, j) && !rf_peer_hears(c, j))
			return true;
	return false;
}

void rf_peers_scan(struct rf_core *c)
{
	bool all = searching(c);
	uint32_t reads = 0;

	for (uint32_t n = 0; n < c->nodes; n++) {
		uint32_t j = 1 + (c->scan * SCAN_A_BEAT + n) % c->nodes;
		struct peer *p = &c->peer[j];

		if (!p->lost_said && p->moved_ns && !rf_peer_beats(c, j) &&
		    !rf_peer_hears(c, j)) {
			p->lost_said = true;
			rf_emit_say(c, NULL, RF_SAY_PEER_LOST, j, 0,
				    p->net_ns ? c->now - p->net_ns : 0, c->now - p->moved_ns);
		}
		if (reads < SCAN_A_BEAT && worth_scanning(c, j, all)) {
			rf_peer_read(c, j);
			reads++;
		}
	}
}

/* Of the nodes that beat now, how many does j hear? A node that just died still
 * stands in what others published last, and must not make them look better. */
static uint32_t hears_living(const struct rf_core *c, uint32_t j)
{
	uint32_t n = 0;

	for (uint32_t k = 1; k <= c->nodes; k++) {
		bool lives = k == c->me || k == j || rf_peer_moves(c, k);
		bool heard = j == c->me ? k == c->me || rf_peer_hears(c, k)
					: rf_bit_get(c->peer[j].hears, k - 1);

		n += lives && heard;
	}
	return n;
}

/* §4: hears more nodes first, then priority, then the lower id. 0 = the best. */
uint32_t rf_peers_rank(const struct rf_core *c)
{
	uint32_t rank = 0, mine = hears_living(c, c->me);

	rf_each_other (c, j) {
		const struct peer *p = &c->peer[j];
		uint32_t hears;

		if (!rf_peer_moves(c, j) ||
		    p->health & (RF_HEALTH_PAUSED | RF_HEALTH_BARRED | RF_HEALTH_STOPPED))
			continue;
		hears = hears_living(c, j);
		rank += hears != mine                    ? hears > mine
			: p->priority != c->cfg.priority ? p->priority > c->cfg.priority
							 : j < c->me;
	}
	return rank;
}

/*
 * §4: a leader that hears fewer than half of the nodes whose slots beat resigns
 * after the isolation time, so that the larger side can go on. When no unheard
 * node hears more than I do there is no larger side: with the whole network
 * gone every leader would resign in turn, for nothing.
 */
static bool isolated(const struct rf_core *c, uint32_t *beating, uint32_t *heard)
{
	bool larger = false;

	rf_each_other (c, j) {
		/* seen to move: of what is not known yet there is no side */
		bool beats = rf_peer_beats(c, j) && c->peer[j].moved_ns;

		*beating += beats;
		*heard += beats && rf_peer_hears(c, j);
	}
	rf_each_other (c, j)
		larger |= rf_peer_beats(c, j) && !rf_peer_hears(c, j) &&
			  rf_map_count(c->peer[j].hears, c->nodes) > *heard;
	return 2 * *heard < *beating && larger;
}

void rf_peers_isolation(struct rf_core *c)
{
	uint32_t beating = 1, heard = 1; /* nodes whose slots beat, those I hear; with me */
	bool alone = isolated(c, &beating, &heard);

	c->isolated_ns = !alone ? 0 : c->isolated_ns ? c->isolated_ns : c->now;
	if (!alone || c->now - c->isolated_ns < c->isolation_ns)
		return;
	rf_each_volume (c, v) {
		if (!rf_owning(v))
			continue;
		rf_say_own(c, v, RF_SAY_ISOLATED, heard, beating);
		rf_lead_lose(c, v, RF_CAUSE_ISOLATED, 0);
	}
}
