/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Configuration: what is read, and each error word by word. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "format/assert.h"

void rf_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
	abort();
}

#define GOOD                                    \
	"[cluster]\nname = prod\nnode-id = 2\n" \
	"[volume v]\ndevice = /dev/mapper/v\nfence = expiry\n"

static struct rf_config c;
static char err[512];
static char warnings[1024];

static void collect(void *arg, const char *line)
{
	(void)arg;
	snprintf(warnings + strlen(warnings), sizeof(warnings) - strlen(warnings), "%s\n",
		 line);
}

static int parse(const char *text)
{
	*warnings = 0;
	return rf_config_parse(&c, "c", text, strlen(text), collect, NULL, err, sizeof(err));
}

static void reads_everything(void **state)
{
	(void)state;
	assert_int_equal(
		parse("# comment\n"
		      "; another\n"
		      "[cluster]\n"
		      "  name = prod.eu-1\n"
		      "\tnode-id = 7\n"
		      "[network]\n"
		      "multicast = 239.1.2.3, [ff15::7]:9000\n"
		      "interface = eth0 eth1\n"
		      "interface = bond0\n"
		      "port = 7500\n"
		      "ttl = 4\n"
		      "peers = 192.0.2.1 192.0.2.2:99 2001:db8::1 [2001:db8::2]:77\n"
		      "[auth]\n"
		      "key-file = /etc/key\n"
		      "[volume a]\n"
		      "device = /dev/mapper/a\n"
		      "fence = target\n"
		      "nbd-uri = nbd+unix:///?socket=/run/a.sock\n"
		      "priority = 0\n"
		      "[volume b]\n"
		      "area = /dev/mapper/q1 /dev/mapper/q2\n"
		      "area = /dev/mapper/q3\n"
		      "fence = expiry\n"
		      "[volume c]\n"
		      "area = /dev/mapper/q1,/dev/mapper/q2,/dev/mapper/q3\n"
		      "fence = expiry\n"
		      "[watchdog]\nmode = required\ndevice = /dev/watchdog1\n"
		      "[hooks]\ndir = /h\nuser = nobody\ntimeout = 2 min\nkill-after = 500ms\n"
		      "[health]\ncommand = ping -c1 gw ; comment\ninterval = 9 s\ntimeout = "
		      "3s\n"
		      "[log]\nlevel = debug\nfile = /var/log/r\n"),
		0);
	assert_string_equal(warnings, "");
	assert_string_equal(c.cluster, "prod.eu-1");
	assert_int_equal(c.node, 7);
	assert_int_equal(c.groups, 2);
	assert_int_equal(c.group[0].in.sin_family, AF_INET);
	assert_int_equal(ntohs(c.group[0].in.sin_port), 7500);
	assert_int_equal(c.group[1].in6.sin6_family, AF_INET6);
	assert_int_equal(ntohs(c.group[1].in6.sin6_port), 9000);
	assert_int_equal(c.interfaces, 3);
	assert_string_equal(c.interface[2], "bond0");
	assert_int_equal(c.ttl, 4);
	assert_int_equal(c.peers, 4);
	assert_int_equal(ntohs(c.peer[1].in.sin_port), 99);
	assert_int_equal(ntohs(c.peer[2].in6.sin6_port), 7500);
	assert_int_equal(ntohs(c.peer[3].in6.sin6_port), 77);
	assert_string_equal(c.key_file, "/etc/key");
	assert_int_equal(c.volumes, 3);
	assert_int_equal(c.areas, 2); /* a's own device; b and c share theirs */
	assert_string_equal(c.area[c.volume[0].area].disk[0], "/dev/mapper/a");
	assert_int_equal(c.volume[1].area, c.volume[2].area);
	assert_int_equal(c.area[c.volume[1].area].disks, 3);
	assert_int_equal(c.volume[0].priority, 0);
	assert_int_equal(c.volume[1].priority, 100);
	assert_string_equal(c.volume[0].fence, "target");
	assert_int_equal(c.volume[0].settings, 1);
	assert_string_equal(c.volume[0].setting[0].key, "uri");
	assert_string_equal(c.volume[0].setting[0].value, "nbd+unix:///?socket=/run/a.sock");
	assert_int_equal(c.hooks_timeout_ms, 120000);
	assert_int_equal(c.hooks_kill_ms, 500);
	assert_string_equal(c.hooks_user, "nobody");
	assert_string_equal(c.health_command, "ping -c1 gw");
	assert_int_equal(c.health_interval_ms, 9000);
	assert_int_equal(c.log_level, 7);
}

