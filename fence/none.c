/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Driver `none`: advisory. Nothing stands between a stale node and the volume.
 * It can do nothing, and says so: no RF_FENCE_CAN_* bit, EVICT unsupported. A
 * grant and a revoke are answered at once, because there is nothing to open
 * and nothing it knows of that could still write. Only the hooks' obedience
 * and the lease protect the volume then; ringfence-fencer(8) says so plainly.
 */
#include <errno.h>
#include <stdio.h>

#include "driver.h"

static int none_start(void **state, char *const *params, char *err, size_t err_bytes)
{
	*state = NULL;
	if (!*params)
		return 0;
	snprintf(err, err_bytes, "driver none takes no parameter: %s", *params);
	return -EINVAL;
}

static void none_serve(void *state, const struct rf_fence_request *request,
		       struct rf_fence_reply *reply)
{
	(void)state;
	if (request->verb == RF_FENCE_EVICT) {
		reply->result = RF_FENCE_UNSUPPORTED;
		reply->error = EOPNOTSUPP;
		rf_reply_text(reply,
			      "driver none enforces nothing: older writers can still write");
		return;
	}
	reply->result = RF_FENCE_OK;
	rf_reply_text(reply, "driver none enforces nothing");
}

static void none_stop(void *state)
{
	(void)state;
}

const struct rf_driver rf_driver_none = {
	.name = "none",
	.help = "  none                 advisory: enforces nothing\n",
	.start = none_start,
	.serve = none_serve,
	.stop = none_stop,
};
