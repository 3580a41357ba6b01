"""The emulated engine answers the table of docker commands; tests/lab puts the same table to a real one."""

from __future__ import annotations

from support import docker_forms as forms


def test_every_docker_command_of_sparkops_comes_back_as_from_a_real_engine(node):
    assert forms.play(lambda words: node.docker(*words)) == []


def test_the_table_has_every_docker_command_of_the_node_scripts():
    tabled = {form.words for form in forms.FORMS}
    for verb, *options in forms.forms_of_the_scripts():
        words = verb.split()
        assert [row for row in tabled if list(row[: len(words)]) == words and set(options) <= set(row)], (verb, options)
