/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What growth costs: 3 to 128 nodes, 1 to 1,000 volumes, in calm weather. Disk
 * operations, bytes and datagrams per node and second; how long it takes until the
 * volumes of a dead leader are led again. An area holds 256 volumes at the most: 1,000
 * are four areas of 250, which share nothing but the daemon; one is simulated and its
 * rates are counted four times.
 */
#include "sim.h"

#define SECOND_NS 1000000000ull

static struct host *leader_of_all(struct world *w)
{
	struct host *h = host_leader(w, 0);

	for (uint32_t v = 1; v < w->super.volumes && h; v++)
		if (!host_leader(w, v))
			h = NULL;
	return h;
}

static bool wait_for_leaders(struct world *w, uint64_t limit)
{
	while (!leader_of_all(w) && w->now < limit && !w->violated)
		world_until(w, w->now + RF_MS_NS);
	return leader_of_all(w) && !w->violated;
}

static void measure(struct world *w, uint32_t nodes, uint32_t volumes, uint32_t areas)
{
	const uint64_t seconds = 5;
	double per = (double)areas / (double)(nodes * seconds);
	uint64_t began;
	struct tally was;
	struct atlas a;
	bool again;

	atlas_calm(&a, nodes, 1, volumes);
	a.faults_ns = 3600 * SECOND_NS;
	world_reset(w, nodes * 1000 + volumes, &a);
	wait_for_leaders(w, 60 * SECOND_NS);
	world_until(w, w->now + 2 * SECOND_NS);
	was = w->tally;
	world_until(w, w->now + seconds * SECOND_NS);
	printf("%6u %8u %12.1f %12.1f %12.1f", nodes, areas * volumes,
	       (double)(w->tally.disk_ops - was.disk_ops) * per,
	       (double)(w->tally.disk_bytes - was.disk_bytes) / 1024 * per,
	       (double)(w->tally.datagrams - was.datagrams) * per);
	a.absent = 1;
	host_leader(w, 0)->absent = true;
	host_kill(w, host_leader(w, 0));
	began = w->now;
	again = wait_for_leaders(w, w->now + 60 * SECOND_NS);
	printf(" %12.0f%s\n", (double)(w->now - began) / 1e6, again ? "" : " (not led again)");
	fflush(stdout);
}

int scale_run(void)
{
	static const uint32_t nodes[] = {3, 8, 16, 32, 64, 128};
	static const uint32_t volumes[] = {1, 4, 16, 64, 256};
	struct world *w = world_new();

	printf("%6s %8s %12s %12s %12s %12s\n", "nodes", "volumes", "disk ops/s", "disk KiB/s",
	       "datagrams/s", "failover ms");
	for (uint32_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		measure(w, nodes[i], 1, 1);
	for (uint32_t i = 1; i < sizeof(volumes) / sizeof(volumes[0]); i++)
		measure(w, 3, volumes[i], 1);
	measure(w, 3, 250, 4);
	world_free(w);
	return 0;
}
