#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# limit: 300
# The module's package under dkms, against Debian's headers: built as soon as headers
# are there, in whatever order both come; installed; right; gone when it is removed.
. "$(dirname "$0")/../lib/disks.sh"
. "$(dirname "$0")/../lib/machine.sh"

disks_begin dkms dpkg-deb unshare modinfo
deb=$(echo "$LAB_BUILD"/deb/ringfence-dkms_*.deb)
[ -f "$deb" ] || lab_skip "needs $deb; run make check-deb"
version=$(dpkg-deb -f "$deb" Version)
export RF_VM_DIR=${RF_VM_DIR:-$LAB_BUILD/vm}
machine_root
mkdir "$MACHINE"/mnt/debs
cp "$deb" "$MACHINE/mnt/debs/"

# headers SERIES: RELEASE is theirs. Unpacked, and their hooks run, as their own script
# would: that needs linux-base, which a system without a kernel does not have.
headers() {
	"$LAB_ROOT/tests/vm/fetch" "$1" >"$LAB/fetch" 2>&1 || lab_skip "$(tail -n 1 "$LAB/fetch")"
	RELEASE=$(cat "$RF_VM_DIR/$1/release")
	cp "$RF_VM_DIR/$1"/deb/linux-{headers,kbuild}-*.deb "$MACHINE/mnt/"
	expect_exit 0 in_root sh -ec 'dpkg --force-unsafe-io --force-depends --unpack /mnt/linux-*.deb
		rm /mnt/linux-*.deb'
	in_root run-parts --exit-on-error --arg="$RELEASE" /etc/kernel/header_postinst.d >"$LAB/out" 2>&1 ||
		lab_fail "$(cat "$LAB/out" "$MACHINE/var/lib/dkms/ringfence/$version/build/make.log")"
}
field() {
	in_root modinfo -k "$RELEASE" -F "$1" dm-ringfence
}
right() {
	expect_exit 0 in_root dkms status -m ringfence -v "$version" -k "$RELEASE"
	grep -q ': installed' "$LAB/out" || lab_fail "$RELEASE: $(cat "$LAB/out")"
	expect "version" [ "$(field version)" = "$version" ]
	expect "license" [ "$(field license)" = GPL ]
	expect "release" [ "$(field vermagic | cut -d ' ' -f 1)" = "$RELEASE" ]
	expect "it depends on what it calls" eval "field depends | grep -qw dm-mod"
	say "$RELEASE: $(field filename)"
}

# Headers are there when the module comes, and come when it is there: a newer kernel.
headers 6.1
first=$RELEASE
expect_exit 0 in_root sh -c 'dpkg --force-unsafe-io -i /mnt/debs/*.deb'
right
headers 6.12
right
RELEASE=$first
right

expect_exit 0 in_root dpkg --force-unsafe-io -P ringfence-dkms
for release in "$MACHINE"/lib/modules/*; do
	! find "$release" -name 'dm-ringfence*' | grep . || lab_fail "left in $release"
done
expect "no sources are left" [ ! -e "$MACHINE/usr/src/ringfence-$version" ]
expect "dkms knows it no more" [ ! -e "$MACHINE/var/lib/dkms/ringfence" ]
say "dkms: built by either order, right, removed"
