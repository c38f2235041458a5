"""What SERVE, FLEET, SLURM and KUBERNETES promise, each with the tests that try it: a sentence that changes, and a test that goes, are noticed. Queries that the documents give run against a real engine."""
import pathlib
import re
import sys
import time

import pytest

from conftest import ROOT
from engines import Prometheus, VictoriaMetrics, need

sys.path.insert(0, str(ROOT / "tests" / "fleet"))

# (document, words of it, tests that try them)
STATEMENTS = [line.split(" | ") for line in r"""
SERVE | A scrape formats what was sampled and touches no hardware. | serve_nvml::scrapes_make_no_driver_calls
SERVE | is allowed with `--allow-host gpu.example.org` | serve_safe::names_that_are_allowed
SERVE | `--names classic` (the default) writes dcgm-exporter's families as they were before 4.9.0 | serve::equal_to_dcgm_exporter_line_for_line
SERVE | `new` as they are since | serve::equal_to_a_newer_dcgm_exporter
SERVE | Flags and variables of its unit files work | serve::variables_of_dcgm_exporter deploy::kubernetes_arguments
SERVE | A collectors file may also ask for what is not written unasked | serve::fields_that_a_collectors_file_asks_for serve_nvml::fields_that_only_a_collectors_file_asks_for
SERVE | XIDs that came in the last five minutes while `serve` ran, by number | serve_nvml::fields_that_only_a_collectors_file_asks_for serve_nvml::no_xid_is_a_count_of_none
SERVE | What there is no value or label for is named at the start | serve::fields_that_a_collectors_file_asks_for
SERVE | `--also rocm,all-smi,node` adds names that dashboards of other exporters ask for, where values exist | serve::names_of_other_exporters
SERVE | the rate of these is the exact mean of what was observed, over any window and at any scrape interval | serve_exact::the_rate_is_the_truth_where_gauges_are_not
SERVE | A GPU that has none (before Hopper without DCGM, AMD, Intel) grows nothing here | serve_owners::without_counters_waste_counts_and_use_is_unknown
SERVE | the sum of 2^n of each, n counted from 0 in the order of `finding` above; 0 is nothing | serve_nvml::every_problem_travels
SERVE | `assay once`, `top` and `serve` that ask this node say the same | serve_nvml::what_a_node_says_is_wrong_is_said_by_those_who_ask_it
SERVE | their quotient is the owner's share of use | serve_owners::owners_of_a_shared_gpu_have_their_own_use
SERVE | No series where nothing counts it | energy::no_series_without_counters
SERVE | a number of the user's own (`--collect`), while it is of the last minute | collect::a_server_shows_them
SERVE | `--owner-labels` puts job and pod on dcgm-exporter's series too | serve_owners::mapping_folder
SERVE | A value that is missing has no line. | serve::blanks_never_appear
SERVE | A GPU that does not answer loses its values after three intervals | serve_nvml::a_gpu_that_hangs
SERVE | Counters go on after a restart within an hour | serve::counters_go_on_after_a_restart
SERVE | within two minutes of a `kill -9` | serve::counters_never_go_back_after_kill_9
SERVE | They never go back: where the file can neither be written nor | serve_faults::counters_never_go_back
SERVE | is kept nowhere unless `--state` says where | serve::a_recording_is_not_kept_among_what_happens_here
SERVE | counters that start over are added up | energy::counters_of_the_processors
SERVE | For others the value is missing with the reason `denied` | energy::counters_that_are_roots_alone
SERVE | a machine with several meters tells no sum | energy::of_several_meters_none_is_the_machines
SERVE | one package that cannot be read leaves all processors unknown | energy::a_part_is_not_the_whole
SERVE | A sum over nodes of which one counts nothing is missing. | fleet_engine::energy_of_a_jobs_nodes
SERVE | The values are those of `/metrics`, without what is about HTTP. | push::values_are_those_of_a_scrape
SERVE | is 13.6 KB with remote-write, 5.3 KB as text | push::sizes_are_as_documented
SERVE | In the state folder it survives restarts and `kill -9` | push::killed_while_the_engine_is_down
SERVE | An engine that restarts loses nothing. | push::engine_restarts
SERVE | A batch that the engine refuses as such (400, 413, 415, 422) is given up | push::hostile_answers
SERVE | is ended with a stale marker | push::ends
SERVE | OTLP/HTTP in JSON, with gzip, as a collector takes it | push::opentelemetry_has_what_a_scrape_has
SERVE | files named `0` or `0.7`, one job id a line | serve_owners::mapping_folder
SERVE | the control group of its processes | serve_nvml::jobs_and_pods_by_their_control_groups
SERVE | what the kubelet allocated | serve_owners::pods_of_a_kubelet
SERVE | One record is kept a stay | serve_owners::records_of_a_job serve_owners::what_others_do_with_a_gpu_between_is_not_the_jobs
SERVE | Any other address needs `--auth-token-file` | serve_safe::other_addresses_need_a_lock
SERVE | Other sites' pages get nothing; there are no CORS headers. | serve_safe::other_sites serve_safe::headers_on_every_answer
SERVE | Command lines, environments and paths are never served. | serve_safe::nothing_of_processes_is_told
SERVE | user who runs the server, and others may not write them | serve_safe::secrets_are_files_of_ones_own
SERVE | 8 KiB of headers, five seconds for them, no bodies | serve_safe::large_headers serve_safe::headers_have_five_seconds serve_safe::bodies
SERVE | 64 live streams | serve_safe::streams_are_limited_and_a_slow_reader_hurts_nobody
SERVE | TLS is 1.2 or 1.3, or from `min_version` to `max_version`. | serve_safe::versions_of_tls
SERVE | Behind a proxy with a path: `--prefix /gpus`. | serve::a_prefix
SERVE | `--log-format logfmt` or `json` writes a line an event for programs | serve::structured_logs
SERVE | SIGHUP reads tokens, users, certificates and collectors again; the counters have no gap. | serve::reload_keeps_counters_and_takes_new_files
SERVE | so is one that no longer asks for a token, password, certificate or TLS: that takes a restart | serve_safe::a_reload_opens_no_door
SERVE | `--check-config` only checks. | serve::check_config
SERVE | The driver is asked no more often than by a bare loop with the same readings | serve_nvml::the_driver_is_asked_no_more_than_by_a_bare_loop
SERVE | A text is made once a moment, whoever asks | serve_nvml::a_scrape_gets_the_moment_it_asks_for
SERVE | asked while somebody looks, so the first answer has none | serve_nvml::what_each_process_uses_is_asked_for_while_somebody_looks
SERVE | 200 while the process works; while a source delivers | serve::without_a_source_it_lives_and_says_so
FLEET | the file changes at once or not at all, and never to an empty list | targets::the_file_changes_at_once_or_not_at_all
FLEET | assay fleet targets --slurm all -o deploy/prometheus/targets.json | targets::slurm slurm::targets_of_the_real_sinfo
FLEET | both take the same targets and token | deploy::configurations
FLEET | where the engine's past begins within the window, the window begins there | fleet_engine::a_window_begins_with_the_past fleet_engine::first_minutes
FLEET | so that a join by `(instance, uuid, gi, slot)` is right at job changes, also when two fall between two scrapes | fleet_engine::jobs_of_seconds fleet_engine::books
FLEET | **One GPU is one**, by node (`instance`), UUID and slice, however often the engine stores it | fleet_engine::books
FLEET | then nodes, GPUs and jobs with equal names are kept apart | fleet_engine::filters
FLEET | `assay fleet` uses them where they ran nine tenths of the window, and the raw counters where not: the same numbers | fleet_engine::rules_give_the_same
FLEET | It waits `--timeout` for one question (30 s), ends when one is not answered, and says what would help. | fleet_engine::slow_and_down fleet_engine::one_without_an_answer_ends_all
FLEET | writes one row of four numbers a job and quarter of an hour | fleet_engine::archive_has_each_job
FLEET | less than 1 KB a job in Prometheus and 0.53 KB in VictoriaMetrics | fleet_engine::archive_takes_less_than_a_kilobyte_a_job
SLURM | counts the job as a level of its own: CPU, memory and I/O of all its processes on this node | slurm::only_the_jobs_processes
SLURM | the limits Slurm gave it | slurm::the_limit_is_the_jobs
SLURM | the recorder therefore has a session of its own | slurm_accounting::every_job_is_recorded
SLURM | in the form of Princeton's `jobstats` (`JS1:` and base64 of gzipped JSON) | slurm_accounting::epilog_writes_the_comment_that_jobstats_reads
SLURM | there the comment is the line of `assay job JOBID --brief` | slurm_accounting::epilog_writes_a_line_where_sacctmgr_makes_letters_small
SLURM | its stays on this node are summed | serve_owners::a_job_that_paused_is_one
KUBERNETES | its defaults are the DaemonSet | deploy::chart_is_the_daemonset
KUBERNETES | the name in labels; a pod has a host name of its own | deploy::node_name serve_nvml::the_name_of_a_node
KUBERNETES | GPUs that a pod has by a ResourceClaim (dynamic resource allocation) are known from the same list | serve_owners::pods_with_claims
KUBERNETES | A GPU that several pods share has several owners | serve_owners::owners_of_a_shared_gpu_have_their_own_use
KUBERNETES | the PodMonitor drops those of the operator | deploy::the_operators_labels_are_not_ours
KUBERNETES | asks `kubectl` for the running pods and writes file_sd's JSON | targets::kubernetes
KUBERNETES | flags and variables of its DaemonSet work | deploy::kubernetes_arguments
KUBERNETES | assay asks no API server; kube-state-metrics has them | statements::queries_of_the_documents
""".strip().splitlines()]


