/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PROTOCOL.md 5-8 on one disk and one volume: claim, superseded, exclusion,
 * renewal. `make check-model` explores every interleaving of two nodes,
 * then removes one rule after another and insists that spin finds the broken
 * promise. `make model-full` does three nodes and wider bounds.
 *
 * What can happen: a write lands at any time after it was submitted, or never;
 * its writer gives up or dies meanwhile and the write stays as a ghost; nodes
 * die anywhere and come back as a new incarnation; the epoch sector is written
 * arbitrarily late (a slow winner turns it back); the gate outlives its daemon
 * until the deadline; an admitted data write lands until GRACE after it.
 * A read is one step: its sectors are contiguous and it is judged at once, but
 * everything that follows from it may be arbitrarily late.
 *
 * Time: tick() is the only clock. Whatever a node does between two ticks takes
 * no time, so every order within a bound is explored. Counters run down or
 * stop at their bound; no absolute time exists, which keeps the space finite.
 * LEASE and GRACE are in ticks; equal clock rates (epsilon only adds to WAIT).
 * A slot's sequence number is not stored: `changed` says whether it moved since
 * the watcher last looked, which is all that anybody may ask about it.
 *
 * Left out on purpose: torn records (an unreadable record only stops a node),
 * several disks, target-side fences, hold and release, liveness: the simulator
 * has those.
 *
 * Promises: (1) writes land with epochs that never go back; (2) an epoch has
 * one owner, for ever.
 *
 * -DNO_... removes one rule; tests/model/run lists them. 6's e+2 rule is
 * NO_BEYOND: two nodes suffice. A publishes 1 late over B's 2, while B, having
 * led and left, has moved its block on to instance 3, phase 1.
 */
#ifndef N
#define N 2		/* nodes */
#endif
#ifndef EPOCHS
#define EPOCHS 3	/* e, e+1 and e+2: what 6 speaks of */
#endif
#ifndef BALLOTS
#define BALLOTS 4	/* ballot numbers 1..BALLOTS of an instance, all nodes */
#endif
#ifndef CRASHES
#define CRASHES 1	/* in total */
#endif
#ifndef GIVEUPS
#define GIVEUPS 1	/* writes that time out under a live daemon, in total */
#endif
#ifndef LEASE
#define LEASE 1
#endif
#ifndef GRACE
#define GRACE 1
#endif

#ifdef NO_GRACE
#define WAIT LEASE
#else
#define WAIT (LEASE + GRACE)	/* 7.3, to be waited out in full */
#endif

#define OTHER(i, j) ((i) * N + (j))
#define OWNER(i) (1 + (i) + N * inc[i])	/* (node, incarnation), never 0 */

/* What a write in flight is for; 0: none. */
#define BALLOT 1
#define SECTOR 2
#define SLOT 3

#define DOWN 0
#define JOINING 1
#define IDLE 2
#define PHASE1 3	/* ballot written, then read: anything newer? */
#define PHASE2 4
#define PUBLISH 5	/* decided for me: epoch sector, then the fresh read */
#define EXCLUDE 6	/* older gates may be open */
#define RENEW 7		/* slot OPEN(e) written, then read the claim region */
#define GRANT 8		/* not superseded: the gate may have the lease */
#define LEAD 9
#define DRAIN 10	/* gate revoked */
#define CLOSE 11	/* slot CLOSED on its way */

typedef Ballot { byte inst, mbal, bal, val };
typedef Write { byte kind, inst, mbal, bal, val };	/* inst: also the epoch */

/* The disk. */
byte sector;		/* epoch in the epoch sector */
Ballot ballot[N];
byte slot[N];		/* 0: gate closed, e: gate OPEN(e) */
Write out[N];		/* submitted, not yet landed */
Write ghost[N];		/* same, but its writer no longer waits for it */

/* The nodes. */
byte pc[N], inc[N], epoch[N];
byte mbal[N], val[N];	/* the ballot as its writer has it in mind */
byte age[N];		/* ticks since before the slot write was submitted */
byte left[N * N];	/* ticks until j's lease has certainly ended, seen by i */
bit changed[N * N];	/* j's sequence moved since i looked */
#ifdef LOOK_EARLY
#define EARLY 1
#else
#define EARLY 0
#endif

/* The gates; they run without their daemon. */
byte gate[N];		/* epoch that may write */
byte lease[N];		/* ticks until the deadline */
byte flying[N];		/* epoch of the data write in flight */
byte flight[N];		/* ticks until it has landed or died, plus one */