static void fences_in_order(void **state)
{
	(void)state;
	assert_int_equal(parse("[cluster]\nname=x\nnode-id=1\n[volume v]\narea=/q\ndevice=/a\n"
			       "gate-reads=pass\nfence=reservation, target gate,expiry\n"
			       "nbd-uri=nbd://h\n"),
			 0);
	assert_int_equal(c.volume[0].fences, 4);
	assert_string_equal(c.volume[0].way[0], "reservation");
	assert_string_equal(c.volume[0].way[3], "expiry");
	assert_string_equal(c.volume[0].setting[0].fence, "gate");
	assert_string_equal(c.volume[0].setting[1].fence, "target");
	assert_string_equal(c.volume[0].gate, "v");
}

static void has_defaults(void **state)
{
	struct in_addr group;

	(void)state;
	assert_int_equal(parse(GOOD), 0);
	assert_int_equal(c.groups, 1);
	inet_pton(AF_INET, "239.255.74.11", &group);
	assert_int_equal(c.group[0].in.sin_addr.s_addr, group.s_addr);
	assert_int_equal(ntohs(c.group[0].in.sin_port), RF_CONFIG_PORT);
	assert_int_equal(c.ttl, 1);
	assert_string_equal(c.key_file, "/etc/ringfence/key");
	assert_string_equal(c.hooks_dir, "/etc/ringfence/hooks.d");
	assert_int_equal(c.log_level, 6);
	assert_string_equal(c.log_file, "");
}

static void warns(void **state)
{
	(void)state;
	assert_int_equal(parse("[cluster]\nname=x\nnode-id=1\n[volume v]\ndevice=/dev/sdb\n"),
			 0);
	assert_string_equal(
		warnings,
		"c:5: device /dev/sdb: this name can change at the next boot: use one of "
		"/dev/disk/by-id or /dev/mapper\n"
		"c:4: volume v: no fence is set: nothing refuses a stale write (say fence = "
		"expiry if that is meant)\n");
}

