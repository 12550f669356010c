# SPDX-License-Identifier: GPL-2.0-or-later
# What Prometheus makes of the alert rules, and of the dashboard's queries.

CHECK_LEVELS += check-alerts

.PHONY: check-alerts

check-alerts:
	@tests/lib/run alerts tests/alerts/alerts.sh
