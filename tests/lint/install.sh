#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `make install` puts everything where it belongs, and nothing else; what is in
# the tree to be installed is in its lists; the daemon finds its fencer there.
set -eu

inst=$RF_BUILD/inst
rm -rf "$inst"
plugins=/usr/lib/test-nbdkit
version=$(sed -n 's/^VERSION := //p' Makefile)
tools/set-version --check
"${MAKE:-make}" --no-print-directory install DESTDIR="$inst" PREFIX=/usr PLUGINDIR=$plugins

expected() {
	for f in include/ringfence/*.h; do echo "644 usr/$f"; done
	for f in man/*.[1-8]; do echo "644 usr/share/man/man${f##*.}/${f#man/}"; done
	echo "755 usr/sbin/ringfenced"
	for f in libringfence.a "libringfence.so.$version" pkgconfig/libringfence.pc; do
		echo "644 usr/lib/$f"
	done
	echo "644 usr/share/doc/libringfence-dev/examples/example.c"
	echo "755 usr/sbin/ringfence-exporter"
	echo "755 usr/bin/ringfence"
	for f in tools/grafana/*; do echo "644 usr/share/ringfence/${f##*/}"; done
	echo "755 usr/libexec/ringfence/ringfence-fencer"
	echo "755 ${plugins#/}/nbdkit-ringfence-plugin.so"
	echo "755 usr/share/ringfence/keepalived/notify"
	echo "644 usr/share/ringfence/keepalived/keepalived.conf"
	echo "755 usr/sbin/fence_ringfence"
	echo "755 usr/lib/ocf/resource.d/ringfence/volume"
	for f in ringfenced.service ringfence-exporter.service ringfence-leader@.target; do
		echo "644 usr/lib/systemd/system/$f"
	done
	echo "644 usr/lib/systemd/catalog/ringfence.catalog"
	echo "644 usr/lib/sysusers.d/ringfence.conf"
	echo "644 usr/lib/tmpfiles.d/ringfence.conf"
	echo "644 usr/lib/udev/rules.d/61-ringfence.rules"
	echo "755 etc/ringfence/hooks.d/50-systemd"
	echo "644 usr/share/bash-completion/completions/ringfence"
}
if ! diff <(expected | sort) <(cd "$inst" && find . -type f -printf '%m %P\n' | sort); then
	echo "wrong: < belongs there, > is there (lists: HEADERS, MANPAGES in Makefile)"
	exit 1
fi
for program in usr/sbin/ringfenced usr/sbin/ringfence-exporter usr/bin/ringfence usr/libexec/ringfence/ringfence-fencer; do
	"$inst/$program" --version
done
bash -n "$inst/usr/share/bash-completion/completions/ringfence"

# Units as systemd reads them, with the programs where they are now; how much the
# exporter may do.
if command -v systemd-analyze >/dev/null; then
	units=$inst.units
	rm -rf "$units" && mkdir "$units"
	cp "$inst"/usr/lib/systemd/system/* "$units"
	sed -i "s,^\(Exec[A-Za-z]*=\)/usr/,\1$inst/usr/," "$units"/*
	said=$(SYSTEMD_UNIT_PATH="$units:" systemd-analyze verify --man=no ringfenced.service \
		ringfence-exporter.service ringfence-leader@vol0.target 2>&1 | grep -iE 'ringfence' || :)
	[ -z "$said" ] || { echo "systemd-analyze verify: $said" && exit 1; }
	systemd-analyze security --offline=yes --threshold=20 "$units/ringfence-exporter.service" >/dev/null
else
	echo "units not verified: no systemd-analyze"
fi

# The catalog as journalctl reads it: every id is in it.
if command -v journalctl >/dev/null; then
	root=$inst.catalog
	rm -rf "$root" && mkdir -p "$root/usr/lib/systemd" "$root/var/lib/systemd/catalog"
	cp -r "$inst/usr/lib/systemd/catalog" "$root/usr/lib/systemd"
	journalctl --root="$root" --update-catalog
	for id in $(sed -n 's/^RF_MESSAGE_ID(.*"\([0-9a-f]*\)")$/\1/p' daemon/message_id.def); do
		journalctl --root="$root" --list-catalog "$id" 2>&1 | grep -q "^$id ringfence: [A-Z]" ||
			{ echo "journalctl does not find $id" && exit 1; }
	done
else
	echo "catalog not compiled: no journalctl"
fi
! grep -r '@[A-Z]*DIR@' "$inst" || { echo "a path was not put in" && exit 1; }