/* The oracles, and what bounds the run. */
byte newest;		/* epoch of the newest write that landed */
byte owner[EPOCHS + 1];
byte crashes, giveups;

hidden byte answer, whose, highest, peer, next_e, latest;	/* scratch of one step */

inline clear(w)
{
	w.kind = 0; w.inst = 0; w.mbal = 0; w.bal = 0; w.val = 0
}

inline submit(i, k, e)
{
	out[i].kind = k;
	out[i].inst = e
}

inline land(i, w)
{
	if
	:: w.kind == BALLOT ->
		ballot[i].inst = w.inst; ballot[i].mbal = w.mbal;
		ballot[i].bal = w.bal; ballot[i].val = w.val
	:: w.kind == SECTOR -> sector = w.inst
	:: w.kind == SLOT ->
		slot[i] = w.inst;
		for (peer : 0 .. N - 1) {
			if
			:: w.inst != 0 -> changed[OTHER(peer, i)] = 1
			:: else
			fi
		}
	fi;
	clear(w)
}

/* 2.2, 2.5: nothing is written over a record that an older write may still hit. */
#define SETTLED(i) (ghost[i].kind != SLOT && ghost[i].kind != BALLOT)
#define FREE(i, k) (ghost[i].kind != (k))
#ifdef NO_BUSY		/* in one life: run it with CRASHES=0 */
#undef FREE
#define FREE(i, k) true
#endif
#ifdef NO_JOIN_WAIT	/* over two lives: run it with GIVEUPS=0 */
#undef FREE
#define FREE(i, k) true
#undef SETTLED
#define SETTLED(i) true
#endif

/* 6. The answer is left in answer. */
inline superseded(e)
{
	answer = (sector > e);
	for (peer : 0 .. N - 1) {
		skip;
#ifndef NO_BALLOTS
		answer = answer || (ballot[peer].inst == e + 1 && ballot[peer].bal > 0);
#ifndef NO_BEYOND
		answer = answer || (ballot[peer].inst > e + 1);
#endif
#endif
	}
}

/* 5, after each read: answer 0: go on, 1 another ballot is higher, 2 a later epoch. */
inline overtaken(e, b)
{
	answer = 0;
	for (peer : 0 .. N - 1) {
		if
		:: ballot[peer].inst == e && ballot[peer].mbal > b && answer == 0 -> answer = 1
		:: ballot[peer].inst > e -> answer = 2
		:: else
		fi
	}
	if
	:: sector >= e -> answer = 2
	:: else
	fi
}

/* 5, which e: left in next_e. */
inline which_epoch()
{
	next_e = sector; latest = 0;
	for (peer : 0 .. N - 1) {
		if
		:: ballot[peer].inst > latest -> latest = ballot[peer].inst
		:: else
		fi
	}
	if
	:: latest <= next_e -> next_e = next_e + 1
	:: else -> next_e = latest
	fi
}

inline idle(i)
{
	epoch[i] = 0; mbal[i] = 0; val[i] = 0; pc[i] = IDLE
}

/* 5, phase 1: a ballot number above all seen and unique to i, left in highest (0: none). */
inline phase1(i, e)
{
	highest = 0;
	for (peer : 0 .. N - 1) {
		if
		:: ballot[peer].inst == e && ballot[peer].mbal > highest -> highest = ballot[peer].mbal
		:: else
		fi
	}
	highest = highest + 1;
#ifndef NO_UNIQUE
	do
	:: highest % N != i -> highest = highest + 1
	:: else -> break
	od;
#endif
	if
	:: highest <= BALLOTS && e <= EPOCHS ->
		submit(i, BALLOT, e);
		out[i].mbal = highest;
		if
#ifndef NO_MEMORY	/* what this node promised survives its restart */
		:: ballot[i].inst == e ->
			out[i].bal = ballot[i].bal; out[i].val = ballot[i].val
#endif
		:: else
		fi;
		epoch[i] = e; mbal[i] = highest; val[i] = 0;
		pc[i] = PHASE1
	:: else -> idle(i)
	fi
}

/* 5, phase 2: the value of the largest bal, else my own. */
inline phase2(i, e)
{
	highest = 0; whose = OWNER(i);
	for (peer : 0 .. N - 1) {
		if
		:: ballot[peer].inst == e && ballot[peer].bal > highest ->
			highest = ballot[peer].bal;
#ifndef NO_ADOPT
			whose = ballot[peer].val
#endif
		:: else
		fi
	}
	submit(i, BALLOT, e);
	out[i].mbal = mbal[i]; out[i].bal = mbal[i]; out[i].val = whose;
	val[i] = whose;
	pc[i] = PHASE2
}