static const struct {
	const char *text, *error;
} errors[] = {
	{"", "c: [cluster] name is missing"},
	{"[cluster]\nname=x\n",
	 "c: [cluster] node-id is missing: each host has its own, from 1"},
	{"[cluster]\nname=x\nnode-id=1\n", "c: no [volume NAME] section"},
	{"name = x\n", "c:1: \"name\" stands before any [section]"},
	{"[cluster\n", "c:1: section without ']'"},
	{"[clustr]\n", "c:1: no section [clustr]: did you mean [cluster]?"},
	{"[zzzzzzzz]\n", "c:1: no section [zzzzzzzz]"},
	{"[cluster x]\n", "c:1: [cluster] takes no name"},
	{"[volume]\n", "c:1: [volume] needs a name: [volume NAME]"},
	{"[volume ../x]\n", "c:1: volume \"../x\": letters, digits, '_', '-' and '.' only, "
			    "beginning with a letter, digit or '_'"},
	{"[cluster]\nnodeid = 1\n",
	 "c:2: [cluster] has no key \"nodeid\": did you mean \"node-id\"?"},
	{"[cluster]\nfrobnicate = 1\n", "c:2: [cluster] has no key \"frobnicate\""},
	{"[cluster]\nttl = 1\n",
	 "c:2: [cluster] has no key \"ttl\": it belongs into [network]"},
	{"[cluster]\nname = x\n\nname = y\n", "c:4: name was already given at c:2"},
	{"[cluster]\nname\n", "c:2: neither [section] nor KEY = VALUE"},
	{"[cluster]\nname =\n", "c:2: name is empty"},
	{"[cluster]\nname = a b\n",
	 "c:2: name \"a b\": letters, digits, '_', '-' and '.' only, beginning with a letter, "
	 "digit or '_'"},
	{"[cluster]\nnode-id = two\n", "c:2: node-id \"two\": not a number"},
	{"[cluster]\nnode-id = -1\n", "c:2: node-id \"-1\": not a number"},
	{"[cluster]\nnode-id = 0\n", "c:2: node-id 0: must be from 1 to 128"},
	{"[cluster]\nnode-id = 129\n", "c:2: node-id 129: must be from 1 to 128"},
	{"[cluster]\nnode-id = 99999999999999999999\n",
	 "c:2: node-id 99999999999999999999: must be from 1 to 128"},
	{"[cluster]\nquorum = all\n",
	 "c:2: quorum \"all\": must be one of majority, survivors"},
	{"[network]\nport = 65536\n", "c:2: port 65536: must be from 1 to 65535"},
	{"[network]\nmulticast = 10.0.0.1\n",
	 "c:2: multicast 10.0.0.1: not a multicast address (such as 239.255.74.11)"},
	{"[network]\nmulticast = 239.0.0.1 239.0.0.2\n",
	 "c:2: multicast 239.0.0.2: only one group per address family"},
	{"[network]\npeers = node2\n",
	 "c:2: peers \"node2\": not a numeric address (such as 192.0.2.7, 192.0.2.7:7411, "
	 "[2001:db8::7]:7411)"},
	{"[network]\npeers = 239.0.0.1\n",
	 "c:2: peers 239.0.0.1: a multicast address (use multicast = 239.0.0.1)"},
	{"[network]\ninterface = abcdefghijklmnop\n", "c:2: interface is longer than 15 bytes"},
	{"[auth]\nkey-file = key\n", "c:2: key-file \"key\": must be an absolute path"},
	{"[hooks]\ntimeout = 5\n", "c:2: timeout \"5\": needs a unit: ms, s or min"},
	{"[hooks]\ntimeout = 5 h\n", "c:2: timeout \"5 h\": needs a unit: ms, s or min"},
	{"[hooks]\ntimeout = soon\n",
	 "c:2: timeout \"soon\": not a duration (such as 500 ms, 10 s, 2 min)"},
	{"[hooks]\ntimeout = 1ms\n", "c:2: timeout 1ms: must be from 10 ms to 3600000 ms"},
	{"[hooks]\ntimeout = 61 min\n",
	 "c:2: timeout 61 min: must be from 10 ms to 3600000 ms"},
	{"[log]\nlevel = loud\n",
	 "c:2: level \"loud\": must be one of error, warning, info, debug"},
	{"[volume v]\narea = a\n", "c:2: area \"a\": must be an absolute path"},
	{"[volume v]\narea = /1 /2 /3 /4 /5 /6\n", "c:2: area: more than 5 quorum disks"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\nfence=expiry\n",
	 "c:4: volume v: needs device (with the area in it) or area"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\narea=/a /b\nfence=expiry\n",
	 "c:4: volume v: 2 quorum disks: must be 1, 3 or 5 (of an even number half is no "
	 "majority)"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\narea=/a\nfence=expiry\n"
	 "[volume w]\narea=/b /a /c\nfence=expiry\n",
	 "c:7: volume w: /a is in another area too: volumes of one area name the same disks in "
	 "the same order"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\ndevice=/a\nfence=magic\n",
	 "c:4: volume v: no fence \"magic\" in this build: use reservation, target, gate or "
	 "expiry"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\ndevice=/a\nfence=target\n",
	 "c:4: volume v: fence = target needs nbd-uri"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\ndevice=/a\nfence=expiry\nnbd-uri=nbd://h\n",
	 "c:4: volume v: has a setting of another fence, which fence = expiry does not use"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\ndevice=/a\nfence=expiry\ngate=g\n",
	 "c:4: volume v: gate is not used by fence = expiry"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\narea=/a\nfence=gate\n",
	 "c:4: volume v: fence = gate needs device"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\ndevice=/a\nfence=gate\nnbd-uri=nbd://h\n",
	 "c:4: volume v: has a setting of another fence, which fence = gate does not use"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\ndevice=/a\nfence=reservation\n",
	 "c:4: volume v: fence = reservation: /a is the quorum disk too, which all nodes must "
	 "write: give the area a device of its own"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\narea=/a\nfence=reservation\n",
	 "c:4: volume v: fence = reservation needs device"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\narea=/q\ndevice=/a\nfence=expiry, gate\n",
	 "c:4: volume v: fence: expiry is the last resort and stands last"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\narea=/q\ndevice=/a\nfence=gate gate\n",
	 "c:4: volume v: fence names gate twice"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\narea=/q\ndevice=/a\nfence=,\n",
	 "c:4: volume v: fence is empty"},
	{"[cluster]\nname=x\nnode-id=1\n[volume v]\narea=/q\ndevice=/a\n"
	 "fence=reservation gate\nnbd-uri=nbd://h\n",
	 "c:4: volume v: has a setting of another fence, which fence = reservation gate does "
	 "not use"},
	{"[volume v]\ngate-reads = maybe\n",
	 "c:2: gate-reads \"maybe\": must be one of pass, refuse"},
	{GOOD "[watchdog]\ndevice = /dev/watchdog0\n",
	 "c:8: device = /dev/watchdog0 is not used by mode = off: set mode = automatic or "
	 "required"},
	{GOOD "[watchdog]\nmode = sometimes\n",
	 "c:8: mode \"sometimes\": must be one of off, automatic, required"},
	{GOOD "[health]\ninterval = 1 s\ntimeout = 2 s\n",
	 "c:9: [health] timeout (2000 ms) is longer than interval (1000 ms)"},
};

