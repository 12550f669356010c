# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every command that asks the daemon, one a line, as it is asked of a healthy node
# that leads: `make bench-commands` measures each, tests/e2e/answers.sh asks each of
# a daemon that hangs. What it takes is more than `ringfence --help` may forget.

lab_commands() {
	cat <<-END
		status
		--json status
		nodes
		leader $LAB_VOLUME
		is-leader $LAB_VOLUME
		wait $LAB_VOLUME --leader --timeout 30
		metrics
		timing --explain
		state get $LAB_VOLUME
		work list $LAB_VOLUME
		pause
		resume
		reload
		nbd-name $LAB_VOLUME --key-file $LAB/key
	END
}

# Those that change a leadership, or go on: a daemon that hangs is found out all the same.
lab_commands_more() {
	cat <<-END
		resign $LAB_VOLUME
		handover $LAB_VOLUME --to 1
		events
		events --follow
		status --watch
		run $LAB_VOLUME -- true
		state put $LAB_VOLUME $LAB/key
		work begin $LAB_VOLUME job
		work end $LAB_VOLUME job
	END
}
