/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A target to test (lab.h). */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/assert.h"
#include "format/timing.h"

void rf_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
	abort();
}

uint64_t lab_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void lab_nap(void)
{
	struct timespec ts = {.tv_nsec = 2000000};

	nanosleep(&ts, NULL);
}

bool lab_can_run(void)
{
	if (!system("nbdkit --version >/dev/null 2>&1"))
		return true;
	puts("nbdkit is not installed (package nbdkit)");
	return false;
}

/* ---- files ---- */

static const char *build_dir(void)
{
	const char *dir = getenv("RF_BUILD");

	return dir ? dir : "build";
}

static void write_key(struct lab *lab)
{
	char err[256];
	FILE *f = fopen(lab->key, "w");
	unsigned i;

	assert_non_null(f);
	fprintf(f, "# test key\n1 ");
	for (i = 0; i < RF_KEY_BYTES; i++)
		fprintf(f, "%02x", 0x40 + i);
	fprintf(f, "\n");
	fclose(f);
	assert_int_equal(chmod(lab->key, 0600), 0);
	if (rf_keys_load(&lab->keys, lab->key, err, sizeof(err)))
		fail_msg("%s", err);
}

static void super_make(struct lab *lab, unsigned disks)
{
	struct rf_super *s = &lab->super;

	memset(s, 0, sizeof(*s));
	memset(s->id.cluster, 0xc1, RF_UUID_BYTES);
	memset(s->id.area, 0xa5, RF_UUID_BYTES);
	s->id.nodes = LAB_NODES;
	s->id.stride_bytes = 4096;
	s->sector_bytes = 512;
	s->volumes = LAB_VOLUMES;
	s->history = RF_HISTORY_MIN;
	s->state_strides = 2;
	s->disk_count = (uint8_t)disks;
	s->place = RF_PLACE_WHOLE;
	s->quorum = RF_QUORUM_MAJORITY;
	s->seq = 1;
	s->created_unix_s = 1;
	snprintf(s->cluster_name, sizeof(s->cluster_name), "lab");
	assert_true(rf_timing_profile("fast", &s->timing));
	memset(s->voters, 0, sizeof(s->voters));
	s->voters[0] = 0x0f;
	s->area_strides = rf_geo_strides(s);
}

void lab_put(struct lab *lab, int disk, uint64_t offset, const void *record)
{
	unsigned i;

	for (i = 0; i < lab->disks; i++)
		if (disk < 0 || (unsigned)disk == i)
			assert_int_equal(pwrite(lab->area_fd[i], record, RF_RECORD_BYTES,
						(off_t)(lab->super.area_offset_bytes + offset)),
					 RF_RECORD_BYTES);
}

static void format_nodes(struct lab *lab, uint8_t *record)
{
	struct rf_super *s = &lab->super;
	struct rf_slot slot = {.seq = 1, .state = RF_SLOT_FREE};
	struct rf_mailbox mailbox = {.seq = 1, .order = RF_ORDER_NONE};
	uint32_t i;

	for (i = 1; i <= s->id.nodes; i++) {
		rf_slot_encode(record, &s->id, i, &slot);
		lab_put(lab, -1, rf_geo_slot(s, i), record);
		rf_mailbox_encode(record, &s->id, i, &mailbox);
		lab_put(lab, -1, rf_geo_mailbox(s, i), record);
	}
}