/* Look at all slots: a closed gate is out, an open one has to be waited for. */
inline look(i)
{
	for (peer : 0 .. N - 1) {
		if
		:: peer == i
		:: peer != i && slot[peer] == 0 -> left[OTHER(i, peer)] = 0; changed[OTHER(i, peer)] = 1
		:: peer != i && slot[peer] != 0 ->
			if
#ifdef NO_RESTART
			:: left[OTHER(i, peer)] == 0 && changed[OTHER(i, peer)] -> left[OTHER(i, peer)] = WAIT
#else
			:: changed[OTHER(i, peer)] -> left[OTHER(i, peer)] = WAIT
#endif
			:: else
			fi;
			changed[OTHER(i, peer)] = 0
		fi
	}
}

/* 7: everybody is out. Left in answer. */
inline excluded(i)
{
	answer = 1;
	for (peer : 0 .. N - 1) {
		answer = answer && (peer == i || slot[peer] == 0 || left[OTHER(i, peer)] == 0)
	}
}

inline open(i, until)
{
	if
	:: until > 0 -> lease[i] = until; gate[i] = epoch[i]
	:: else
	fi
}

inline quit(i)	/* back to the ranks; a gate that may be open is shut first */
{
	age[i] = 0;
	if
	:: slot[i] != 0 || lease[i] != 0 -> pc[i] = DRAIN; lease[i] = 0; gate[i] = 0
	:: else -> idle(i)
	fi
}

inline leave(i)	/* nobody waits for this write any more */
{
	if
	:: out[i].kind != 0 ->
		ghost[i].kind = out[i].kind; ghost[i].inst = out[i].inst;
		ghost[i].mbal = out[i].mbal; ghost[i].bal = out[i].bal;
		ghost[i].val = out[i].val;
		clear(out[i])
	:: else
	fi
}

#define LANDED(i) (out[i].kind == 0)
#ifdef NO_DRAIN
#define DRAINED(i) true
#else
#define DRAINED(i) (flight[i] == 0)
#endif

