# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# One request to a node of tests/vm/nodes: a line of shell. Answers what it says, and
# last how it ended.
read -r line
(eval "$line") </dev/null 2>&1
rc=$?
echo
echo "rf-end $rc"
