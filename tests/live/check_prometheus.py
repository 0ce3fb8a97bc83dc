# SPDX-License-Identifier: MIT
"""/metrics, docs/fleet and docs/grafana.json by a real Prometheus: promtool finds no fault with the text,
a scrape brings the figures that the interface has, every rule and every panel gets an answer."""
import json
import os
import re
import shutil
import sys

import prometheus
import served
import shapes

DOCS = os.path.join(shapes.ROOT, "docs")
DEAD_RECEIVER = "http://127.0.0.1:9"  # nobody answers there: pushes that fail are figures too


def check_text(c, client, name):
    status, headers, body = client.ask("GET", "/metrics")
    c.equal("%s: type" % name, (status, headers["Content-Type"]),
            (200, "text/plain; version=0.0.4; charset=utf-8"))
    c.equal("%s: promtool has nothing to say" % name, prometheus.promtool(
        "check", "metrics", text=body), (0, ""))
    for line in re.findall(rb"(?m)^# HELP ortscope_operator_time_.*$", body):
        c.true("%s: times of submissions are told" % name, b"submission" in line, line)
    return prometheus.samples(body)


def check_agrees(c, client, found):
    """The text and metrics/current say the same."""
    capture = client.json("/api/v1/metrics/current")["captures"][0]

    def values(name, *labels):
        return sorted([labels_of.get(label) for label in labels] + [value]
                      for (metric, pairs), value in found.items() if metric == "ortscope_" + name
                      for labels_of in [dict(pairs)])

    sessions = capture["sessions"]
    for name, key in (("runs_total", "runs"), ("failed_runs_total", "failed_runs"),
                      ("runs_in_flight", "in_flight")):
        c.equal(name, values(name, "session", "model"), sorted(
            [str(s["session"]), s["model"], s[key]] for s in sessions))
    c.equal("runs that did not fail", values("run_duration_seconds_count", "session"), sorted(
        [str(s["session"]), s["runs"] - s["failed_runs"]] for s in sessions))
    for s in sessions:
        ours = {labels["le"]: value for labels, value in (
            (dict(pairs), value) for (metric, pairs), value in found.items()
            if metric == "ortscope_run_duration_seconds_bucket") if labels["session"] == str(s["session"])}
        bounds = sorted(ours, key=float)
        counts = [ours[bound] for bound in bounds]
        c.true("buckets grow", counts == sorted(counts) and bounds[-1] == "+Inf" and
               counts[-1] == s["runs"] - s["failed_runs"], ours)
        mean = dict((row[0], row[1]) for row in values("run_duration_seconds_sum", "session"))
        c.true("sum", abs(mean[str(s["session"])] * 1e6 / counts[-1] -
                          s["total"]["latency_us"]["mean"]) < 0.01, mean)
    c.equal("lost", values("lost_events_total"), [[capture["lost_events"]]])
    c.equal("dropped", values("dropped_rows_total"), [[capture["dropped_rows"]]])
    c.equal("memory", sorted(v[-1] for v in values("process_working_set_bytes")),
            sorted(p["working_set_bytes"] for p in capture["processes"] if p["working_set_bytes"]))
    counters = client.json("/api/v1/system")["counters"]
    for name, counter, about, per in (("gpu_utilization_ratio", "gpu_utilization", "device", 100),
                                      ("npu_utilization_ratio", "npu_utilization", "device", 100),
                                      ("machine_power_watts", "power", "machine", 1),
                                      ("device_power_watts", "power", "device", 1),
                                      ("machine_energy_joules_total", "energy", "machine", 1)):
        told = {(r["subject"], r["source"] if about == "device" else None): r["value"] / per
                for r in reversed(counters) if r["name"] == counter and r["about"] == about}
        label = "name" if about == "device" else "meter"
        c.equal(name, {(subject, source): value for subject, source, value in values(
            name, label, "source")}, told)


