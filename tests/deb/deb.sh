#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# limit: 300
# `make deb`: the same bytes twice, no error from lintian; then all packages are
# installed by dpkg on this system as it is seen through an overlay, used, upgraded,
# removed and purged, and nothing of them is left.
. "$(dirname "$0")/../lib/disks.sh"

disks_begin dpkg-deb dpkg-shlibdeps unshare
debs=$LAB/deb

"$LAB_ROOT/tools/debian/build" "$debs" >"$LAB/build.log" 2>&1 || {
	rc=$?
	[ $rc -ne 77 ] || lab_skip "$(tail -n 1 "$LAB/build.log")"
	lab_fail "build: $(cat "$LAB/build.log")"
}
"$LAB_ROOT/tools/debian/build" "$LAB/again" >"$LAB/build.log" 2>&1 || lab_fail "second build"
for deb in "$debs"/*.deb; do
	cmp "$deb" "$LAB/again/$(basename "$deb")" || lab_fail "not the same bytes twice"
done
wanted=$(sed -n 's/^Package: //p' "$LAB_ROOT/tools/debian/control" | sort)
built=$(for deb in "$debs"/*.deb; do dpkg-deb -f "$deb" Package; done | sort)
[ "$wanted" = "$built" ] || lab_fail "built: $built"

if command -v lintian >/dev/null; then
	lintian --fail-on error "$debs"/*.deb >"$LAB/lintian" 2>&1 || lab_fail "$(cat "$LAB/lintian")"
else
	say "not judged by lintian: it is not installed"
fi

# ---- this system, seen through an overlay ----

mkdir "$LAB_DISKS/over"
mount -t tmpfs over "$LAB_DISKS/over" || lab_skip "cannot mount here"
LAB_MOUNTS+=("$LAB_DISKS/over")
mkdir "$LAB_DISKS/over"/{upper,work,all}
mount -t overlay -o "lowerdir=/,upperdir=$LAB_DISKS/over/upper,workdir=$LAB_DISKS/over/work" \
	over "$LAB_DISKS/over/all" || lab_skip "cannot mount an overlay of / here"
LAB_MOUNTS=("$LAB_DISKS/over/all" "${LAB_MOUNTS[@]}")
mkdir "$LAB_DISKS/over/all/mnt/debs"
cp "$debs"/*.deb "$LAB_DISKS/over/all/mnt/debs/"

# inside COMMAND...: as root of that system, with its own /run and no network.
inside() {
	unshare --mount --pid --net --fork --kill-child -- bash -c '
		set -e
		all=$1
		shift
		mount --make-rprivate /
		mount -t proc proc "$all/proc"
		mount --rbind /dev "$all/dev"
		mount -t tmpfs run "$all/run"
		exec chroot "$all" "$@"' inside "$LAB_DISKS/over/all" "$@"
}

# Files of the system, without what dpkg, dkms and the loader note for themselves.
listing() {
	(cd "$LAB_DISKS/over/all" && find etc usr lib var opt srv -xdev \( -path var/lib/dpkg -o \
		-path var/cache -o -path var/log -o -path var/lib/systemd \) -prune -o -print) | sort
}

said_of() {
	grep -Eq "$1" "$LAB/out" || lab_fail "no '$1' in: $(cat "$LAB/out")"
}

listing >"$LAB/before"
expect_exit 0 inside sh -c 'dpkg --force-unsafe-io -i /mnt/debs/*.deb'
expect_exit 0 inside dpkg --audit
[ -s "$LAB/out" ] && lab_fail "dpkg --audit: $(cat "$LAB/out")"

# What a user does first.
version=$(sed -n 's/^VERSION := //p' "$LAB_ROOT/Makefile")
expect_exit 0 inside ringfenced --version
said_of "$version"
expect_exit 0 inside ringfence --help
said_of '^  status '
expect_exit 0 inside sh -c 'truncate -s 64M /tmp/area && ringfence format --cluster c --nodes 3 \
	--volume v --profile fast --yes /tmp/area && ringfence verify /tmp/area; rm -f /tmp/area'
expect_exit 0 inside nbdkit ringfence --dump-plugin
said_of '^name=ringfence'
expect_exit 0 inside sh -c 'env -i /usr/lib/ocf/resource.d/ringfence/volume meta-data'
expect_exit 0 inside dkms status
said_of '^ringfence/'
expect_exit 0 inside sh -c 'echo "#include <ringfence/format.h>" | gcc -fsyntax-only -x c -'
expect_exit 0 inside sh -c 'echo "#include <ringfence/ringfence.h>
int main(void) { return 0; }" | gcc -x c - -o /tmp/rf-deb $(pkg-config --cflags --libs libringfence) &&
	/tmp/rf-deb; rc=$?; rm -f /tmp/rf-deb; exit $rc'
for file in $(cd "$debs/work" && find stage -name '*.service' -printf '/%P '); do
	! command -v systemd-analyze >/dev/null ||
		expect_exit 0 inside systemd-analyze verify --man=no "$file"
done

# Upgraded, removed, purged.
expect_exit 0 inside sh -c 'dpkg --force-unsafe-io -i /mnt/debs/*.deb'
expect_exit 0 inside sh -c "touch /etc/ringfence/key && dpkg --force-unsafe-io -r $(echo $wanted)"
expect_exit 0 inside sh -c "test -f /etc/ringfence/key && rm /etc/ringfence/key"
expect_exit 0 inside sh -c "dpkg --force-unsafe-io -P $(echo $wanted)"
listing >"$LAB/after"
diff "$LAB/before" "$LAB/after" >"$LAB/left" || lab_fail "left behind: $(cat "$LAB/left")"
say "deb: $(echo $wanted): built twice alike, installed, used, upgraded, purged"