static void format_volume(struct lab *lab, uint8_t *record, uint32_t v)
{
	struct rf_super *s = &lab->super;
	struct rf_volume_desc desc = {.seq = 1};
	struct rf_epoch epoch = {.seq = 1, .state = RF_EPOCH_NONE};
	struct rf_ballot ballot = {.seq = 1};
	struct rf_state state = {.seq = 1};
	struct rf_history history = {.seq = 1};
	uint32_t i;

	snprintf(desc.name, sizeof(desc.name), "v%u", v);
	rf_volume_encode(record, &s->id, v, &desc);
	lab_put(lab, -1, rf_geo_volume(s, v), record);
	rf_epoch_encode(record, &s->id, v, &epoch);
	lab_put(lab, -1, rf_geo_region(s, v), record);
	for (i = 1; i <= s->id.nodes; i++) {
		rf_ballot_encode(record, &s->id, v, i, &ballot);
		lab_put(lab, -1, rf_geo_ballot(s, v, i), record);
		rf_state_encode(record, &s->id, v, i, 0, &state);
		lab_put(lab, -1, rf_geo_state(s, v, i, 0), record);
		rf_state_encode(record, &s->id, v, i, 1, &state);
		lab_put(lab, -1, rf_geo_state(s, v, i, 1), record);
	}
	for (i = 0; i < s->history; i++) {
		rf_history_encode(record, &s->id, v, i, &history);
		lab_put(lab, -1, rf_geo_history(s, v, i), record);
	}
}

static void format(struct lab *lab)
{
	uint8_t record[RF_RECORD_BYTES];
	unsigned i;

	for (i = 0; i < lab->disks; i++) {
		lab->super.disk_index = (uint8_t)i;
		rf_super_encode(record, &lab->super, 0);
		lab_put(lab, (int)i, 0, record);
		rf_super_encode(record, &lab->super, 1);
		lab_put(lab, (int)i, rf_geo_copy(&lab->super), record);
	}
	format_nodes(lab, record);
	for (i = 0; i < LAB_VOLUMES; i++)
		format_volume(lab, record, i);
}

static void make_file(const char *path, uint64_t bytes, int *keep)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	if (keep)
		*keep = fd;
	else
		close(fd);
}

void lab_make(struct lab *lab, unsigned disks)
{
	unsigned i;

	memset(lab, 0, sizeof(*lab));
	lab->disks = disks;
	lab->seq = 10;
	/* The socket's path must fit in sun_path, wherever the build is. */
	snprintf(lab->dir, sizeof(lab->dir), "%s/nbd.XXXXXX", build_dir());
	if (strlen(lab->dir) > 80)
		snprintf(lab->dir, sizeof(lab->dir), "/tmp/rf-nbd.XXXXXX");
	assert_non_null(mkdtemp(lab->dir));
	snprintf(lab->key, sizeof(lab->key), "%s/key", lab->dir);
	snprintf(lab->data, sizeof(lab->data), "%s/data", lab->dir);
	snprintf(lab->sock, sizeof(lab->sock), "%s/sock", lab->dir);
	snprintf(lab->gate, sizeof(lab->gate), "%s/gate", lab->dir);
	snprintf(lab->log, sizeof(lab->log), "%s/log", lab->dir);
	write_key(lab);
	super_make(lab, disks);
	make_file(lab->data, LAB_DATA_BYTES, NULL);
	for (i = 0; i < disks; i++) {
		snprintf(lab->area[i], sizeof(lab->area[i]), "%s/area%u", lab->dir, i);
		make_file(lab->area[i], lab->super.area_strides * 4096, &lab->area_fd[i]);
	}
	format(lab);
}

void lab_remove(struct lab *lab)
{
	char held[320];
	unsigned i;

	lab_stop(lab);
	for (i = 0; i < lab->disks; i++) {
		close(lab->area_fd[i]);
		unlink(lab->area[i]);
	}
	snprintf(held, sizeof(held), "%s.held", lab->gate);
	unlink(held);
	unlink(lab->gate);
	unlink(lab->key);
	unlink(lab->data);
	unlink(lab->sock);
	unlink(lab->log);
	rmdir(lab->dir);
}

/* ---- the server ---- */

/* A plugin built with a sanitizer needs its runtime first in the server. */
static void add_preload(const char *path)
{
	const char *old = getenv("LD_PRELOAD");
	char all[1024];

	snprintf(all, sizeof(all), "%s%s%s", old ? old : "", old ? ":" : "", path);
	setenv("LD_PRELOAD", all, 1);
}

static void preload_sanitizer(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		char *path = strchr(line, '/');

		if (!path || !strstr(path, "/libasan.so"))
			continue;
		path[strcspn(path, "\n")] = 0;
		add_preload(path);
		setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
		break;
	}
	if (f)
		fclose(f);
}

