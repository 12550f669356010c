#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# libringfence as a user has it: installed, found by pkg-config, the example compiled
# shared and static; it leads, keeps state and work, and hears that it lost: from the
# daemon, from its death, and from its silence.
# limit: 120
. "$(dirname "$0")/../lib/lab.sh"

command -v pkg-config >/dev/null || lab_skip "needs pkg-config; run tools/bootstrap"
lab_begin 1 --quorum survivors
lab_target

root=$LAB/root
"${MAKE:-make}" -s -C "$LAB_ROOT" install-lib DESTDIR="$root" PREFIX=/usr >"$LAB/install.log" 2>&1 ||
	lab_fail "install-lib: $(cat "$LAB/install.log")"
export PKG_CONFIG_PATH=$root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
example=$LAB_ROOT/tools/lib/example.c
read -ra flags <<<"$(pkg-config --cflags libringfence)"
read -ra libs <<<"$(pkg-config --libs libringfence)"
cc -Wall -Wextra -Werror -Wpedantic "${flags[@]}" -o "$LAB/shared" "$example" "${libs[@]}" ||
	lab_fail "the example does not compile"
cc "${flags[@]}" -o "$LAB/static" "$example" "$root/usr/lib/libringfence.a" ||
	lab_fail "the example does not link statically"
export LD_LIBRARY_PATH=$root/usr/lib
readelf -d "$LAB/shared" | grep -q 'NEEDED.*libringfence\.so\.0' || lab_fail "no soname"
# Nothing but the public names, all of one version.
nm -D --defined-only "$root/usr/lib/libringfence.so" | grep -v ' A RINGFENCE_0' |
	grep -v ' T ringfence_[a-z_]*@@RINGFENCE_0$' && lab_fail "exports more than its header"

# example KIND: in the background; EXAMPLE is its pid.
example() {
	"$LAB/$1" "$LAB_VOLUME" "$(lab_socket 1)" >"$LAB/$1.out" 2>&1 &
	EXAMPLE=$!
	LAB_PIDS+=("$EXAMPLE")
}

ended() {
	local rc
	must 8 "$1 hears that it lost" lab_gone "$EXAMPLE"
	wait "$EXAMPLE"
	rc=$?
	[ $rc -eq 110 ] || lab_fail "$1 exits $rc: $(cat "$LAB/$1.out")"
	expect "$1 says why" grep -q "$2" "$LAB/$1.out"
}

expect_exit 1 "$LAB/shared" "$LAB_VOLUME" "$LAB/no-such-socket"
lab_nodes 1
must 8 "node 1 leads" lab_leads 1
expect_exit 1 "$LAB/shared" other "$(lab_socket 1)"
expect_exit 0 tool 1 work begin "$LAB_VOLUME" left "by somebody"

# The daemon says so: nothing is released before the example has stopped.
example shared
must 5 "it leads" grep -q "^leadership 1$" "$LAB/shared.out"
grep -q "^unfinished left of node 1: by somebody$" "$LAB/shared.out" || lab_fail "unfinished work"
expect_exit 0 tool 1 resign "$LAB_VOLUME"
ended shared "lost: $LAB_VOLUME: the leadership ended"
must 8 "node 1 leads again" lab_leads 1

# It dies.
example static
must 5 "it leads, and counts on" grep -q "^leadership 2$" "$LAB/static.out"
lab_kill_node 1
ended static "connection to the daemon is lost"

# It hangs: the lease runs out.
lab_nodes 1
must 10 "node 1 leads again" lab_leads 1
example shared
must 5 "it leads, and counts on" grep -q "^leadership 3$" "$LAB/shared.out"
kill -STOP "${LAB_DAEMON[1]}"
ended shared "does not answer"
kill -CONT "${LAB_DAEMON[1]}"
say "library: shared, static, three ways of losing"
