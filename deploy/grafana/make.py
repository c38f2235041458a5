#!/usr/bin/env python3
"""Makes the dashboards beside it from the tables of the exposition: make.py [FOLDER].

A family's help is the description of its panels, its name tells the unit, and the dashboard of a node has a panel for each family of
src/present/exposition/own.def. The tests compare what this writes with what is there, and ask a real engine every question.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXPOSITION = HERE.parents[1] / "src" / "present" / "exposition"
WIDTH = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# A family's unit by the end of its name; the rate of seconds is a share, of joules watts.
GAUGES = {"_bytes": "bytes", "_watts": "watt", "_celsius": "celsius", "_hertz": "hertz"}
RATES = {"_seconds_total": "percentunit", "_joules_total": "watt", "_bytes_total": "Bps"}
# Labels that tell a GPU; 'gi' is there for MIG slices only.
GPU = "{{instance}} {{gpu}} {{gi}}"
JOB = "and on (instance, uuid, gi) (assay_gpu_owner_info{exported_job=~\"$job\",pod=~\"$pod\"} == 1)"
USER = "and on (instance, uuid, gi) (assay_gpu_owner_info{user=~\"$user\"} == 1)"
OBSERVED = "rate(assay_gpu_observed_seconds_total[$__rate_interval])"
SEEN = "rate(assay_gpu_seen_seconds_total[$__rate_interval])"


def families():
    """{name of the series: (type, help, its own label)} of own.def, in its order, and of own.c."""
    found, last = {}, None
    for line in (EXPOSITION / "own.def").read_text().splitlines():
        if match := re.match(r'OWN_FAMILY\("(\w+)", (\w+), "(.*)"\)', line):
            name, kind, text = match.groups()
            last = name + ("_total" if kind == "COUNTER" else "")
            found[last] = [kind, text, ""]
        elif match := re.match(r'OWN_(?:INTEGRAL|GAUGE)\(\w+, \d+, "(\w*)"', line):
            found[last][2] = match.group(1)
    return found


def written_by_hand():
    """The help of the families that own*.c write without the table."""
    text = re.sub(r'"\s*\n\s*"', "", "".join(path.read_text() for path in sorted(EXPOSITION.glob("own*.c"))))
    found = {}
    for name, between, words in re.findall(r'"(assay_\w+)",([^;{}]*?)"([A-Z][^"]+\.)"', text):
        counter = "COUNTER" in between or name.endswith("_seconds")
        found[name + ("_total" if counter else "")] = words
    return found


HELP = {**{name: row[1] for name, row in families().items()}, **written_by_hand()}


def unit_of(name, counter):
    for end, unit in (RATES if counter else GAUGES).items():
        if name.endswith(end):
            return unit
    return "cps" if counter else "short"


def describe(expr):
    """What the families of a question are, in the words of the exposition."""
    return " ".join(dict.fromkeys(HELP[name] for name in re.findall(r"assay_\w+", expr) if name in HELP))


class Board:
    """A dashboard that fills its rows from the left."""

    def __init__(self, name, title, variables=(), span="24h"):
        self.name, self.title, self.variables, self.span = name, title, variables, span
        self.panels, self.x, self.y, self.height = [], 0, 0, 0

    def place(self, width, height):
        if self.x + width > WIDTH:
            self.x, self.y, self.height = 0, self.y + self.height, 0
        at = {"h": height, "w": width, "x": self.x, "y": self.y}
        self.x, self.height = self.x + width, max(self.height, height)
        return at

    def row(self, title):
        if self.x:
            self.x, self.y, self.height = 0, self.y + self.height, 0
        self.panels.append({"id": len(self.panels) + 1, "type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": self.place(WIDTH, 1)})
        self.x, self.y, self.height = 0, self.y + 1, 0

    def add(self, kind, title, questions, unit="short", width=12, height=8, note="", **custom):
        """questions: [(PromQL, legend)]."""
        panel = {
            "id": len(self.panels) + 1, "type": kind, "title": title, "datasource": SOURCE, "gridPos": self.place(width, height),
            "description": note or " ".join(dict.fromkeys(filter(None, (describe(q) for q, _ in questions)))),
            "fieldConfig": {"defaults": {"unit": unit, **({"custom": custom} if custom else {})}, "overrides": []},
            "targets": [{"refId": chr(65 + i), "datasource": SOURCE, "expr": q, "legendFormat": legend,
                         **({"instant": True, "format": "table"} if kind == "table" else {"instant": True} if kind == "stat" else {})}
                        for i, (q, legend) in enumerate(questions)],
        }
        if kind == "stat":
            panel["options"] = {"reduceOptions": {"calcs": ["lastNotNull"]}}
        if kind == "table":
            panel["transformations"] = [{"id": "organize", "options": {"excludeByName": {"Time": True}}}]
        if kind == "timeseries":
            panel["options"] = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}
        self.panels.append(panel)

    def stat(self, title, question, unit="short", note=""):
        self.add("stat", title, [(question, "")], unit, 4, 4, note)

    def stack(self, title, question, legend, unit="short", note="", width=12):
        self.add("timeseries", title, [(question, legend)], unit, width, 8, note, stacking={"mode": "normal"}, fillOpacity=60, lineWidth=0)

    def json(self):
        variables = [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "engine"}]
        for name, family, label in self.variables:
            variables.append({"name": name, "type": "query", "datasource": SOURCE, "label": name, "refresh": 2, "sort": 3, "multi": True, "includeAll": True,
                              "allValue": ".*", "query": {"query": f"label_values({family}, {label})", "refId": name},
                              "current": {"text": ["All"], "value": ["$__all"]}})
        return {"uid": f"assay-{self.name}", "title": self.title, "tags": ["assay"], "schemaVersion": 37, "editable": True, "refresh": "1m", "timezone": "browser",
                "time": {"from": f"now-{self.span}", "to": "now"}, "templating": {"list": variables}, "annotations": {"list": []},
                "links": [{"type": "dashboards", "tags": ["assay"], "title": "assay", "asDropdown": True, "includeVars": True, "keepTime": True}],
                "panels": self.panels}


def fleet():
    b = Board("fleet", "assay: fleet")
    b.stat("GPUs", 'count(assay_gpu_info{gi=""})')
    b.stat("answer", 'sum(assay_gpu_up{gi=""})')
    b.stat("held", "count(count by (instance, uuid, gi) (assay_gpu_owner_info == 1))")
    b.stat("Real Utilization", "sum(assay:node_real_seconds:increase5m) / sum(assay:node_observed_seconds:increase5m)", "percentunit",
           "Of all GPUs that were observed, in the last five minutes.")
    b.stat("wasted GPU-hours", "sum(sum_over_time(assay:node_wasted_seconds:increase5m[$__range])) / 3600", "none",
           "Held by somebody and idle for ten minutes and more, over the time that is shown. What was not observed is not in it.")
    b.stat("observed", "(sum(assay:node_observed_seconds:increase5m) + (sum(assay:node_idle_unobserved_seconds:increase5m) or vector(0))) / (300 * sum(assay:node_gpus:count))", "percentunit",
           "How much of all GPUs' time the counters were there. Nothing is said of the rest.")
    b.stack("GPUs that are held and idle, by reason", "sum by (reason) (assay:node_wasted_seconds:increase5m) / 300", "{{reason}}",
            note="no_process: held, and nobody uses it; memory_held: memory is taken and nothing computed; starved: the host works, the GPU waits for input; waiting: both wait; starting.")
    b.stack("What limits the GPUs", "sum by (limiter) (assay:fleet_limiter_seconds:increase5m) / 300", "{{limiter}}", note="GPUs by limiter; docs/LIMITS.md explains each.")
    b.stack("GPUs by health", "sum by (health) (assay:fleet_health_seconds:increase5m) / 300", "{{health}}", note="GPUs by state of health.")
    b.add("timeseries", "Power", [("sum(assay_gpu_power_watts)", "drawn"), ("sum(assay_gpu_power_limit_watts)", "limit")], "watt")
    b.add("table", "Wasted GPU-hours by owner", [("topk(25, sum by (kind, user, account, namespace) (sum_over_time(assay:user_wasted_seconds:increase5m[$__range]))) / 3600", "")],
          note="Over the time that is shown.")
    b.add("table", "Held GPU-hours by owner", [("topk(25, sum by (kind, user, account, namespace) (sum_over_time(assay:user_held_seconds:increase5m[$__range]))) / 3600", "")],
          note="Over the time that is shown.")
    b.add("table", "Nodes that waste most", [("topk(25, sum by (instance) (sum_over_time(assay:node_wasted_seconds:increase5m[$__range]))) / 3600", "")], note="GPU-hours over the time that is shown.")
    b.add("table", "Nodes that were observed least", [("bottomk(25, sum by (instance) (sum_over_time(assay:node_observed_seconds:increase5m[$__range]))) / 3600", "")],
          note="GPU-hours over the time that is shown.")
    return b


def node():
    b = Board("node", "assay: node", [("instance", "assay_gpu_info", "instance"), ("gpu", "assay_gpu_info", "gpu")], "6h")
    where = 'instance=~"$instance",gpu=~"$gpu"'
    b.row("What the GPUs do")
    b.add("timeseries", "Real Utilization", [(f"rate(assay_gpu_real_utilization_seconds_total{{{where}}}[$__rate_interval]) / {OBSERVED}", GPU)], "percentunit")
    b.stack("Limiters", f"sum by (limiter) (rate(assay_gpu_limiter_seconds_total{{{where}}}[$__rate_interval]))", "{{limiter}}", note=HELP["assay_gpu_limiter_seconds_total"] + " In GPUs.")
    b.stack("Classes", f"sum by (class) (rate(assay_gpu_class_seconds_total{{{where}}}[$__rate_interval]))", "{{class}}", note=HELP["assay_gpu_class_seconds_total"] + " In GPUs.")
    b.add("table", "Owners", [('assay_gpu_owner_info{instance=~"$instance"} == 1', "")])
    b.row("Every family")
    for name, (kind, _, label) in families().items():
        counter = kind == "COUNTER"
        title = re.sub(r"_total$", "", name.removeprefix("assay_gpu_")).replace("_", " ")
        legend = GPU + (f" {{{{{label}}}}}" if label else "")
        if name == "assay_gpu_active_seconds_total":
            question = (f'rate({name}{{{where},unit!="gpu_util"}}[$__rate_interval]) / ignoring (unit) group_left {OBSERVED} '
                        f'or rate({name}{{{where},unit="gpu_util"}}[$__rate_interval]) / ignoring (unit) group_left {SEEN}')
        else:
            question = f"rate({name}{{{where}}}[$__rate_interval])" if counter else f"{name}{{{where}}}"
        b.add("timeseries", title, [(question, legend)], unit_of(name, counter), 8)
    return b


def job():
    b = Board("job", "assay: job", [("job", "assay_gpu_owner_info", "exported_job"), ("pod", "assay_gpu_owner_info", "pod")], "6h")
    b.stat("GPUs", 'count(count by (instance, uuid, gi) (assay_gpu_owner_info{exported_job=~"$job",pod=~"$pod"} == 1))')
    b.stat("nodes", 'count(count by (instance) (assay_gpu_owner_info{exported_job=~"$job",pod=~"$pod"} == 1))')
    b.stat("Real Utilization", f"avg(rate(assay_gpu_real_utilization_seconds_total[$__rate_interval]) / {OBSERVED} {JOB})", "percentunit")
    b.stat("power", f"sum(assay_gpu_power_watts {JOB.replace(', gi', '')})", "watt")
    b.stat("energy", f"sum(increase(assay_gpu_energy_joules_total[$__range]) {JOB.replace(', gi', '')})", "joule",
           "Of the GPUs that it holds now, over the time that is shown; 'assay fleet job ID' has the job's own.")
    b.stat("worst health", f'count((rate(assay_gpu_health_seconds_total{{health=~"WARN|CRIT"}}[$__rate_interval]) > 0) {JOB}) or vector(0)', note="GPUs with health WARN or CRIT.")
    b.add("timeseries", "Real Utilization by GPU", [(f"rate(assay_gpu_real_utilization_seconds_total[$__rate_interval]) / {OBSERVED} {JOB}", GPU)], "percentunit")
    b.add("timeseries", "SM by GPU: the one that differs holds the others back",
          [(f'rate(assay_gpu_active_seconds_total{{unit="sm"}}[$__rate_interval]) / ignoring (unit) {OBSERVED} {JOB}', GPU)], "percentunit")
    b.stack("Limiters", f"sum by (limiter) (rate(assay_gpu_limiter_seconds_total[$__rate_interval]) {JOB})", "{{limiter}}", note=HELP["assay_gpu_limiter_seconds_total"] + " In GPUs.")
    b.add("timeseries", "Device memory", [(f"assay_gpu_memory_used_bytes {JOB}", GPU)], "bytes")
    b.add("timeseries", "NVLink and PCIe", [(f"sum by (direction) (rate(assay_gpu_nvlink_bytes_total[$__rate_interval]) {JOB})", "NVLink {{direction}}"),
                                            (f"sum by (direction) (rate(assay_gpu_pcie_bytes_total[$__rate_interval]) {JOB})", "PCIe {{direction}}")], "Bps")
    b.add("timeseries", "Power by GPU", [(f"assay_gpu_power_watts {JOB.replace(', gi', '')}", GPU)], "watt")
    where = 'exported_job=~"$job",pod=~"$pod"'
    b.add("timeseries", "CPUs of the job", [(f"rate(assay_job_cpu_seconds_total{{{where}}}[$__rate_interval])", "{{instance}}")], "short")
    b.add("timeseries", "Memory of the job", [(f"assay_job_memory_bytes{{{where}}}", "{{instance}} used"), (f"assay_job_memory_limit_bytes{{{where}}}", "{{instance}} limit")], "bytes")
    b.add("timeseries", "Storage of the job", [(f"rate(assay_job_io_bytes_total{{{where}}}[$__rate_interval])", "{{instance}} {{direction}}")], "Bps")
    b.add("table", "Where it runs", [(f"assay_gpu_owner_info{{{where}}} == 1", "")])
    return b


def user():
    b = Board("user", "assay: user", [("user", "assay_gpu_owner_info", "user")])
    recorded = 'user=~"$user"'
    b.stat("GPUs now", f"count(count by (instance, uuid, gi) (assay_gpu_owner_info{{{recorded}}} == 1))")
    b.stat("GPU-hours held", f"sum(sum_over_time(assay:user_held_seconds:increase5m{{{recorded}}}[$__range])) / 3600", "none", "Over the time that is shown.")
    b.stat("GPU-hours wasted", f"sum(sum_over_time(assay:user_wasted_seconds:increase5m{{{recorded}}}[$__range])) / 3600", "none", "Over the time that is shown.")
    b.stat("wasted share", f"sum(sum_over_time(assay:user_wasted_seconds:increase5m{{{recorded}}}[$__range])) / sum(sum_over_time(assay:user_held_seconds:increase5m{{{recorded}}}[$__range]))",
           "percentunit", "Of what was held.")
    b.stat("Real Utilization", f"sum(sum_over_time(assay:user_real_seconds:increase5m{{{recorded}}}[$__range])) / sum(sum_over_time(assay:user_observed_seconds:increase5m{{{recorded}}}[$__range]))",
           "percentunit", "Of what was observed.")
    b.stat("observed", f"(sum(sum_over_time(assay:user_observed_seconds:increase5m{{{recorded}}}[$__range])) + (sum(sum_over_time(assay:user_idle_unobserved_seconds:increase5m{{{recorded}}}[$__range])) or vector(0)))"
           f" / sum(sum_over_time(assay:user_held_seconds:increase5m{{{recorded}}}[$__range]))", "percentunit", "Of what was held. Nothing is said of the rest.")
    b.add("timeseries", "GPUs held", [(f"sum by (user) (assay:user_held_seconds:increase5m{{{recorded}}}) / 300", "{{user}}")], note="Mean of five minutes.")
    b.stack("GPUs wasted, by reason", f"sum by (reason) (assay:user_wasted_seconds:increase5m{{{recorded}}}) / 300", "{{reason}}", note="Mean of five minutes.")
    b.add("timeseries", "Real Utilization", [(f"sum by (user) (assay:user_real_seconds:increase5m{{{recorded}}}) / sum by (user) (assay:user_observed_seconds:increase5m{{{recorded}}})", "{{user}}")],
          "percentunit", note="Of what was observed, in five minutes.")
    b.stack("What limits their GPUs", f"sum by (limiter) (rate(assay_gpu_limiter_seconds_total[$__rate_interval]) {USER})", "{{limiter}}", note=HELP["assay_gpu_limiter_seconds_total"] + " In GPUs.")
    b.add("table", "Jobs now", [(f"count by (user, kind, exported_job, namespace, pod) (assay_gpu_owner_info{{{recorded}}} == 1)", "")], note="GPUs by job.")
    b.add("table", "Wasted GPU-hours by reason", [(f"sum by (user, reason) (sum_over_time(assay:user_wasted_seconds:increase5m{{{recorded}}}[$__range])) / 3600", "")], note="Over the time that is shown.")
    return b


def health():
    b = Board("health", "assay: health", [("instance", "assay_gpu_info", "instance")])
    where = 'instance=~"$instance"'
    b.stat("nodes that answer", f"count(assay_build_info{{{where}}})")
    b.stat("GPUs that do not", f"count(assay_gpu_up{{{where}}} == 0) or vector(0)")
    b.stat("sources down", f"count(assay_up{{{where}}} == 0) or vector(0)")
    b.stat("XIDs", f"sum(increase(assay_gpu_xid_total{{{where}}}[$__range])) or vector(0)", "none", "Over the time that is shown.")
    b.stat("rows to replace", f"sum(assay_gpu_remap_pending{{{where}}})")
    b.stat("alerts", 'count(ALERTS{alertname=~"Assay.+",alertstate="firing"}) or vector(0)', note="That fire now; deploy/prometheus/rules/alerts.yml.")
    b.add("table", "Alerts", [('ALERTS{alertname=~"Assay.+"} or vector(0)', "")], note="Pending and firing; deploy/prometheus/rules/alerts.yml.")
    b.stack("GPUs with a finding", f"sum by (finding) (rate(assay_gpu_finding_seconds_total{{{where}}}[$__rate_interval]))", "{{finding}}")
    b.stack("GPUs by health", f"sum by (health) (rate(assay_gpu_health_seconds_total{{{where}}}[$__rate_interval]))", "{{health}}")
    b.add("table", "XIDs by GPU", [(f"assay_gpu_xid_total{{{where}}}", "")])
    b.stack("GPUs held down, by reason", f"sum by (reason) (rate(assay_gpu_throttle_seconds_total{{{where}}}[$__rate_interval]))", "{{reason}}")
    b.add("timeseries", "Hottest GPUs", [(f'topk(10, assay_gpu_temperature_celsius{{{where},sensor="gpu"}})', GPU)], "celsius")
    b.add("timeseries", "Memory errors", [(f"sum by (kind) (rate(assay_gpu_ecc_errors_total{{{where}}}[$__rate_interval]))", "{{kind}}"),
                                          (f"sum(rate(assay_gpu_remapped_rows_total{{{where}}}[$__rate_interval]))", "rows replaced")], "cps")
    b.add("timeseries", "Link errors", [(f"sum(rate(assay_gpu_nvlink_errors_total{{{where}}}[$__rate_interval]))", "NVLink"),
                                        (f"sum(rate(assay_gpu_pcie_replays_total{{{where}}}[$__rate_interval]))", "PCIe packets sent again")], "cps")
    b.add("table", "PCIe links narrower than they could be", [(f"assay_gpu_pcie_lanes{{{where}}} < assay_gpu_pcie_max_lanes or vector(0)", "")])
    b.add("timeseries", "Coverage", [(f"sum by (instance) ({OBSERVED.replace('_total[', f'_total{{{where}}}[')}) / count by (instance) (assay_gpu_info)", "{{instance}}")], "percentunit",
          note="How much of the time the counters were there.")
    b.add("timeseries", "Late and missed samples", [(f'sum by (instance, result) (rate(assay_sampler_ticks_total{{{where},result!="on_time"}}[$__rate_interval]))', "{{instance}} {{result}}")], "cps")
    return b


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for board in (fleet(), node(), job(), user(), health()):
        (folder / f"{board.name}.json").write_text(json.dumps(board.json(), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