static void run_server(struct lab *lab, const char *const *extra, bool slow)
{
	char plugin[512], area[2000], volume[320], key[320], shim[512];
	const char *argv[40] = {"nbdkit", "-f", "--exit-with-parent", "-t", "8", "-U"};
	int n = 6, fd = open(lab->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	size_t used = 0;
	unsigned i;

	snprintf(plugin, sizeof(plugin), "%s/lib/nbdkit-ringfence-plugin.so", build_dir());
	used = (size_t)snprintf(area, sizeof(area), "area=");
	for (i = 0; i < lab->disks; i++)
		used += (size_t)snprintf(area + used, sizeof(area) - used, "%s%s", i ? "," : "",
					 lab->area[i]);
	snprintf(volume, sizeof(volume), "volume=v0:%s", lab->data);
	snprintf(key, sizeof(key), "key-file=%s", lab->key);
	argv[n++] = lab->sock;
	argv[n++] = plugin;
	argv[n++] = area;
	argv[n++] = volume;
	argv[n++] = key;
	for (; extra && *extra && n < 39; extra++)
		argv[n++] = *extra;
	dup2(fd, 2);
	preload_sanitizer();
	snprintf(shim, sizeof(shim), "%s/tests/nbd-slow.so", build_dir());
	setenv("RF_SLOW_GATE", lab->gate, 1);
	if (slow)
		add_preload(shim);
	execvp(argv[0], (char **)argv);
	_exit(127);
}

static bool socket_answers(const struct lab *lab)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok;

	snprintf(a.sun_path, sizeof(a.sun_path), "%.107s", lab->sock);
	ok = !connect(fd, (struct sockaddr *)&a, sizeof(a));
	close(fd);
	return ok;
}

/* It has said on its way out why it cannot start. Do not wait for the rest: with
 * a sanitizer's runtime loaded, a library of nbdkit's hangs in its destructor. */
static bool said_why(const struct lab *lab)
{
	char line[512];
	FILE *f = fopen(lab->log, "re");
	bool said = false;

	while (f && !said && fgets(line, sizeof(line), f))
		said = !strncmp(line, "nbdkit: error:", 14);
	if (f)
		fclose(f);
	return said;
}

static bool server_ended(struct lab *lab)
{
	int status;

	if (waitpid(lab->pid, &status, WNOHANG) == lab->pid)
		lab->pid = 0;
	else if (said_why(lab))
		lab_stop(lab);
	return !lab->pid;
}

bool lab_serve(struct lab *lab, const char *const *extra, bool slow)
{
	uint64_t until = lab_now_ms() + LAB_LIMIT_MS;

	unlink(lab->sock);
	unlink(lab->log);
	lab->pid = fork();
	assert_true(lab->pid >= 0);
	if (!lab->pid)
		run_server(lab, extra, slow);
	while (!socket_answers(lab)) {
		if (server_ended(lab))
			return false;
		if (lab_now_ms() > until)
			fail_msg("nbdkit does not answer; see %s", lab->log);
		lab_nap();
	}
	return true;
}

void lab_stop(struct lab *lab)
{
	int status;

	if (!lab->pid)
		return;
	/* The hard way: on SIGTERM nbdkit waits for its clients to leave, and a
	 * fence has to bear a crash anyway. */
	kill(lab->pid, SIGKILL);
	waitpid(lab->pid, &status, 0);
	lab->pid = 0;
	unlink(lab->sock);
}

/* ---- records ---- */

void lab_epoch(struct lab *lab, int disk, uint64_t epoch, uint32_t node, uint64_t incarnation,
	       uint32_t state)
{
	struct rf_epoch e = {.seq = ++lab->seq,
			     .epoch = epoch,
			     .incarnation = incarnation,
			     .owner = node,
			     .state = state};
	uint8_t record[RF_RECORD_BYTES];

	rf_epoch_encode(record, &lab->super.id, 0, &e);
	lab_put(lab, disk, rf_geo_region(&lab->super, 0), record);
}

