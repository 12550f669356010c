# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nodes that have Pacemaker, for scripts that source this file, after lab.sh's
# manner: pm_begin, pm_node NODE, in_pm NODE COMMAND, pm_kill NODE. The script that
# sources it defines pm_cib: what Pacemaker is to do.

. "$(dirname "${BASH_SOURCE[0]}")/../lib/lab.sh"

declare -A PM_PID

pm_corosync_conf() {
	local i
	cat <<-END
		totem {
			version: 2
			cluster_name: lab
			transport: knet
			token: 2000
			crypto_cipher: none
			crypto_hash: none
		}
		quorum {
			provider: corosync_votequorum
		}
		system {
			sched_rr: no
		}
		logging {
			to_stderr: yes
			to_syslog: no
			to_logfile: no
		}
		nodelist {
	END
	for ((i = 1; i <= LAB_N; i++)); do
		cat <<-END
			node {
				ring0_addr: 10.99.0.$i
				name: pm$i
				nodeid: $i
			}
		END
	done
	say "}"
}

# What a node has under /etc, /var/lib and /var/log of its own.
pm_etc() {
	mkdir -p "$1/corosync"
	pm_corosync_conf >"$1/corosync/corosync.conf"
}

pm_var() {
	local x
	mkdir -p "$1"/{lib,log}/{corosync,pacemaker}
	for x in blackbox cib cores pengine; do
		mkdir -p "$1/lib/pacemaker/$x"
	done
	pm_cib >"$1/lib/pacemaker/cib/cib.xml"
	chmod 600 "$1/lib/pacemaker/cib/cib.xml"
	chown -R hacluster:haclient "$1"/{lib,log}/pacemaker
}

pm_dirs() {
	local dir=$LAB/pm$1
	[ ! -d "$dir" ] || return 0
	mkdir -p "$dir"/{etc,var/lib,var/log}
	pm_etc "$dir/etc"
	[[ " ${*:2} " != *" pacemakerd "* ]] || pm_var "$dir/var"
	mkdir "$dir/etc/ringfence"
	lab_conf "$1" >"$dir/etc/ringfence/ringfence.conf"
}

# pm_begin NODES [format options]: what is installed is what the nodes see.
pm_begin() {
	lab_begin "$@"
	"${MAKE:-make}" -s -C "$LAB_ROOT" install DESTDIR="$LAB/stage" PREFIX=/usr >"$LAB/install.log" 2>&1 ||
		lab_fail "make install: $(tail "$LAB/install.log")"
	ln -s stage/usr "$LAB/usr"
	lab_target
}

# pm_node NODE [PROGRAM...]
pm_node() {
	local i=$1
	shift
	[ $# -gt 0 ] || set -- ringfenced corosync pacemakerd
	pm_dirs "$i" "$@"
	ip netns exec "$LAB_TAG-n$i" unshare --mount --ipc --pid --uts --fork --kill-child \
		"$LAB_ROOT/tests/agents/node" "$LAB/pm$i" "pm$i" "$@" >>"$LAB/pm$i/node.log" 2>&1 &
	LAB_PIDS+=($!)
	PM_PID[$i]=$!
}

# The first process of a node: the child of unshare.
pm_first() {
	cat "/proc/${PM_PID[$1]}/task/${PM_PID[$1]}/children"
}

# in_pm NODE COMMAND...
in_pm() {
	local first
	first=$(pm_first "$1")
	shift
	timeout 30 nsenter -t "${first% }" -m -i -p -u -n -- "$@"
}

# pm_online NODE NAMES: as this node sees it, with quorum.
pm_online() {
	in_pm "$1" crm_mon -1 >"$LAB/mon" 2>&1 && grep -q "partition with quorum" "$LAB/mon" &&
		grep -q "Online: \[ $2 \]" "$LAB/mon"
}

# The whole host at once, as when its power fails.
pm_kill() {
	kill -KILL "${PM_PID[$1]}"
	wait "${PM_PID[$1]}" 2>/dev/null
	unset "PM_PID[$1]"
}

# The node where a resource is promoted, as Pacemaker says.
pm_promoted() {
	in_pm "$1" crm_resource --resource "$2" --locate 2>/dev/null |
		sed -n 's/.*is running on: \([^ ]*\) \(Promoted\|Master\).*/\1/p'
}
