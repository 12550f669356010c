# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# limit: 7200
# What `make check-vm-debug` runs, or rf.scripts= of it: in one boot, which takes that
# kernel minutes.
. ./lib.sh
scripts=$(sed -n 's/.*rf.scripts=\([a-z,]*\).*/\1/p' /proc/cmdline | tr , ' ')
# shellcheck disable=SC2086 # words
together ${scripts:-basics limits hold faults paths driver attach filesystems cycles cluster}