void lab_ballot(struct lab *lab, int disk, uint32_t node, uint64_t instance, uint64_t bal)
{
	struct rf_ballot b = {.seq = ++lab->seq,
			      .instance = instance,
			      .mbal = bal || !instance ? bal
						       : (1u << RF_BALLOT_NODE_BITS | node),
			      .bal = bal,
			      .value_incarnation = bal ? 1 : 0,
			      .value_node = bal ? node : 0};
	uint8_t record[RF_RECORD_BYTES];

	rf_ballot_encode(record, &lab->super.id, 0, node, &b);
	lab_put(lab, disk, rf_geo_ballot(&lab->super, 0, node), record);
}

void lab_slot(struct lab *lab, int disk, uint32_t node, uint64_t incarnation, bool open)
{
	struct rf_slot s = {.seq = ++lab->seq,
			    .incarnation = incarnation,
			    .generation = 1,
			    .state = RF_SLOT_JOINED};
	uint8_t record[RF_RECORD_BYTES];

	rf_bit_set(s.gate_open, 0, open);
	rf_slot_encode(record, &lab->super.id, node, &s);
	lab_put(lab, disk, rf_geo_slot(&lab->super, node), record);
}

/* ---- the client ---- */

struct nbd_handle *lab_open_name(struct lab *lab, const char *name)
{
	struct nbd_handle *h = nbd_create();

	assert_non_null(h);
	assert_int_equal(nbd_set_strict_mode(h, 0), 0);
	assert_int_equal(nbd_set_export_name(h, name), 0);
	if (!nbd_connect_unix(h, lab->sock))
		return h;
	nbd_close(h);
	return NULL;
}

void lab_name(struct lab *lab, char name[RF_CONN_NAME_BYTES], enum rf_conn_kind kind,
	      uint32_t node, uint64_t incarnation, uint64_t epoch)
{
	struct rf_conn c = {
		.kind = kind, .node = node, .incarnation = incarnation, .epoch = epoch};

	memcpy(c.area, lab->super.id.area, RF_UUID_BYTES);
	rf_conn_name(name, &c, &lab->keys);
}

struct nbd_handle *lab_open(struct lab *lab, enum rf_conn_kind kind, uint32_t node,
			    uint64_t incarnation, uint64_t epoch)
{
	char name[RF_CONN_NAME_BYTES];

	lab_name(lab, name, kind, node, incarnation, epoch);
	return lab_open_name(lab, name);
}

static bool stat_line(struct lab *lab, const char *key, char *value, size_t bytes)
{
	struct nbd_handle *h = lab_open(lab, RF_CONN_STAT, 1, 0, 0);
	char text[4097] = "", *line, *save = NULL;
	bool found = false;

	assert_non_null(h);
	assert_int_equal(nbd_pread(h, text, 4096, 0, 0), 0);
	nbd_close(h);
	for (line = strtok_r(text, "\n", &save); line && !found;
	     line = strtok_r(NULL, "\n", &save)) {
		size_t len = strlen(key);

		found = !strncmp(line, key, len) && line[len] == '=';
		if (found)
			snprintf(value, bytes, "%s", line + len + 1);
	}
	return found;
}

uint64_t lab_stat(struct lab *lab, const char *key)
{
	char value[64];

	return stat_line(lab, key, value, sizeof(value)) ? strtoull(value, NULL, 10) : 0;
}

bool lab_stat_is(struct lab *lab, const char *key, const char *want)
{
	char value[64];

	return stat_line(lab, key, value, sizeof(value)) && !strcmp(value, want);
}

/* ---- the slow disk ---- */

void lab_hold(struct lab *lab)
{
	char held[320];

	snprintf(held, sizeof(held), "%s.held", lab->gate);
	unlink(held);
	make_file(lab->gate, 0, NULL);
}

void lab_held(struct lab *lab)
{
	char held[320];

	snprintf(held, sizeof(held), "%s.held", lab->gate);
	LAB_WAIT(!access(held, F_OK));
}

void lab_let(struct lab *lab)
{
	unlink(lab->gate);
}