static void names_each_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		assert_int_equal(parse(errors[i].text), -EINVAL);
		assert_string_equal(err, errors[i].error);
	}
}

static void refuses_what_is_no_text(void **state)
{
	char line[400];

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, "[cluster]\nname = ", 17);
	line[sizeof(line) - 1] = 0;
	assert_int_equal(parse(line), -EINVAL);
	assert_string_equal(err,
			    "c:2: line longer than 198 bytes (lists may be given in several "
			    "lines)");
	assert_int_equal(
		rf_config_parse(&c, "c", "[log]\n\0\n", 8, NULL, NULL, err, sizeof(err)),
		-EINVAL);
	assert_string_equal(err, "c:2: a NUL byte: not a text file");
}

/* ---- files ---- */

static char dir[64];

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int load(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/ringfence.conf", dir);
	return rf_config_load(&c, path, NULL, NULL, err, sizeof(err));
}

static void reads_dropins_in_order(void **state)
{
	char path[128], expect[256];

	(void)state;
	assert_int_equal(load(), -ENOENT);
	snprintf(expect, sizeof(expect),
		 "%s/ringfence.conf: cannot read: No such file or directory", dir);
	assert_string_equal(err, expect);
	put("ringfence.conf", GOOD);
	assert_int_equal(load(), 0); /* no conf.d at all */
	snprintf(path, sizeof(path), "%s/conf.d", dir);
	mkdir(path, 0755);
	put("conf.d/20-b.conf", "[volume w]\ndevice=/dev/mapper/w\nfence=expiry\n");
	put("conf.d/10-a.conf", "[log]\nlevel = error\n[volume v]\npriority = 5\n");
	put("conf.d/ignored.conf~", "nonsense");
	put("conf.d/.hidden.conf", "nonsense");
	assert_int_equal(load(), 0);
	assert_int_equal(c.files, 3);
	assert_int_equal(c.volumes, 2);
	assert_int_equal(c.volume[0].priority, 5);
	assert_int_equal(c.log_level, 3);
	put("conf.d/30-c.conf", "\n[log]\nlevel = info\n");
	assert_int_equal(load(), -EINVAL);
	snprintf(expect, sizeof(expect),
		 "%s/conf.d/30-c.conf:3: level was already given at %s/conf.d/10-a.conf:2", dir,
		 dir);
	assert_string_equal(err, expect);
}

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/rf-config-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* ---- CASES 14, 15: the disk counts ---- */

