#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# limit: 300
# `make deb`: the same bytes twice, no error and no warning from lintian; then all
# packages are installed by dpkg on this system as it is seen through an overlay, used,
# upgraded to a later version, removed and purged, and nothing of them is left.
. "$(dirname "$0")/../lib/disks.sh"
. "$(dirname "$0")/../lib/machine.sh"

disks_begin dpkg-deb dpkg-shlibdeps unshare
debs=$LAB_BUILD/deb
next=$LAB_BUILD/deb-next
for x in "$debs"/ringfence_*.deb "$next"/ringfence_*.deb; do
	[ -f "$x" ] || lab_skip "needs $x; run make check-deb"
done

"$LAB_ROOT/tools/debian/build" "$LAB/again" >"$LAB/build.log" 2>&1 ||
	lab_fail "second build: $(cat "$LAB/build.log")"
for deb in "$debs"/*.deb; do
	cmp "$deb" "$LAB/again/$(basename "$deb")" || lab_fail "not the same bytes twice"
done
wanted=$(sed -n 's/^Package: //p' "$LAB_ROOT/tools/debian/control" | sort)
built=$(for deb in "$debs"/*.deb; do dpkg-deb -f "$deb" Package; done | sort)
[ "$wanted" = "$built" ] || lab_fail "built: $built"

command -v lintian >/dev/null || lab_skip "needs lintian; run tools/bootstrap"
lintian --fail-on error,warning "$debs"/*.deb >"$LAB/lintian" 2>&1 || lab_fail "$(cat "$LAB/lintian")"

# ---- this system, seen through an overlay ----

machine_root
mkdir "$MACHINE"/mnt/{debs,next}
cp "$debs"/*.deb "$MACHINE/mnt/debs/"
cp "$next"/*.deb "$MACHINE/mnt/next/"

said_of() {
	grep -Eq "$1" "$LAB/out" || lab_fail "no '$1' in: $(cat "$LAB/out")"
}

root_files >"$LAB/before"
expect_exit 0 in_root sh -c 'dpkg --force-unsafe-io -i /mnt/debs/*.deb'
expect_exit 0 in_root dpkg --audit
[ -s "$LAB/out" ] && lab_fail "dpkg --audit: $(cat "$LAB/out")"

# What a user does first.
version=$(sed -n 's/^VERSION := //p' "$LAB_ROOT/Makefile")
expect_exit 0 in_root ringfenced --version
said_of "$version"
expect_exit 0 in_root ringfence --help
said_of '^  status '
expect_exit 0 in_root sh -c 'truncate -s 64M /tmp/area && ringfence format --cluster c --nodes 3 \
	--volume v --profile fast --yes /tmp/area && ringfence verify /tmp/area; rm -f /tmp/area'
expect_exit 0 in_root nbdkit ringfence --dump-plugin
said_of '^name=ringfence'
expect_exit 0 in_root sh -c 'env -i /usr/lib/ocf/resource.d/ringfence/volume meta-data'
expect_exit 0 in_root sh -c 'fence_ringfence -o metadata'
expect_exit 0 in_root dkms status
said_of '^ringfence/'
for page in ringfenced ringfence libringfence fence_ringfence dm-ringfence; do
	expect_exit 0 in_root man -w $page
done

# The library: found by pkg-config, its example compiled and run, which finds no daemon.
expect_exit 0 in_root sh -ec 'cd /usr/share/doc/libringfence-dev/examples
	for how in "" --static; do
		gcc -Wall -Werror -o /tmp/rf-example example.c $(pkg-config --cflags --libs $how libringfence)
	done
	ldd /tmp/rf-example | grep libringfence.so.0'
expect_exit 1 in_root /tmp/rf-example vol0 /run/nobody
said_of '^rf-example: open: .*/run/nobody'
rm "$MACHINE/tmp/rf-example"
for header in "$LAB_ROOT"/include/ringfence/*.h; do
	expect_exit 0 in_root gcc -fsyntax-only -include "ringfence/$(basename "$header")" -x c /dev/null
done

# What bash offers, in a bash of its own that reads what is installed.
expect_exit 0 in_root bash -c '. /usr/share/bash-completion/completions/ringfence &&
	complete -p ringfence && COMP_WORDS=(ringfence hand) COMP_CWORD=1 && _ringfence && echo "${COMPREPLY[*]}"'
said_of '^handover$'

# ---- upgraded: what the administrator wrote stays, and nobody is asked ----

printf '[cluster]\nname = mine\n' >"$MACHINE/etc/ringfence/ringfence.conf"
echo '# mine' >>"$MACHINE/etc/ringfence/hooks.d/50-systemd"
expect_exit 0 in_root sh -c 'dpkg --force-unsafe-io -i /mnt/next/*.deb'
expect_exit 0 in_root dpkg --audit
[ -s "$LAB/out" ] && lab_fail "dpkg --audit: $(cat "$LAB/out")"
expect_exit 0 in_root ringfenced --version
said_of "$(dpkg-deb -f "$next"/ringfence_*.deb Version)"
expect_exit 0 in_root dkms status
! grep -q "$version" "$LAB/out" || lab_fail "dkms keeps the old sources: $(cat "$LAB/out")"
expect "the old library is gone" [ ! -e "$MACHINE"/usr/lib/*/libringfence.so."$version" ]
expect "configuration kept" grep -q mine "$MACHINE/etc/ringfence/ringfence.conf"
expect "hook kept" grep -q mine "$MACHINE/etc/ringfence/hooks.d/50-systemd"
expect "no question" [ -z "$(find "$MACHINE/etc/ringfence" -name '*.dpkg-*')" ]

# Removed, purged.
expect_exit 0 in_root sh -c "dpkg --force-unsafe-io -r $(echo $wanted)"
expect_exit 0 in_root sh -c "dpkg --force-unsafe-io -P $(echo $wanted)"
expect "the administrator's file is left to him" rm "$MACHINE/etc/ringfence/ringfence.conf"
rmdir "$MACHINE/etc/ringfence"
root_files >"$LAB/after"
diff "$LAB/before" "$LAB/after" >"$LAB/left" || lab_fail "left behind: $(cat "$LAB/left")"
say "deb: $(echo $wanted): built twice alike, installed, used, upgraded, purged"
