#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every scenario, as one TAP test each.
cd "$(dirname "$0")/../.." || exit 1
exec "$RF_BUILD/bin/rf-scenario" tests/scenario/*.txt