def plain(text):
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("document, words, tests", STATEMENTS)
def test_a_statement_is_tried(document, words, tests):
    assert plain(words) in plain((ROOT / "docs" / f"{document}.md").read_text(encoding="utf-8")), "it says something else now: look at its tests"
    for one in tests.split():
        file, name = one.split("::")
        source = (pathlib.Path(__file__).parent / f"test_{file}.py").read_text(encoding="utf-8")
        assert re.search(rf"^def test_{name}\(", source, re.M), one


def test_there_are_sixty():
    assert len({(document, words) for document, words, _ in STATEMENTS}) >= 60 and {document for document, *_ in STATEMENTS} == {"SERVE", "FLEET", "SLURM", "KUBERNETES"}


SLOT = {"instance": "n1", "job": "assay", "uuid": "GPU-1", "gpu": "0", "gi": "", "slot": "1"}
GPU = {name: SLOT[name] for name in ("instance", "job", "uuid", "gpu", "gi")}
OWNER = {"kind": "slurm", "exported_job": "4711", "user": "ada"}
POD = {"exported_namespace": "ml", "exported_pod": "llm-0"}
SERIES = [  # (labels, what it grows by in a second, or its value)
    ({"__name__": "assay_gpu_active_seconds_total", **GPU, "unit": "sm"}, 0.25, None),
    ({"__name__": "assay_gpu_observed_seconds_total", **GPU}, 0.5, None),
    ({"__name__": "assay_gpu_limiter_seconds_total", **GPU, "limiter": "power"}, 0.75, None),
    ({"__name__": "assay_gpu_throttle_seconds_total", **GPU, "reason": "power"}, 0.1, None),
    ({"__name__": "assay_gpu_energy_joules_total", **GPU}, 500, None),
    ({"__name__": "assay_gpu_wasted_seconds_total", **SLOT, "reason": "waiting"}, 0.2, None),
    ({"__name__": "assay_gpu_owner_info", **SLOT, **OWNER, **POD}, None, 1),
    ({"__name__": "assay_gpu_held_process_seconds_total", **SLOT}, 0.3, None),
    ({"__name__": "assay_gpu_held_process_seen_seconds_total", **SLOT}, 0.6, None),
    ({"__name__": "assay_node_energy_joules_total", "instance": "n1", "part": "cpu"}, 200, None),
    ({"__name__": "kube_pod_labels", "namespace": "ml", "pod": "llm-0", "job": "ksm", "instance": "k", "label_team": "vision"}, None, 1),
]
# (document, how its query begins, what it gives here)
QUERIES = [
    ("SERVE", "sum by (user, reason) ( rate(assay_gpu_wasted", {"user": "ada", "reason": "waiting"}, 0.2),
    ("SERVE", 'rate(assay_gpu_active_seconds_total{unit="sm"}[5m])', {}, 0.5),
    ("SERVE", "sum by (limiter) (rate(assay_gpu_limiter", {"limiter": "power"}, 0.75),
    ("SERVE", "rate(assay_gpu_throttle_seconds_total", {}, 0.1),
    ("SERVE", "sum by (kind, exported_job) ((assay_gpu_owner_info", {"kind": "slurm", "exported_job": "4711"}, 500 * 3600),
    ("SERVE", "sum by (part) (rate(assay_node_energy", {"part": "cpu"}, 200),
    ("KUBERNETES", "rate(assay_gpu_held_process_seconds_total[5m])", {}, 0.5),
    ("KUBERNETES", "… * on (exported_namespace, exported_pod) group_left (label_team)", {"label_team": "vision", "exported_pod": "llm-0"}, 1),
]


