"""What `monitor rules` prints: Prometheus takes it, and each rule fires for its alerts and for nothing else."""

import json
import re
from pathlib import Path

import sparkops
from sparkops.core.watch.rules import NAMED, document
from sparkops.report.text import How, Ink
from sparkops.verbs.monitor import show
from support.prometheus import promtool, written

RULES = document()["groups"][0]["rules"]
LABELS = {"node": "spark1", "deployment": "chat", "severity": "critical"}


def the_file() -> str:
    return "\n".join(show.rules({"rules": document()}, Ink(), How())) + "\n"


def series(alert: str) -> str:
    labels = ",".join(f'{name}="{value}"' for name, value in {"alert": alert, **LABELS}.items())
    return f"sparkops_alert{{{labels}}}"


def expected(rule: dict[str, object], alert: str) -> dict[str, object]:
    labels = {"alert": alert, **LABELS}

    def filled(text: str) -> str:
        return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], text)

    notes = {name: filled(text) for name, text in rule["annotations"].items()}
    return {"exp_labels": labels, "exp_annotations": notes}


def one_test(alert: str, firing: str) -> dict[str, object]:
    """The alert lasts from the beginning to the tenth minute; every rule is asked then, and two minutes later."""
    there = [
        {"series": series(alert), "values": "1x10 _x10"},
        {"series": 'sparkops_node_up{node="a"}', "values": "1x20"},
    ]
    asked = [
        {"eval_time": when, "alertname": rule["alert"],
         "exp_alerts": [expected(rule, alert)] if rule["alert"] == firing and when == "10m" else []}
        for rule in RULES for when in ("10m", "18m")
    ]  # fmt: skip
    return {"interval": "1m", "input_series": there, "alert_rule_test": asked}


def test_prometheus_takes_the_file(tmp_path):
    checked = promtool("check", "rules", written(tmp_path, "rules.yml", the_file()))
    assert (checked.returncode, checked.stderr) == (0, ""), checked
    assert f"SUCCESS: {len(RULES)} rules found" in checked.stdout


def test_each_rule_fires_for_its_alerts_and_ends_with_them(tmp_path):
    tests = [one_test(alert, rule.name) for rule in NAMED for alert in rule.alerts]
    tests.append(one_test("disk-room", "SparkopsProblem"))
    written(tmp_path, "rules.yml", the_file())
    told = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests}
    checked = promtool("test", "rules", written(tmp_path, "test.yml", json.dumps(told)))
    assert checked.returncode == 0, checked.stderr + checked.stdout


def test_a_full_page_cache_that_a_schedule_drops_is_no_alarm(tmp_path):
    there = [{"series": series("page-cache"), "values": "1x20"},
             {"series": 'sparkops_node_cache_schedule{node="spark1"}', "values": "1x10 0x10"}]  # fmt: skip
    rule = next(one for one in RULES if one["alert"] == "SparkopsPageCacheFull")
    asked = [{"eval_time": when, "alertname": rule["alert"], "exp_alerts": alerts}
             for when, alerts in (("10m", []), ("17m", [expected(rule, "page-cache")]))]  # fmt: skip
    written(tmp_path, "rules.yml", the_file())
    told = {"rule_files": ["rules.yml"], "tests": [{"interval": "1m", "input_series": there, "alert_rule_test": asked}]}
    checked = promtool("test", "rules", written(tmp_path, "test.yml", json.dumps(told)))
    assert checked.returncode == 0, checked.stderr + checked.stdout


def test_one_fires_when_nobody_watches(tmp_path):
    down = {
        "exp_labels": {"severity": "critical"},
        "exp_annotations": document()["groups"][0]["rules"][-1]["annotations"],
    }
    asked = {"eval_time": "5m", "alertname": "SparkopsWatchDown", "exp_alerts": [down]}
    written(tmp_path, "rules.yml", the_file())
    told = {"rule_files": ["rules.yml"], "tests": [{"interval": "1m", "input_series": [], "alert_rule_test": [asked]}]}
    checked = promtool("test", "rules", written(tmp_path, "test.yml", json.dumps(told)))
    assert checked.returncode == 0, checked.stderr + checked.stdout


def test_each_named_alert_is_one_that_watch_gives():
    source = "".join(
        path.read_text() for path in Path(sparkops.__file__).parent.rglob("*.py") if path.name != "rules.py"
    )
    assert [name for rule in NAMED for name in rule.alerts if f'"{name}"' not in source] == []
