"""Plays of steps, run for real: what is sent where, what is left out, and how the recap counts it."""

from __future__ import annotations

import pytest

from sparkops.core.playbook.recap import Recap, total
from sparkops.errors import UsageError


def test_every_host_does_every_step_and_the_recap_counts_it(run, homes):
    ran = run("- steps: [{command: touch a}, {command: ls, reads: true}]")
    assert ran.outcome.status == "done"
    assert all((homes.home(node.name) / "a").exists() for node in homes.nodes)
    assert ran.recap == {node.name: Recap(ok=1, changed=1) for node in homes.nodes}


def test_one_batch_after_the_other_and_none_after_a_batch_that_failed(run, homes):
    text = """
        - serial: 1
          steps:
            - {command: [sh, -c, "test {{ node.name }} != spark2"]}
            - {command: touch done}
        """
    ran = run(text)
    assert [node for node, _ in homes.sent] == ["spark1", "spark1", "spark2"]
    assert ran.outcome.status == "failed"
    assert ran.recap == {"spark1": Recap(changed=2), "spark2": Recap(failed=1), "spark3": Recap()}


def test_a_host_that_fails_is_dropped_and_the_others_go_on(run, homes):
    homes.away.add("spark3")
    text = """
        - steps:
            - {command: [sh, -c, "test {{ node.name }} != spark2"]}
            - {command: touch done}
        """
    ran = run(text)
    assert ran.recap == {"spark1": Recap(changed=2), "spark2": Recap(failed=1), "spark3": Recap(unreachable=1)}
    assert ran.outcome.status == "lost"


def test_stop_ends_everywhere_and_undo_takes_back_what_was_sent(run, homes):
    text = """
        - on_failure: {how}
          steps:
            - {{command: touch made, undo: rm made}}
            - {{command: [sh, -c, "test {{{{ node.name }}}} != spark2"]}}
            - {{command: touch done}}
        """
    ran = run(text.format(how="stop"))
    assert ran.outcome.status == "failed"
    assert [(homes.home(node.name) / "made").exists() for node in homes.nodes] == [True] * 3
    ran = run(text.format(how="undo"))
    assert not any((homes.home(node.name) / "made").exists() for node in homes.nodes)
    assert not any((homes.home(node.name) / "done").exists() for node in homes.nodes)
    assert len(ran.outcome.undone) == len(homes.nodes)


def test_a_guard_that_holds_spares_the_step(run, homes):
    (homes.home("spark1") / "there").touch()
    ran = run("- steps: [{command: touch there, unless: test -e there}]")
    assert ran.recap == {"spark1": Recap(ok=1), "spark2": Recap(changed=1), "spark3": Recap(changed=1)}
    again = run("- steps: [{command: touch there, unless: test -e there}]")
    assert set(again.recap.values()) == {Recap(ok=1)}


def test_a_copy_is_made_once_whole_and_with_its_mode(run, homes):
    text = "- steps: [{copy: {content: 'hi {{ node.name }}', dest: ~/a note, mode: '0600'}}]"
    assert set(run(text).recap.values()) == {Recap(changed=1)}
    assert set(run(text).recap.values()) == {Recap(ok=1)}
    made = homes.home("spark2") / "a note"
    assert made.read_text() == "hi spark2"
    assert made.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in homes.home("spark2").iterdir()] == ["a note"]
    made.chmod(0o644)
    assert run(text).recap["spark2"] == Recap(changed=1)


def test_a_copy_into_no_directory_fails_and_says_so(run):
    ran = run("- steps: [{copy: {content: x, dest: /no/such/place}}]")
    assert ran.outcome.failures[0].evidence == "there is no directory /no/such"


def test_a_file_beside_the_playbook_is_copied_as_it_is(run, homes):
    run("- steps: [{copy: {src: a.txt, dest: ~/a}}]", beside={"a.txt": "{{ raw }}\n"})
    assert (homes.home("spark1") / "a").read_text() == "{{ raw }}\n"


def test_what_is_registered_decides_later_steps_and_stands_in_messages(run, homes):
    (homes.home("spark2") / "flag").touch()
    text = """
        - steps:
            - {command: test -e flag, register: flag, ignore_errors: true, reads: true}
            - {command: touch acted, when: flag.code == 0, message: "code {{ flag.code }} on {{ node.name }}"}
        """
    ran = run(text)
    assert ran.outcome.status == "done"
    assert [(homes.home(node.name) / "acted").exists() for node in homes.nodes] == [False, True, False]
    assert ran.told("note") == [("spark2", "code 0 on spark2")]
    assert ran.recap["spark1"] == Recap(ignored=1, skipped=1)


def test_a_step_that_was_passed_over_has_a_result_that_says_so(run):
    text = """
        - steps:
            - {command: "false", when: node.name == 'nobody', register: first}
            - {command: touch it, when: first.ended == 'skipped' and first.stdout == ''}
        """
    assert run(text).recap["spark1"] == Recap(changed=1, skipped=1)


def test_a_message_keeps_the_name_of_a_result_that_only_the_run_has(run):
    text = """
        - steps:
            - {command: "true", register: seen}
            - {message: "{{ node.name }}: {{ seen.code }}"}
        """
    assert run(text, check=True).told("note")[0] == ("spark1", "spark1: {{ seen.code }}")
    assert run(text).told("note")[0] == ("spark1", "spark1: 0")


