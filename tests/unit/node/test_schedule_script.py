"""Our one entry in a crontab that belongs to somebody else."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from support.shells import NodeShell

CRONTAB = """
table='{table}'
case $1 in
    -l) [ -e "$table" ] || {{ echo 'no crontab for spark' >&2; exit 1; }}; cat "$table" ;;
    -r) [ -e "$table" ] || {{ echo 'no crontab for spark' >&2; exit 1; }}; rm "$table" ;;
    *)
        if [ -s "$1" ] && [ -n "$(tail -c 1 "$1")" ] && [ ! -e "$table.takes-all" ]; then
            echo "new crontab file is missing newline before EOF, can't install." >&2
            exit 1
        fi
        echo written >>"$table.writes"
        cat "$1" >"$table"
        ;;
esac
"""
BYTES = {
    "absent": None,
    "crlf": b"# from Windows\r\n5 4 * * * /bin/backup\r\n",
    "odd": b"MAILTO=me\n5 4 * * * /bin/backup\n# one\n# two\n# three\n# four\n\n@reboot true # sparkops: mine\n"
    b"\t \n\n5 4 * * * echo \xff\xfe 100\\% 'a b'  \n\n\n"
    b"# sparkops: cache schedule\n5 4 * * * /bin/x # see # sparkops: cache schedule\n",
}
SET = ("*/30 * * * *", "", "", "", "")


@pytest.fixture
def cron(node: NodeShell) -> NodeShell:
    node.tool("crontab", CRONTAB.format(table=node.home / "table"))
    return node


def set_it(node: NodeShell, *words: str, text: str = "echo ran\n") -> subprocess.CompletedProcess[str]:
    return node.run("schedule", "set", *(words or SET), "sh", "-c", text, "cache")


def table(node: NodeShell) -> bytes | None:
    path = node.home / "table"
    return path.read_bytes() if path.exists() else None


def script(node: NodeShell) -> Path:
    return node.home / ".local/state/sparkops/cache/drop.sh"


def manifest(node: NodeShell) -> list[str]:
    return list((node.home / ".local/state/sparkops/manifest").read_text().splitlines())


@pytest.mark.parametrize("before", BYTES.values(), ids=BYTES.keys())
def test_other_lines_survive_rounds_byte_for_byte(cron: NodeShell, before: bytes | None) -> None:
    if before is not None:
        (cron.home / "table").write_bytes(before)
    for _ in range(2):
        assert set_it(cron).returncode == 0
        now = table(cron) or b""
        assert now[now.index(b"\n") + 1 :] == (before or b"")
        assert cron.run("schedule", "remove").returncode == 0
        assert table(cron) == before


def test_another_period_changes_the_one_entry(cron: NodeShell) -> None:
    (cron.home / "table").write_bytes(b"1 1 * * * true\n")
    set_it(cron)
    set_it(cron, "0 * * * *", "MemAvailable", "-lt", "10485760", "/a 'b'/100%")
    lines = (table(cron) or b"").decode().splitlines()
    assert lines[1:] == ["1 1 * * * true"]
    assert re.fullmatch(r"0 \* \* \* \* /bin/sh .*100\\%.* # sparkops: cache schedule", lines[0])


def test_another_period_counts_from_now_and_the_same_one_from_before(cron: NodeShell) -> None:
    set_it(cron)
    os.utime(script(cron), (1000, 1000))
    set_it(cron)
    assert script(cron).stat().st_mtime == 1000
    set_it(cron, "* * * * *", "", "", "", "")
    assert script(cron).stat().st_mtime > 1000


def test_what_cron_runs_is_what_was_meant(cron: NodeShell) -> None:
    """Through the shell that cron starts, its `%` taken back as cron does."""
    set_it(cron, "0 * * * *", "MemFree", "-lt", "5", "/a 'b'/100%", text='printf "%s|" "$@" >"$HOME/words"\n')
    line = (table(cron) or b"").decode().splitlines()[0].split(" ", 5)[5].replace("\\%", "%")
    subprocess.run(["/bin/sh", "-c", line], env=cron.env, check=True)
    assert (cron.home / "words").read_text() == "scheduled|--when|MemFree|-lt|5|--dir|/a 'b'/100%|"


def test_two_entries_and_one_that_was_commented_out_become_one(cron: NodeShell) -> None:
    set_it(cron)
    line = (table(cron) or b"").rstrip(b"\n")
    for end in (b"\n", b"\r\n"):
        (cron.home / "table").write_bytes(line + end + b"1 1 * * * true" + end + b"#" + line + end)
        set_it(cron)
        assert table(cron) == line + b"\n" + b"1 1 * * * true" + end


def test_a_last_line_without_its_newline_is_left_alone(cron: NodeShell) -> None:
    """Where cron takes such a table; where it does not, that is said and nothing is changed."""
    (cron.home / "table").write_bytes(b"1 1 * * * true")
    refused = set_it(cron)
    assert (refused.returncode, table(cron)) == (1, b"1 1 * * * true")
    assert "has no newline" in refused.stderr
    (cron.home / "table.takes-all").touch()
    assert set_it(cron).returncode == 0
    assert cron.run("schedule", "remove").returncode == 0
    assert table(cron) == b"1 1 * * * true"


def test_a_table_that_may_not_be_used_or_cannot_be_read_is_not_written(node: NodeShell) -> None:
    node.tool("crontab", "echo 'You (spark) are not allowed to use this program (crontab)' >&2; exit 1")
    ended = set_it(node)
    assert (ended.returncode, "You (spark) are not allowed" in ended.stderr) == (1, True)
    node.tool("crontab", f'[ "$1" = -l ] && echo "disk error" >&2; echo "$*" >>"{node.home}/asked"; exit 1')
    assert set_it(node).returncode == 1
    assert node.run("schedule", "remove").returncode == 1
    assert set((node.home / "asked").read_text().splitlines()) == {"-l"}


def test_a_table_that_came_out_otherwise_is_put_back(node: NodeShell) -> None:
    node.tool("crontab", CRONTAB.format(table=node.home / "table").replace('cat "$1" >', 'head -n 1 "$1" >'))
    (node.home / "table").write_bytes(b"1 1 * * * true\n")
    ended = set_it(node)
    assert (ended.returncode, "was restored" in ended.stderr, table(node)) == (1, True, b"1 1 * * * true\n")


def test_without_cron_nothing_is_placed(node: NodeShell) -> None:
    node.extra["PATH"] = f"{node.tools}:/nowhere"
    for name in ("mkdir", "cat", "rm", "mktemp", "sed"):
        node.tool(name, f'exec /usr/bin/{name} "$@"')
    node.shell = f"/usr/bin/{node.shell}"
    ended = set_it(node)
    assert (ended.returncode, ended.stderr) == (1, "there is no crontab command: install cron on this node\n")
    assert not script(node).exists()


def test_a_home_that_cannot_be_written_leaves_the_crontab_alone(cron: NodeShell) -> None:
    (cron.home / ".local").write_text("a file where the folder should be")
    assert set_it(cron).returncode != 0
    assert table(cron) is None


def test_what_is_placed_is_placed_once_stands_in_the_manifest_and_is_forgotten_with_it(cron: NodeShell) -> None:
    assert cron.run("schedule", "log", "2").stdout == ""
    assert set_it(cron).stdout.startswith("set: */30 * * * * /bin/sh ")
    assert set_it(cron).stdout.startswith("unchanged: ")
    assert (cron.home / "table.writes").read_text() == "written\n"
    assert "crontab cache schedule" in manifest(cron)
    assert script(cron).read_text() == "echo ran\n"
    (script(cron).parent / "log").write_text("1\n2\n3\n")
    assert cron.run("schedule", "log", "2").stdout == "2\n3\n"
    cron.run("schedule", "remove")
    assert "crontab cache schedule" not in manifest(cron)
    assert (script(cron).exists(), table(cron)) == (False, None)
    ended = cron.run("schedule", "remove")
    assert (ended.returncode, ended.stdout, table(cron)) == (0, "unchanged: the crontab has no sparkops entry\n", None)
