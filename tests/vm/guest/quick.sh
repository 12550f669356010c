# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# limit: 900
# What `make check` runs of the lab.
. ./lib.sh
export FAULTS="kill stop"
together basics hold driver attach cluster
