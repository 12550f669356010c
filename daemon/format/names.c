/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names.h"

#include "ringfence/control.h"
#include "ringfence/format.h"

static const char *const causes[] = {
	[RF_CAUSE_NONE] = "none",
	[RF_CAUSE_FIRST] = "first",
	[RF_CAUSE_SILENCE] = "silence",
	[RF_CAUSE_RELEASED] = "released",
	[RF_CAUSE_HANDOVER] = "handover",
	[RF_CAUSE_RESIGNED] = "resigned",
	[RF_CAUSE_SUPERSEDED] = "superseded",
	[RF_CAUSE_EXPIRED] = "expired",
	[RF_CAUSE_ORDERED] = "ordered",
	[RF_CAUSE_ISOLATED] = "isolated",
	[RF_CAUSE_RECONCILE] = "reconcile",
	[RF_CAUSE_GATE] = "gate",
	[RF_CAUSE_SHUTDOWN] = "shutdown",
	[RF_CAUSE_STOLEN] = "stolen",
	[RF_CAUSE_WATCHDOG] = "watchdog",
};

static const char *const roles[] = {
	[RF_ROLE_JOINING] = "joining",     [RF_ROLE_FOLLOWER] = "follower",
	[RF_ROLE_CANDIDATE] = "candidate", [RF_ROLE_CLAIMING] = "claiming",
	[RF_ROLE_EXCLUDING] = "excluding", [RF_ROLE_OPENING] = "opening",
	[RF_ROLE_LOADING] = "loading",     [RF_ROLE_RECONCILING] = "reconciling",
	[RF_ROLE_ACTIVE] = "active",       [RF_ROLE_CLOSING] = "closing",
	[RF_ROLE_STOPPED] = "stopped",
};

_Static_assert(sizeof(causes) / sizeof(*causes) == RF_CAUSE_LAST + 1, "a word per cause");
_Static_assert(sizeof(roles) / sizeof(*roles) == RF_ROLE_LAST + 1, "a word per role");

const char *const rf_way_words[RF_WAYS] = {"closed", "acknowledged", "aborted", "expired"};

const char *rf_cause_word(uint32_t cause)
{
	return cause <= RF_CAUSE_LAST ? causes[cause] : "unknown";
}

const char *rf_role_word(uint32_t role)
{
	return role <= RF_ROLE_LAST ? roles[role] : "unknown";
}