def config_for(folder, client):
    """That of docs/fleet, for the server that runs here: without TLS, more often."""
    text = served.read(os.path.join(DOCS, "fleet/prometheus.yml"))
    token = os.path.join(folder, "token")
    with open(token, "w", encoding="ascii") as file:
        file.write(client.read_token)
    shutil.copy(os.path.join(DOCS, "fleet/alerts.yml"), folder)
    for old, new in ((r"scheme: https", "scheme: http"), (r"    tls_config:\n.*\n", ""),
                     (r"/etc/prometheus/ortscope.token", token), (r"(?<=_interval: )\w+", "1s"),
                     (r"          - inference-1.*\n          - inference-2.*\n",
                      "          - 127.0.0.1:%d\n" % client.port)):
        text, count = re.subn(old, new, text)
        if not count:
            raise AssertionError("docs/fleet/prometheus.yml has no " + old)
    path = os.path.join(folder, "prometheus.yml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def check_scrape(c, client, server):
    """What Prometheus has is what the text has, to the last label."""
    found = check_text(c, client, "fleet")
    changing = {"ortscope_otlp_pushes_total", "ortscope_otlp_failed_pushes_total"}
    for name in sorted({key[0] for key in found}):
        stored = {}
        for labels, value in server.query("{__name__=\"%s\"}" % name):
            c.equal("job of " + name, labels.pop("job"), "ortscope")
            c.equal("instance of " + name, labels.pop("instance"), client.name)
            del labels["__name__"]
            if name.endswith("_bucket"):
                labels["le"] = "+Inf" if labels["le"] == "+Inf" else "%g" % float(labels["le"])
            stored[frozenset(labels.items())] = value
        told = {key[1]: value for key, value in found.items() if key[0] == name}
        if name in changing:
            c.true(name, stored.keys() == told.keys() and min(stored.values()) > 0, stored)
        else:
            c.equal(name, stored, told)
    c.true("all of them", len(found) > 100, len(found))
    return found


def panels_of(dashboard):
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def check_dashboard(c, server):
    with open(os.path.join(DOCS, "grafana.json"), encoding="utf-8") as file:
        dashboard = json.load(file)
    c.true("a recent schema", dashboard["schemaVersion"] >= 36)
    variables = {v["name"]: v for v in dashboard["templating"]["list"]}
    c.equal("variables", list(variables), ["datasource", "instance", "program", "model", "session"])
    numbers = [p["id"] for p in panels_of(dashboard)]
    c.equal("each panel has its number", len(set(numbers)), len(numbers))
    for name, variable in variables.items():
        if name != "datasource":
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)",
                                         variable["query"]["query"]).groups()
            series = re.sub(r"\$\w+", ".*", series)
            c.true("values of $" + name, any(label in s for s in server.ask(
                "series", **{"match[]": series})["data"]), series)
    titles = []
    for panel in panels_of(dashboard):
        titles += [panel["title"]] if panel.get("targets") else []
        for target in panel.get("targets", []):
            c.equal("data source of " + panel["title"], target["datasource"]["uid"], "${datasource}")
            expression = target["expr"].replace("$__rate_interval", "5m")
            for name in variables:
                expression = expression.replace('"$%s"' % name, '".*"')
            c.true("nothing is left open", "$" not in expression, expression)
            c.true("%s: %s" % (panel["title"], target["expr"]), server.query(expression))
    for title in ("Throughput", "Latency", "Failures", "Runs in flight", "GPU", "NPU", "Power",
                  "Processor time of processes", "Memory of processes", "Events lost, rows dropped"):
        c.true("a panel: " + title, title in titles, titles)
    return [t["expr"] for p in panels_of(dashboard) for t in p.get("targets", [])]


def check_names(c, found):
    """docs/api.md lists the metrics that there are, dashboard and rules use no others."""
    told = {re.sub("_(bucket|sum|count)$", "", name) if "run_duration" in name else name
            for name, _ in found}
    page = served.read(os.path.join(DOCS, "api.md")).split("\n## GET /metrics\n")[1].split("\n## ")[0]
    c.equal("docs/api.md", set(re.findall(r"^\| `(ortscope_\w+)`", page, re.M)), told)
    for file in ("grafana.json", "fleet/alerts.yml"):
        used = set(re.findall(r"ortscope_\w+", served.read(os.path.join(DOCS, file))))
        c.equal("names in " + file, {re.sub("_(bucket|sum|count)$", "", u) for u in used} - told, set())


def states_of(server):
    return {rule["name"]: rule["state"] for group in server.ask("rules")["data"]["groups"]
            for rule in group["rules"]}


def check_rules(c, server):
    served.until(lambda: all(rule["health"] != "unknown" for group in server.ask("rules")["data"][
        "groups"] for rule in group["rules"]), "every rule was looked at")
    served.until(lambda: states_of(server)["InferenceFails"] != "inactive", "runs that fail")
    rules = [rule for group in server.ask("rules")["data"]["groups"] for rule in group["rules"]]
    c.equal("rules without a fault", [(r["name"], r.get("lastError")) for r in rules
                                      if r["health"] != "ok"], [])
    states = states_of(server)
    c.equal("rules", len(states), 8)
    c.equal("and what works is not", (states["OrtscopeGone"], states["MemoryScarce"]),
            ("inactive", "inactive"))


def check_fleet(c, ortscope, folder):
    """Two moments of one recording, so that counters rise between scrapes."""
    with served.serve(ortscope, os.path.join(folder, "fleet.ortl"), "--speed", "0.1", "--otlp",
                      DEAD_RECEIVER, "--otlp-interval", "1s") as client:
        client.control(action="pause")
        served.wait_for_state(client, "paused")
        client.control(action="seek", to_s=0.2)
        served.until(lambda: runs(client) > 5, "the first runs")
        with prometheus.started(folder, config_for(folder, client)) as server:
            served.until(lambda: server.value("up") == 1, "up")
            served.until(lambda: server.value("sum(ortscope_runs_total)") == runs(client), "a scrape")
            client.control(action="seek", to_s=1000)
            served.wait_for_state(client, "ended")
            served.until(lambda: server.value("sum(ortscope_runs_total)") == runs(client), "another")
            served.until(lambda: server.value("ortscope_otlp_failed_pushes_total"), "failed pushes")
            found = check_scrape(c, client, server)
            check_agrees(c, client, found)
            check_dashboard(c, server)
            check_names(c, found)
            check_rules(c, server)


def runs(client):
    return sum(s["runs"] for s in client.json("/api/v1/metrics/current")["captures"][0]["sessions"])


def main():
    ortscope, maker, folder = sys.argv[1:]
    c = served.Checks()
    served.make_files(maker, folder)
    shutil.rmtree(os.path.join(folder, "tsdb"), ignore_errors=True)
    for arguments in (("check", "rules", "fleet/alerts.yml"),
                      ("check", "config", "--syntax-only", "fleet/prometheus.yml")):
        code, said = prometheus.promtool(*arguments[:-1], os.path.join(DOCS, arguments[-1]))
        c.true(" ".join(arguments), code == 0, said)
    for name in ("basic", "ops", "counters", "memory", "hostile", "odd_ops", "odd", "many"):
        with served.serve(ortscope, os.path.join(folder, name + ".ortl"), "--speed", "max") as client:
            served.wait_for_state(client, "ended")
            check_text(c, client, name)
    check_fleet(c, ortscope, os.path.abspath(folder))
    c.end()


if __name__ == "__main__":
    main()