static void compares_with_the_disk(void **state)
{
	struct rf_super s = {.id.nodes = 3, .disk_count = 1, .quorum = RF_QUORUM_MAJORITY};

	(void)state;
	strcpy(s.cluster_name, "prod");
	s.timing.lease_ms = 1000;
	s.timing.heartbeat_ms = 100;
	assert_int_equal(parse(GOOD "[timing]\nlease = 1 s\nheartbeat=100ms\n[cluster]\n"
				    "nodes = 3\nquorum = majority\n"),
			 0);
	assert_int_equal(rf_config_compare(&c, 0, &s, err, sizeof(err)), 0);
	s.timing.lease_ms = 2000;
	assert_int_equal(rf_config_compare(&c, 0, &s, err, sizeof(err)), -EINVAL);
	assert_string_equal(err,
			    "c:8: lease = 1000 ms, but the disk /dev/mapper/v says 2000 ms, "
			    "and the disk counts: remove the line");
	s.timing.lease_ms = 1000;
	s.quorum = RF_QUORUM_SURVIVORS;
	assert_int_equal(rf_config_compare(&c, 0, &s, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "c:12: quorum = majority, but the disk /dev/mapper/v says "
				 "survivors, and the disk counts: remove the line");
	s.quorum = RF_QUORUM_MAJORITY;
	s.id.nodes = 4;
	assert_int_equal(rf_config_compare(&c, 0, &s, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "c:11: nodes = 3, but the disk /dev/mapper/v says 4, and the "
				 "disk counts: remove the line");
	s.id.nodes = 1;
	assert_int_equal(rf_config_compare(&c, 0, &s, err, sizeof(err)), -EINVAL);
	assert_string_equal(err,
			    "c: node-id is 2, but /dev/mapper/v was made for nodes 1 to 1: "
			    "give this host a free id of those");
	s.disk_count = 3;
	s.id.nodes = 3;
	assert_int_equal(rf_config_compare(&c, 0, &s, err, sizeof(err)), -EINVAL);
	assert_string_equal(err,
			    "c: the area of /dev/mapper/v has 1 quorum disks here, but 3 on "
			    "the disk: name them all");
	strcpy(s.cluster_name, "test");
	assert_int_equal(rf_config_compare(&c, 0, &s, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "c: cluster is \"prod\", but /dev/mapper/v belongs to cluster "
				 "\"test\": wrong disk or wrong name");
}

static void collect_change(void *arg, const struct rf_config_changed *changed)
{
	(void)arg;
	snprintf(warnings + strlen(warnings), sizeof(warnings) - strlen(warnings),
		 "%s %s: %s -> %s\n", changed->live ? "now" : "restart", changed->key,
		 changed->from, changed->to);
}

static const char *differ(const char *before, const char *after)
{
	static struct rf_config was;

	assert_int_equal(parse(before), 0);
	was = c;
	assert_int_equal(parse(after), 0);
	*warnings = 0;
	rf_config_diff(&was, &c, collect_change, NULL);
	return warnings;
}

static void names_what_differs(void **state)
{
	(void)state;
	assert_string_equal(differ(GOOD, GOOD), "");
	assert_string_equal(differ(GOOD, GOOD "[timing]\nlease = 3 s\n"), ""); /* the disk's */
	assert_string_equal(differ(GOOD, GOOD "[log]\nlevel = debug\nfile = /x\n[hooks]\n"
					      "timeout = 7s\npre-campaign = yes\n"),
			    "now [hooks] timeout: 30000 ms -> 7000 ms\n"
			    "now [hooks] pre-campaign: no -> yes\n"
			    "now [log] level: info -> debug\n"
			    "now [log] file: none -> /x\n");
	/* a setting of a fence, a volume that goes, what was a list of its own */
	assert_string_equal(
		differ("[cluster]\nname = prod\nnode-id = 2\n"
		       "[volume v]\ndevice = /dev/mapper/v\nfence = gate\n"
		       "[volume w]\ndevice = /dev/mapper/w\nfence = expiry\npriority = 9\n"
		       "[network]\npeers = 10.0.0.1\n",
		       "[cluster]\nname = prod\nnode-id = 3\n"
		       "[volume v]\ndevice = /dev/mapper/v\nfence = gate\n"
		       "gate-reads = refuse\narea = /dev/mapper/q\n"
		       "[network]\npeers = 10.0.0.1 [fd00::1]:9\nttl = 3\n"),
		"restart [cluster] node-id: 2 -> 3\n"
		"now [network] peers: 10.0.0.1:7411 -> 10.0.0.1:7411, [fd00::1]:9\n"
		"restart [network] ttl: 1 -> 3\n"
		"restart [volume v] area: /dev/mapper/v -> /dev/mapper/q\n"
		"restart [volume v] gate-reads: none -> refuse\n"
		"restart [volume w]: there -> removed\n");
	assert_string_equal(differ(GOOD "priority = 9\n",
				   GOOD "[volume w]\ndevice = /dev/mapper/w\nfence = expiry\n"),
			    "now [volume v] priority: 9 -> 100\n"
			    "restart [volume w]: none -> added\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_everything),
		cmocka_unit_test(has_defaults),
		cmocka_unit_test(fences_in_order),
		cmocka_unit_test(warns),
		cmocka_unit_test(names_each_error),
		cmocka_unit_test(refuses_what_is_no_text),
		cmocka_unit_test_setup_teardown(reads_dropins_in_order, make_dir, remove_dir),
		cmocka_unit_test(compares_with_the_disk),
		cmocka_unit_test(names_what_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
