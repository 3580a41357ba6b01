"""What sparkops places on a node stands in a manifest, and goes with it."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from support.shells import NodeShell

KEY = "ssh-ed25519 AAAAB3+x/y== me@here [a*b]"


def ours(node: NodeShell) -> Path:
    return Path(node.home, ".local/state/sparkops")


def listed(node: NodeShell) -> list[str]:
    return (ours(node) / "manifest").read_text().splitlines()


def tree(node: NodeShell) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(node.home)): path.read_bytes() if path.is_file() else None for path in node.home.rglob("*")
    }


def clean(node: NodeShell, *words: str) -> subprocess.CompletedProcess[str]:
    return node.run("manifest", "clean", *words)


def test_of_several_that_begin_it_at_once_none_is_lost(node: NodeShell) -> None:
    for turn in range(5):
        shutil.rmtree(ours(node), ignore_errors=True)
        added = [f"/{turn}/{number}" for number in range(8)]
        going = [subprocess.Popen(node.words("manifest", "add", "file", name), env=node.env) for name in added]
        assert [one.wait(60) for one in going] == [0] * len(added)
        assert listed(node)[0] == "sparkops-manifest 1"
        assert {line for line in listed(node) if line.startswith("file ")} == {f"file {name}" for name in added}
        assert os.listdir(ours(node)) == ["manifest"]


def test_what_is_written_below_our_folder_is_listed_once_by_its_first_level(node: NodeShell) -> None:
    for name in ("config/a.yml", "config/b.yml", "key", "key", "orphans/x@192.0.2.1"):
        assert node.run("file", "write", str(ours(node) / name), "600", stdin="x").returncode == 0
    state = ours(node)
    assert listed(node) == [
        "sparkops-manifest 1",
        f"made {node.home}/.local",
        f"made {node.home}/.local/state",
        f"folder {state}/config",
        f"file {state}/key",
        f"folder {state}/orphans",
    ]


def test_a_home_is_as_it_was_after_a_clean(node: NodeShell) -> None:
    (node.home / ".cache").mkdir()
    (node.home / "notes of a person").write_text("mine")
    before = tree(node)
    node.run("file", "write", str(ours(node) / "config/a.yml"), "600", stdin="x")
    node.run("file", "dirs", str(node.home / ".cache/vllm"), str(node.home / "models/hub/deep"))
    node.run("authorize", stdin=KEY)
    node.run("job", "start", "a-job", "60", "true")
    node.run("job", "wait", "a-job")
    assert tree(node) != before
    ended = clean(node)
    assert (ended.returncode, ended.stderr, tree(node)) == (0, "", before)


def test_what_filled_a_directory_of_ours_stays_with_it(node: NodeShell) -> None:
    node.run("file", "dirs", str(node.home / ".cache/vllm"))
    (node.home / ".cache/vllm/compiled").write_text("an hour of work")
    ended = clean(node)
    assert (ended.returncode, list(tree(node))) == (0, [".cache", ".cache/vllm", ".cache/vllm/compiled"])
    assert f"kept: {node.home}/.cache/vllm (not empty)" in ended.stdout


@pytest.mark.parametrize(
    "before", [None, b"", b"ssh-rsa AAAA other@there\n", b"# mine\nssh-rsa AAAA other@there", b"\n\n"]
)
def test_a_public_key_comes_and_goes_without_a_trace(node: NodeShell, before: bytes | None) -> None:
    keys = node.home / ".ssh/authorized_keys"
    if before is not None:
        keys.parent.mkdir(mode=0o700)
        keys.write_bytes(before)
        keys.chmod(0o640)
    for _ in range(2):
        assert node.run("authorize", stdin=KEY).returncode == 0
    lines = keys.read_bytes().decode().splitlines()
    assert (lines.count(KEY), set((before or b"").decode().splitlines()) <= set(lines)) == (1, True)
    assert stat.S_IMODE(keys.stat().st_mode) == (0o600 if before is None else 0o640)
    assert clean(node).returncode == 0
    assert (keys.read_bytes() if keys.exists() else None) == before
    assert keys.parent.exists() == (before is not None)


def test_a_key_and_a_file_that_a_person_had_before_stay(node: NodeShell) -> None:
    keys = node.home / ".ssh/authorized_keys"
    keys.parent.mkdir()
    keys.write_text(f"{KEY}\n")
    node.run("authorize", stdin=KEY)
    (node.home / "profile").write_text("theirs")
    for name in ("profile", "new"):
        node.run("file", "write", str(node.home / name), "644", stdin="ours")
    assert clean(node).returncode == 0
    assert (set(tree(node)), keys.read_text()) == ({".ssh", ".ssh/authorized_keys", "profile"}, f"{KEY}\n")


def test_only_our_own_folders_are_ever_removed_whole(node: NodeShell) -> None:
    (node.home / "thesis").mkdir()
    (node.home / "thesis/page").write_text("1")
    node.run("manifest", "add", "folder", str(node.home / "thesis"))
    ended = clean(node)
    assert (ended.returncode, (node.home / "thesis/page").exists()) == (1, True)
    assert "not removed: " in ended.stdout


def test_what_only_root_may_remove_is_kept_listed(node: NodeShell) -> None:
    first, folders = "sparkops-manifest 1", (".local", ".local/state")
    node.run("file", "write", str(ours(node) / "key"), "600", stdin="x")
    for entry in ("sudoers /etc/sudoers.d/x", "linger ann", f"file {node.home}/gone", "service earlyoom"):
        node.run("manifest", "add", *entry.split())
    made = [f"made {node.home}/{folder}" for folder in folders]
    assert clean(node, "--keep", "sudoers", "linger", "service").returncode == 0
    assert listed(node) == [first, *made, "sudoers /etc/sudoers.d/x", "linger ann", "service earlyoom"]
    assert clean(node, "--keep", "linger", "service").returncode == 0
    assert listed(node) == [first, *made, "linger ann", "service earlyoom"]
    for _ in range(2):
        assert (clean(node).returncode, tree(node)) == (0, {})


def test_a_manifest_of_a_newer_sparkops_is_left_alone(node: NodeShell) -> None:
    ours(node).mkdir(parents=True)
    (ours(node) / "manifest").write_text("sparkops-manifest 2\nfile /x\n")
    assert clean(node).returncode == 3
    assert listed(node) == ["sparkops-manifest 2", "file /x"]


def test_a_sudoers_line_is_validated_before_it_is_in_place_for_root_alone(node: NodeShell) -> None:
    line = "spark ALL=(root) NOPASSWD: /usr/bin/tee /proc/sys/vm/drop_caches"
    etc = node.root / "etc/sudoers.d"
    etc.mkdir(parents=True)
    node.tool("visudo", f'case $* in *-cf*) ! grep -q WRONG "$2" ;; *) ! [ -e "{node.home}/broken" ] ;; esac')
    assert node.run("sudoers", "write", "/etc/sudoers.d/sparkops", "WRONG").returncode == 1
    assert list(etc.iterdir()) == []
    assert node.run("sudoers", "write", "/etc/sudoers.d/sparkops", line).returncode == 0
    assert (etc / "sparkops").read_text().splitlines()[-1] == line
    assert (stat.S_IMODE((etc / "sparkops").stat().st_mode), len(list(etc.iterdir()))) == (0o440, 1)
    assert node.run("sudoers", "remove", "/etc/sudoers.d/sparkops").returncode == 0
    assert list(etc.iterdir()) == []
