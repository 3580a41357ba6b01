"""What a build takes from a repository, as `image.sh` does it with real git: this commit, whatever a branch means."""

import os
import subprocess
from pathlib import Path

import pytest

from sparkops.core.build import KNOWN, read
from sparkops.remote.frame import script_text

IMAGE = "vllm-node-mxfp4"
DOCKER = """#!/bin/sh
case "$1 $2" in
'build -q') echo "labelled $*" >>"$SEEN" ;;
'build '*) echo "built with $* from $(cat Dockerfile)" >>"$SEEN" ;;
'image inspect') grep -q labelled "$SEEN" && echo '{"sparkops.build":"1234"}' ;;
esac
"""
SCRIPT = '#!/bin/sh\nexec docker build -t "$2" --exp "$3" .\n'


class Repository:
    """Two commits, of which the branch names the second."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "-q", "-b", "main")
        (path / "build-and-copy.sh").write_text(SCRIPT)
        (path / "build-and-copy.sh").chmod(0o755)
        self.first, self.second = self.commit("first"), self.commit("second")

    @property
    def url(self) -> str:
        return f"file://{self.path}"

    def commit(self, text: str) -> str:
        (self.path / "Dockerfile").write_text(text)
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", text)
        return self.git("rev-parse", "HEAD")

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", "-C", self.path, *words], check=True, capture_output=True, text=True
        ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "a repository")


def build(tmp_path: Path, url: str, commit: str) -> tuple[int, str, str]:
    """Exit code, output, and what Docker was asked."""
    docker, seen = tmp_path / "bin" / "docker", tmp_path / "seen"
    docker.parent.mkdir(exist_ok=True)
    docker.write_text(DOCKER)
    docker.chmod(0o755)
    seen.write_text("")
    words = read(IMAGE, {**KNOWN[IMAGE], "git": url, "commit": commit}, "a recipe").words
    done = subprocess.run(
        ["sh", "-c", script_text("image"), "image", "build", str(tmp_path / "state"), "a-job", IMAGE,
         "sparkops.build=1234", url, commit, *words],
        env={"PATH": f"{docker.parent}:{os.environ['PATH']}", "SEEN": str(seen), "HOME": str(tmp_path)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert not (tmp_path / "state" / "work" / "a-job").exists()
    return done.returncode, done.stdout, seen.read_text()


def test_exactly_the_pinned_commit_is_built_with_the_words_of_the_mxfp4_image(tmp_path, repository):
    for commit, text in ((repository.first, "first"), (repository.second, "second")):
        code, out, seen = build(tmp_path, repository.url, commit)
        assert code == 0, out
        assert f"built with build -t {IMAGE} --exp --exp-mxfp4 . from {text}" in seen
        assert "--label sparkops.build=1234" in seen
        assert f"progress: fetching {repository.url} at {commit}" in out


def test_a_commit_that_the_repository_does_not_have_builds_nothing(tmp_path, repository):
    code, out, seen = build(tmp_path, repository.url, "0" * 40)
    assert code != 0
    assert "0" * 40 in out.replace(f"at {'0' * 40}", "")
    assert seen == ""


def test_a_repository_that_cannot_be_reached_builds_nothing(tmp_path):
    code, out, seen = build(tmp_path, f"file://{tmp_path}/nowhere", "0" * 40)
    assert code != 0
    assert "nowhere" in out
    assert seen == ""
