#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The alert rules as Prometheus reads them, each seen to fire and not to fire; the
# queries of the dashboard are queries.
set -u

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rules=tools/grafana/ringfence-alerts.yml
promtool=tests/alerts/promtool

fail() {
	echo "FAIL: $*"
	exit 1
}

$promtool --version >"$work/version" 2>&1 || {
	rc=$?
	tail -n 1 "$work/version"
	exit $rc
}
head -n 1 "$work/version"
$promtool check rules $rules || fail "the rules"
cp $rules tests/alerts/alerts.test.yml "$work/"
$promtool test rules "$work/alerts.test.yml" || fail "an alert"

# The tests above need every one of them: without it they fail, naming it.
alerts=$(sed -n 's/.*- alert: //p' $rules)
[ "$(wc -w <<<"$alerts")" -gt 10 ] || fail "rules not understood"
sed 's/- alert: .*/- alert: Other/' $rules >"$work/ringfence-alerts.yml"
! $promtool test rules "$work/alerts.test.yml" >"$work/without" 2>&1 || fail "tests of no rule pass"
for alert in $alerts; do
	grep -q "alertname: $alert," "$work/without" || fail "$alert has no test in which it fires"
	grep -q "alertname: $alert}\$" tests/alerts/alerts.test.yml || fail "$alert has no test in which it is quiet"
done

# The dashboard's queries, with what Grafana puts in, as rules.
{
	echo 'groups: [{name: dashboard, rules: ['
	jq -r '.panels[].targets[]?.expr' tools/grafana/ringfence-dashboard.json |
		sed 's/\$__rate_interval/5m/g; s/\$volume/.*/g' |
		jq -R '{record: "panel", expr: ., labels: {n: (input_line_number | tostring)}}' | jq -s -r 'map(tojson) | join(",\n")'
	echo ']}]'
} >"$work/dashboard.yml"
$promtool check rules "$work/dashboard.yml" || fail "the dashboard: $(cat "$work/dashboard.yml")"
queries=$(grep -c '"record"' "$work/dashboard.yml")
[ "$queries" -gt 10 ] || fail "the dashboard was not understood"
echo "alerts: $(wc -w <<<"$alerts") fire and are quiet, $queries queries of the dashboard"
