#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hooks that only tell of trouble: degraded and recovered when writes to the quorum
# disk fail on this node and work again, gate-refused when the target refused a
# writer that goes on after its leadership.
. "$(dirname "$0")/../lib/lab.sh"

lab_conf_more() {
	cat <<-END

		[hooks]
		dir = $LAB/hooks$1
	END
}

hooks_of() {
	mkdir -m 755 "$LAB/hooks$1"
	cat >"$LAB/hooks$1/10-note" <<-END
		#!/bin/sh
		echo "\$1 \$2 \$RINGFENCE_REASON: \$RINGFENCE_DESC" >>"$LAB/tells$1"
	END
	chmod 755 "$LAB/hooks$1/10-note"
	: >"$LAB/tells$1"
}

told() {
	grep -q "^$2 $LAB_VOLUME ${3:-}" "$LAB/tells$1"
}

lab_begin 2 --quorum survivors
for i in 1 2; do
	hooks_of $i
	lab_path $i
done
lab_target
lab_work --stale
old=$LAB_LEADER
new=$((3 - old))

lab_path_fail "$old" write
must 10 "degraded is told" told "$old" degraded "quorum-disk: .*degraded"
must 10 "the other node leads" lab_leads "$new"
expect "no recovery before it recovered" eval "! told $old recovered"
lab_path_mend "$old"
must 10 "recovered is told" told "$old" recovered "none: .*good again"

# The old leader's writer goes on, on its connection and by a new one under the old
# name; the target refuses, and whoever asks it for its counters hears of it.
must 20 "gate-refused is told" told "$new" gate-refused "stale: [1-9][0-9]* stale writes .*refused"
for i in 1 2; do
	expect "node $i: each change is told once" [ -z "$(sed -nE 's/^(degraded|recovered) .*/\1/p' \
		"$LAB/tells$i" | uniq -d)" ]
done
lab_check
say "hooks: degraded recovered gate-refused"
