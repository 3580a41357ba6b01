"""A page's file, and the keys of pages among those of people."""

from pathlib import Path

import pytest

from sparkops.core import page
from sparkops.core.fleet.people import People, PersonKey, read, with_page_keys, written
from sparkops.errors import UsageError
from sparkops.files import pages
from sparkops.files.yaml_positions import parse

WHOLE = """\
container: ghcr.io/x/y:1
page:
  command: run it
  data: /data
  user: me@home
  variables: {port: PORT, endpoint: URL, key: [KEY, PASSWORD], user: WHO}
env: {A: 1}
"""


def made(text: str) -> page.PageRecipe:
    return page.read("mine", parse(text.encode(), "mine.yml"))


def test_a_file_is_read_with_its_first_user_among_its_variables() -> None:
    found = made(WHOLE)
    assert (found.port, found.given) == (page.USUAL_PORT, {"A": "1", "WHO": "me@home"})
    assert found.program.variables.key == ("KEY", "PASSWORD")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("ghcr.io/x/y:1", "ghcr.io/x/y", "mine.yml:1: container: must be NAME:TAG"),
        ("page:\n", "port: 70000\npage:\n", "mine.yml:2: port: must be between"),
        ("/data", "data", "mine.yml:2: page.data: must be a path in the container"),
        ("/data", "'/data:rw'", "mine.yml:2: page.data: must be a path in the container"),
        ("run it", "run 'it", "mine.yml:2: page.command: must be the words"),
        ("run it", '""', "mine.yml:2: page.command: must be the words"),
        ("[KEY, PASSWORD]", "[]", "mine.yml:2: page.variables.key: needs the name"),
        ("[KEY, PASSWORD]", "['K;rm']", "mine.yml:2: page.variables: 'K;rm' is not a valid name"),
        ("  user: me@home\n", "", "mine.yml:2: page.user: and page.variables.user belong together"),
        ("{A: 1}", "{API_KEY: 1}", "mine.yml:7: env.API_KEY: is a secret"),
        ("{A: 1}", "{A: [1]}", "mine.yml:7: env.A: must be one value"),
        ("page:", "pages:", "mine.yml:2: pages: unknown key (did you mean page?)"),
    ],
)
def test_a_mistake_is_refused_with_its_line(old: str, new: str, told: str) -> None:
    assert old in WHOLE
    with pytest.raises(UsageError) as refused:
        made(WHOLE.replace(old, new))
    assert refused.value.message.startswith(told)


def test_names_and_paths_of_pages_are_told_from_those_of_recipes(tmp_path: Path) -> None:
    assert "open-webui" in pages.page_names()
    assert pages.page("openai-gpt-oss-120b") is None
    assert pages.page(str(tmp_path / "missing.yml")) is None
    (tmp_path / "mine.yml").write_text(WHOLE)
    assert (pages.page(str(tmp_path / "mine.yml")) or made(WHOLE)).name == "mine"


def test_open_webui_lets_nobody_sign_up_and_follows_its_variables_at_each_start() -> None:
    found = pages.page("open-webui")
    assert found is not None
    assert "@sha256:" in found.container
    assert {found.env[name] for name in ("ENABLE_SIGNUP", "ENABLE_PERSISTENT_CONFIG")} == {"False"}
    assert found.program.variables.key == ("OPENAI_API_KEY", "WEBUI_ADMIN_PASSWORD")


ANN = PersonKey("d-ann", "2026-01-01", rpm=3)
BEFORE = written(People({"ann": ANN}, 5))


def test_keys_of_pages_come_and_go_and_change_no_other() -> None:
    one = with_page_keys(BEFORE, {"chat": "d-1"}, (), "2026-02-02", 0)
    assert read(one).keys == {"ann": ANN, "chat": PersonKey("d-1", "2026-02-02")}
    assert read(one).serial > 5
    assert with_page_keys(one, {"chat": "d-1"}, {("other", "d-9")}, "2026-03-03", 9) == one
    assert with_page_keys(one, {}, {("chat", "d-other")}, "2026-03-03", 9) == one
    assert read(with_page_keys(one, {}, {("chat", "d-1")}, "2026-03-03", 9)).keys == {"ann": ANN}


def test_a_changed_key_keeps_its_limits_and_without_pages_nothing_is_read() -> None:
    limited = read(with_page_keys(BEFORE, {"ann": "d-2"}, (), "2026-02-02", 0)).keys["ann"]
    assert (limited.digest, limited.rpm) == ("d-2", 3)
    assert with_page_keys("half a fi", {}, (), "", 0) == "half a fi"
    with pytest.raises(ValueError, match="Expecting"):
        with_page_keys("half a fi", {"chat": "d"}, (), "", 0)
