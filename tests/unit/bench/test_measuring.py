"""What llama-benchy tells while it measures: requests that failed, also those that it takes for done."""

import pytest

from sparkops.node_commands import benchy
from sparkops.session.llama_benchy import BenchyOutcome


def outcome(*ends):
    told = []
    found = BenchyOutcome(told.append)
    for number, end in enumerate(ends):
        found.take({"type": "request_start", "request_id": number, "response_size": 128})
        found.take({"type": "request_end", "request_id": number, **end})
    found.take({"type": "result", "document": {"benchmarks": []}})
    assert len(told) == 2 * len(ends)
    return found.ended(0, "")


def test_whole_answers_are_no_errors():
    ended = outcome({"total_tokens": 128, "prompt_tokens": 9, "error": ""}, {"total_tokens": 126, "prompt_tokens": 9})
    assert (ended.errors, ended.document) == ((), {"benchmarks": []})
    assert outcome({"total_tokens": 128}, {"total_tokens": 120}).errors == (), "a server that counts nothing"


@pytest.mark.parametrize("tokens", [0, 1, 100])
def test_an_answer_that_a_proxy_ended_in_good_order_is_an_error(tokens):
    ended = outcome({"total_tokens": 128, "error": ""}, {"total_tokens": tokens, "error": ""})
    assert ended.errors == (f"an answer ended after {tokens} of 128 tokens",)


def test_an_answer_without_the_count_that_stands_at_the_end_of_others_is_an_error():
    ended = outcome({"total_tokens": 127}, {"total_tokens": 128, "prompt_tokens": 9})
    assert ended.errors == ("an answer ended after 127 of 128 tokens",)


def test_what_the_server_said_comes_before_what_was_counted():
    assert outcome({"total_tokens": 3, "error": "HTTP 500"}, {"error": "HTTP 500"}).errors == ("HTTP 500",)


def test_the_last_words_of_a_container_that_did_not_start_are_why():
    refused = (
        "docker: Error response from daemon: no space left on device\n\nRun 'docker run --help' for more information\n"
    )
    assert BenchyOutcome(lambda event: None).ended(125, benchy.said(refused)).said.endswith("no space left on device")