proctype node(byte i)
{
	do
	/* 3: before the slot says closed for the life before, its gate is revoked
	 * and drained, and its writes have landed or died. */
	:: d_step { pc[i] == DOWN && SETTLED(i) && DRAINED(i) -> inc[i] = inc[i] + 1; lease[i] = 0; gate[i] = 0;
			submit(i, SLOT, 0); pc[i] = JOINING }
	:: d_step { pc[i] == JOINING && LANDED(i) -> pc[i] = IDLE }

	/* Watching the slots long before it matters. */
	:: d_step { EARLY && pc[i] == IDLE -> look(i); peer = 0 }

	/* 5 */
	:: d_step { pc[i] == IDLE && FREE(i, BALLOT) ->
		which_epoch(); phase1(i, next_e) }
	:: d_step { pc[i] == PHASE1 && LANDED(i) ->
		overtaken(epoch[i], mbal[i]);
		if
		:: answer == 0 -> phase2(i, epoch[i])
		:: answer == 1 -> phase1(i, epoch[i])
		:: answer == 2 -> idle(i)
		fi }
	:: d_step { pc[i] == PHASE2 && LANDED(i) ->
		overtaken(epoch[i], mbal[i]);
#ifdef NO_PHASE2_CHECK
		answer = 0;
#endif
		if
		:: answer == 1 -> phase1(i, epoch[i])
		:: answer == 2 -> idle(i)
		:: answer == 0 ->
			/* Decided: promise 2. */
			whose = val[i];
			assert(owner[epoch[i]] == 0 || owner[epoch[i]] == whose);
			owner[epoch[i]] = whose;
			if
			:: whose == OWNER(i) && FREE(i, SECTOR) ->
				submit(i, SECTOR, epoch[i]);
				mbal[i] = 0; val[i] = 0; pc[i] = PUBLISH
			:: whose == OWNER(i) && !FREE(i, SECTOR) -> idle(i)
			:: else -> phase1(i, epoch[i] + 1)
			fi
		fi }

	/* 7: the fresh read, after phase 2. */
	:: d_step { pc[i] == PUBLISH && LANDED(i) ->
#ifndef NO_FRESH_READ
		look(i);
#endif
		superseded(epoch[i]);
		if
		:: answer -> quit(i)
		:: else -> pc[i] = EXCLUDE
		fi }
	:: d_step { pc[i] == EXCLUDE && FREE(i, SLOT) ->
		excluded(i);
#ifdef NO_EXCLUSION
		answer = 1;
#endif
		if
		:: answer ->
#ifdef NO_OPEN_FIRST	/* the gate opens, and then the slot says so */
			superseded(epoch[i]);
			if
			:: answer
			:: else -> open(i, LEASE)
			fi;
#endif
			submit(i, SLOT, epoch[i]); pc[i] = RENEW
		:: else
		fi }

	/* 8: the slot says OPEN, then the claim region is read, then the gate opens. */
	:: d_step { pc[i] == LEAD && FREE(i, SLOT) ->
		submit(i, SLOT, epoch[i]); pc[i] = RENEW }
	:: d_step { pc[i] == RENEW && LANDED(i) ->
		superseded(epoch[i]);
#ifdef NO_RENEW_CHECK
		answer = 0;
#endif
		if
		:: answer -> quit(i)
		:: else -> pc[i] = GRANT
		fi;
#ifdef NO_TIME_BEFORE	/* the deadline counts from the completion */
		age[i] = 0
#endif
		}
	:: d_step { pc[i] == GRANT ->
		open(i, LEASE - age[i]); age[i] = 0; pc[i] = LEAD }

	/* 6: a slow winner turned the sector back. */
	:: d_step { pc[i] == LEAD && sector < epoch[i] && FREE(i, SECTOR) ->
		submit(i, SECTOR, epoch[i]); pc[i] = PUBLISH }

	/* 8: leaving. Revoke, drain, and only then CLOSED. */
	:: d_step { pc[i] == LEAD -> quit(i) }
	:: d_step { pc[i] == DRAIN && FREE(i, SLOT) &&
		DRAINED(i) -> submit(i, SLOT, 0); pc[i] = CLOSE }
	:: d_step { pc[i] == CLOSE && LANDED(i) -> idle(i) }

	/* A time-out under a live daemon: the write is left to itself. */
	:: d_step { giveups < GIVEUPS && !LANDED(i) && ghost[i].kind == 0 && pc[i] != JOINING &&
		pc[i] != CLOSE ->
		giveups++; leave(i); quit(i) }
	/* Death. Its gate stays until the deadline, its write may still land. */
	:: d_step { crashes < CRASHES && pc[i] != DOWN && (LANDED(i) || ghost[i].kind == 0) ->
		crashes++; leave(i); idle(i); age[i] = 0; pc[i] = DOWN }
	od
}

proctype world(byte i)
{
	do
	:: d_step { out[i].kind != 0 -> land(i, out[i]) }
	:: d_step { ghost[i].kind != 0 -> land(i, ghost[i]) }
	:: d_step { ghost[i].kind != 0 -> clear(ghost[i]) }
	/* The gate of node i and a data write through it. */
	:: d_step { lease[i] > 0 && flight[i] == 0 ->
		flying[i] = gate[i]; flight[i] = GRACE + 1 }
	:: d_step { flight[i] > 0 ->
		assert(flying[i] >= newest);	/* promise 1 */
		newest = flying[i]; flying[i] = 0; flight[i] = 0 }
	od
}

inline down(c)
{
	if
	:: c > 0 -> c = c - 1; answer = 1
	:: else
	fi
}

proctype clock()
{
	do
	:: d_step {
		answer = 0;
		for (peer : 0 .. N - 1) {
			down(lease[peer]); down(flight[peer]);
			if
			:: lease[peer] == 0 -> gate[peer] = 0
			:: else
			fi;
			if
			:: flight[peer] == 0 -> flying[peer] = 0
			:: else
			fi;
			if
			:: (pc[peer] == RENEW || pc[peer] == GRANT) && age[peer] < LEASE -> age[peer] = age[peer] + 1
			:: else
			fi
		}
		for (peer : 0 .. N * N - 1) {
			down(left[peer])
		}
		peer = 0
	}
	od
}

init {
	atomic {
		for (latest : 0 .. N - 1) {
			pc[latest] = IDLE;
			for (peer : 0 .. N - 1) {
				changed[OTHER(latest, peer)] = 1
			}
			run node(latest);
			run world(latest)
		}
		run clock()
	}
}