def test_what_ran_once_is_known_everywhere(run, homes):
    text = """
        - steps:
            - {command: [sh, -c, "echo $HOME"], run_once: true, register: where}
            - {message: "{{ where.code }} {{ node.name }}"}
        """
    ran = run(text)
    assert [node for node, _ in homes.sent] == ["spark1"]
    assert [text for _, text in ran.told("note")] == ["0 spark1", "0 spark2", "0 spark3"]


def test_until_is_asked_again_and_gives_up(run):
    text = "- hosts: spark1\n  steps: [{{command: touch n, until: [sh, -c, '{test}'], retries: 3, delay: 5}}]"
    ran = run(text.format(test="echo x >> n; test $(wc -l < n) -ge 3"))
    assert ran.outcome.status == "done"
    ran = run(text.format(test="echo not yet; false"))
    assert ran.outcome.status == "failed"
    assert "not yet" in ran.outcome.failures[0].evidence


def test_environment_and_names_reach_the_command_as_single_words(run, homes):
    text = """
        - vars: {word: "a b; rm -rf $HOME"}
          steps:
            - command: [sh, -c, 'printf "%s|%s" "$1" "$V" > out', sh, "{{ word }}"]
              environment: {V: "{{ word }}"}
        """
    run(text)
    assert (homes.home("spark3") / "out").read_text() == "a b; rm -rf $HOME|a b; rm -rf $HOME"


def test_a_check_sends_only_what_reads_and_says_what_would_happen(run, homes):
    (homes.home("spark1") / "there").touch()
    text = """
        - steps:
            - {command: touch there, unless: test -e there}
            - {command: ls, reads: true, register: seen}
            - {command: touch new, register: made}
            - {command: touch after, when: made.code == 0}
            - {command: touch listed, when: seen.code == 0}
            - {command: touch never, when: node.name == 'nobody'}
            - {copy: {content: x, dest: ~/file}}
        """
    ran = run(text, check=True)
    assert {words.split()[0] for _, words in homes.sent} == {"test", "ls", "@copy"}
    assert all("@copy same" in words for _, words in homes.sent if "@copy" in words)
    assert [sorted(path.name for path in homes.home(node.name).iterdir()) for node in homes.nodes] == [
        ["there"],
        [],
        [],
    ]
    assert ran.recap["spark1"] == Recap(ok=2, changed=3, skipped=1, undecided=1)
    assert ran.recap["spark2"] == Recap(ok=1, changed=4, skipped=1, undecided=1)


def test_a_condition_on_what_a_node_lacks_names_file_step_and_node(run, homes):
    text = "- steps: [{command: touch a, when: facts.dmi.vendor == 'x'}]"
    with pytest.raises(UsageError, match=r"play.yml:1: step 'touch a' on spark1: facts.dmi has no vendor"):
        run(text, known={"facts": {"dmi": {}}})
    assert homes.sent == []


def test_a_phase_that_does_not_exist_is_named_with_the_nearest(run):
    with pytest.raises(UsageError, match="no phase 'setle'"):
        run("- steps: [{phase: setle}]")


def test_recaps_of_plays_add_up():
    first, second = {"a": Recap(ok=1), "b": Recap(failed=1)}, {"a": Recap(changed=2)}
    assert total([first, second]) == {"a": Recap(ok=1, changed=2), "b": Recap(failed=1)}


def test_a_result_of_one_host_is_not_taken_for_that_of_another(run):
    text = """
        - steps:
            - {command: touch made, unless: "test {{ node.name }} = spark1", register: made}
            - {command: touch after, when: made.code == 0}
        """
    ran = run(text, check=True)
    assert ran.recap["spark1"] == Recap(ok=1, skipped=1)
    assert ran.recap["spark2"] == Recap(changed=1, undecided=1)


def test_a_failure_that_may_be_is_no_failure_of_the_host(run):
    ran = run("- steps: [{command: 'false', ignore_errors: true}, {command: touch a}]")
    assert ran.outcome.status == "done"
    assert not any(one.bad for one in ran.recap.values())
    assert ran.recap["spark1"] == Recap(changed=1, ignored=1)


def test_a_number_is_put_in_as_it_was_written(run, homes):
    step = "{command: 'touch {{ version }}-{{ port }}', when: port > 7999}"
    text = f"- vars: {{version: 1.10, port: 8000}}\n  steps: [{step}]"
    run(text)
    assert (homes.home("spark1") / "1.10-8000").exists()


def test_what_a_command_printed_is_a_number_beside_a_number(run, homes):
    text = """
        - steps:
            - {command: [echo, " 12 "], reads: true, register: used}
            - {command: touch more, when: used.stdout > 9}
            - {command: touch equal, when: used.stdout == 12}
            - {command: touch between, when: 9 < used.stdout < 100}
        """
    run(text)
    assert sorted(path.name for path in homes.home("spark1").iterdir()) == ["between", "equal", "more"]


def test_a_condition_that_cannot_be_answered_in_the_run_fails_its_step(run):
    text = """
        - steps:
            - {command: echo much, reads: true, register: used}
            - {command: touch it, when: used.stdout > 9}
        """
    ran = run(text)
    assert ran.outcome.status == "failed"
    assert ran.outcome.failures[0].reason == "its condition: 'much' > 9 cannot be compared"
    assert ran.recap["spark1"] == Recap(ok=1, failed=1)