def query_of(document, begin):
    """The query that a document gives, in backquotes or in a block."""
    text = (ROOT / "docs" / f"{document}.md").read_text(encoding="utf-8")
    blocks = r"^ *```\w*\n(.*?)^ *```"
    given = re.findall(blocks, text, re.S | re.M) + re.findall(r"`([^`]+)`", re.sub(blocks, "", text, flags=re.S | re.M))
    (query,) = {plain(one).strip() for one in given if plain(one).strip().startswith(begin)}
    return query.replace("…", "assay_gpu_owner_info")


@pytest.mark.parametrize("kind", [Prometheus, VictoriaMetrics])
def test_queries_of_the_documents(kind, tmp_path):
    sim = pytest.importorskip("sim", reason="the simulated fleet needs numpy")
    need(kind.kind)
    end = int(time.time()) // 300 * 300
    times = sim.np.arange(end - 4500, end, 15.0)
    with kind(tmp_path) as engine:
        sim.backfill(engine.url, [(labels, times, (times - times[0]) * rate if rate else sim.np.full(len(times), float(value))) for labels, rate, value in SERIES], end - 4500, end)
        engine.wait(lambda: engine.query("count(assay_gpu_owner_info)", time=end - 15))
        for document, begin, labels, want in QUERIES:
            answer = engine.query(query_of(document, begin), time=end - 15)
            assert len(answer) == 1, (begin, answer)
            assert float(answer[0]["value"][1]) == pytest.approx(want, rel=0.01), begin
            assert labels.items() <= answer[0]["metric"].items(), (begin, answer)
