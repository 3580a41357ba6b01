"""`recipe add`, `update`, `remove` and `list`, and recipes of catalogues in other commands, with a real git."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparkops.cli.main import main
from sparkops.core import mods
from sparkops.errors import UsageError
from sparkops.files import recipes
from sparkops.verbs.image.build_inputs import build_for, build_of, source_of

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")

Run = Callable[..., Any]

MOSS = """\
recipe_version: "1"
name: Moss
container: vllm-node
mods: [mods/fix-moss]
command: vllm serve acme/moss --max-num-seqs {seqs} --gpu-memory-utilization 0.7
defaults: {seqs: 8}
"""
FERN = 'recipe_version: "2"\nmodel: acme/fern\nruntime: sglang\ncontainer: c\ncommand: x\n'
OURS = "extends: moss\nargs: {max-model-len: 4096}\n"
MODEL_FILE = """\
model: {model_id: acme/lichen}
variants: {default: {vram_minimum_gb: 30}, fp8: {model_id: acme/lichen-fp8, vram_minimum_gb: 15}}
compatible_strategies: [single_node_tp]
"""
FILES = {
    "recipes/moss.yaml": MOSS,
    "recipes/4x/fern.yaml": FERN,
    "recipes/team/moss-long.yml": OURS,
    "recipes/lichen.yaml": MODEL_FILE,
    "mods/fix-moss/run.sh": "#!/bin/sh\ntouch ran\n",
    ".github/workflows/test.yml": "name: test\non: push\ndefaults: {}\njobs: {}\n",
    "compose.yaml": "services: {}\n",
    "broken.yaml": "container: [\nmodel: x\n",
    "README.md": "# Recipes\n",
}


def git(repository: Path, *words: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *who, "-C", str(repository), *words], check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout.strip()


def commit(repository: Path, files: dict[str, str | None]) -> str:
    """Write files (None removes one) and commit them."""
    for name, text in files.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink() if text is None else path.write_text(text)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "x")
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def theirs(own_home: Path) -> Path:
    """Someone's repository."""
    repository = own_home / "src" / "spark-recipes"
    repository.mkdir(parents=True)
    git(repository, "init", "--quiet", "--initial-branch=main")
    commit(repository, dict(FILES))
    return repository


@pytest.fixture
def by_ssh(theirs: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The repository's URL for an ssh that runs git's server here, and that notes how it was called."""
    program = own_home / "ssh"
    program.write_text(f'#!/bin/sh\necho "$@" > {own_home}/asked\nfor last; do :; done\nexec sh -c "$last"\n')
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    monkeypatch.setenv("GIT_SSH_VARIANT", "ssh")
    return f"ssh://git.example.org{theirs}"


def kept() -> list[str]:
    """What is in the directory of all catalogues."""
    folder = Path(os.environ["XDG_STATE_HOME"], "sparkops", "catalogues")
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_the_recipes_of_a_repository_are_kept_by_commit_and_those_for_other_engines_are_named(
    sparkops: Run, by_ssh: str, theirs: Path
) -> None:
    told = sparkops("recipe", "add", by_ssh, "--json").document
    assert told["catalogue"] | {"added": ""} == {
        "name": "spark-recipes", "origin": by_ssh, "ref": None, "commit": git(theirs, "rev-parse", "HEAD"),
        "added": "", "recipes": 5, "unread": 2,
    }  # fmt: skip
    assert told["recipes"] == ["recipes/lichen", "recipes/moss", "recipes/team/moss-long"]
    assert told["unread"] == [
        {"recipe": "broken", "reason": "line 3: did not find expected ',' or ']'"},
        {
            "recipe": "recipes/4x/fern",
            "reason": "line 3: runtime: the recipe serves with SGLang; sparkops serves with vLLM only",
        },
    ]
    assert kept() == ["spark-recipes"]
    assert not list(Path().rglob("ran"))


def test_a_recipe_of_a_catalogue_is_named_in_every_command_with_the_commit_as_its_origin(
    sparkops: Run, theirs: Path
) -> None:
    assert sparkops("recipe", "add", str(theirs), "--name", "them").code == 0
    short = git(theirs, "rev-parse", "HEAD")[:12]
    for name in ("them/moss", "them/recipes/moss", "them/recipes/moss.yaml", f"them@{short}/recipes/moss.yaml"):
        told = sparkops("recipe", "show", name, "--json").document
        assert told["recipe"]["name"] == "them/recipes/moss"
        assert told["recipe"]["args"]["max-num-seqs"]["origin"] == f"them@{short}/recipes/moss.yaml:5"
        assert told["catalogue"]["origin"] == str(theirs)
    assert f"catalogue them: {theirs} at {short}" in sparkops("recipe", "show", "them/moss").out
    assert "acme/lichen-fp8" in sparkops("recipe", "show", "them/lichen#fp8").out
    long = sparkops("recipe", "show", "them/moss-long", "--json").document
    assert {"max-num-seqs", "max-model-len"} <= set(long["recipe"]["args"])
    assert sparkops("lint", "them/moss", "--topology", "solo", "--allow", "x").code == 2
    assert sparkops("lint", "them/lichen").code == 0
    assert "acme/moss" in sparkops("recipe", "export", "them/moss", "--schema", "2").out
    assert "remedy" not in sparkops("recipe", "diff", "them/moss", "them/moss-long").err


def test_the_list_shows_catalogues_apart_and_one_alone(sparkops: Run, theirs: Path) -> None:
    sparkops("recipe", "add", str(theirs))
    every = sparkops("recipe", "list", "--json").document
    assert not [one for one in every["recipes"] if "/" in one["name"]]
    assert [(one["name"], one["recipes"], one["unread"]) for one in every["catalogues"]] == [("spark-recipes", 5, 2)]
    one = sparkops("recipe", "list", "spark-recipes", "--json").document
    assert [recipe["name"] for recipe in one["recipes"]] == [
        f"spark-recipes/recipes/{name}" for name in ("lichen", "moss", "team/moss-long")
    ]
    assert one["catalogue"] == "spark-recipes"
    found = sparkops("recipe", "search", "acme/lichen", "--json").document
    assert [recipe["name"] for recipe in found["recipes"]] == ["spark-recipes/recipes/lichen"]
    text = sparkops("recipe", "list").out
    assert "5 recipes, 2 of them cannot be used" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["recipe", "show", "them/mos"], "no such recipe: them/mos (did you mean them/recipes/moss?)"),
        (["recipe", "show", "them"], "no such recipe: them"),
        (["recipe", "show", "them/nothing"], "no such recipe: them/nothing"),
        (["recipe", "show", "them@0123456789ab/moss"], "the catalogue them is at"),
        (["recipe", "show", "them/recipes"], "no such recipe: them/recipes"),
        (["recipe", "show", "them/../../../x"], "no such recipe"),
        (["recipe", "list", "then"], "no such catalogue: then (did you mean them?)"),
        (["recipe", "update", "then"], "no such catalogue: then (did you mean them?)"),
        (["recipe", "remove", "../them"], "no such catalogue: ../them"),
        (["recipe", "update", "--ref", "main"], "--ref needs the name of a catalogue"),
        (["recipe", "show", "lichen"], "no such recipe: lichen (did you mean them/recipes/lichen?)"),
    ],
)
def test_a_name_that_means_nothing_is_refused_with_the_nearest(
    sparkops: Run, theirs: Path, words: list[str], said: str
) -> None:
    sparkops("recipe", "add", str(theirs), "--name", "them")
    ran = sparkops(*words)
    assert ran.code == 2
    assert said in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["https://someone:secret@example.org/x"], "contains a user name or a password"),
        (["https://token@example.org/x"], "contains a user name or a password"),
        (["http://example.org/x"], "is not encrypted"),
        (["git://example.org/x"], "is not encrypted"),
        (["file:///etc"], "not an address that sparkops fetches"),
        (["ext::sh -c true"], "not an address that sparkops fetches"),
        (["ssh://-oProxyCommand=true/x"], "has no valid host"),
        (["--", "-uecho"], "no such directory"),
        (["eugr/spark-vllm-docker"], "https://github.com/eugr/spark-vllm-docker"),
        (["HERE", "--name", "a b"], "is not a valid name"),
        (["HERE", "--name", ".."], "is not a valid name"),
        (["HERE", "--name", "recipes"], "your own recipes"),
        (["HERE", "--ref", "--upload-pack=x"], "is not a branch"),
        (["HERE", "--ref", "a..b"], "is not a branch"),
        (["HERE", "--ref", "nothing"], "has no nothing"),
    ],
)
def test_what_cannot_be_a_catalogue_is_refused_before_anything_is_kept(
    sparkops: Run, theirs: Path, words: list[str], said: str
) -> None:
    ran = sparkops("recipe", "add", *(str(theirs) if word == "HERE" else word for word in words))
    assert ran.code == 2
    assert said in ran.err
    assert kept() == []
    assert "secret" not in ran.err + ran.out


def test_a_fetch_that_fails_says_why_and_keeps_nothing(
    sparkops: Run, by_ssh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "has no v9" in sparkops("recipe", "add", by_ssh, "--ref", "v9").err
    gone = sparkops("recipe", "add", f"{by_ssh}-gone")
    assert gone.code == 4
    assert "does not appear to be a git repository" in gone.err
    monkeypatch.setenv("GIT_SSH_COMMAND", "false")
    assert sparkops("recipe", "add", by_ssh).code == 4
    monkeypatch.setenv("PATH", "/nonexistent")
    missing = sparkops("recipe", "add", by_ssh)
    assert (missing.code, "git is not installed" in missing.err) == (2, True)
    assert kept() == []


@pytest.mark.parametrize(
    ("ssh", "said"),
    [
        ("echo 'Host key verification failed.' >&2; exit 255", "Host key verification failed."),
        ("echo 'ssh: Could not resolve hostname x' >&2; exit 255", "Could not resolve hostname x"),
        (
            "printf 'git@x: Permission denied\\033[31m (publickey).\\n' >&2; exit 255",
            "Permission denied [31m (publickey).",
        ),
        ("exit 1", "could not read from the repository"),
        ("test -t 0 && exec cat /dev/tty; echo no terminal >&2; exit 1", "no terminal"),
    ],
)
def test_what_ssh_says_is_the_reason_and_it_has_no_terminal_to_ask_on(
    sparkops: Run, by_ssh: str, own_home: Path, ssh: str, said: str
) -> None:
    (own_home / "ssh").write_text(f"#!/bin/sh\n{ssh}\n")
    ran = sparkops("recipe", "add", by_ssh)
    assert ran.code == 4
    assert said in ran.err


def test_an_update_moves_to_the_newest_commit_and_shows_the_settings_that_differ(
    sparkops: Run, by_ssh: str, theirs: Path
) -> None:
    sparkops("recipe", "add", by_ssh, "--name", "them")
    before = git(theirs, "rev-parse", "HEAD")
    assert "nothing new" in sparkops("recipe", "update").out
    after = commit(
        theirs,
        {
            "recipes/moss.yaml": MOSS.replace("seqs: 8", "seqs: 16"),
            "recipes/lichen.yaml": None,
            "recipes/ivy.yaml": MOSS.replace("moss", "ivy"),
        },
    )
    (told,) = sparkops("recipe", "update", "them", "--json").document["catalogues"]
    assert (told["before"], told["commit"]) == (before, after)
    assert (told["new"], told["removed"]) == (["recipes/ivy"], ["recipes/lichen"])
    change = {"part": "command", "key": "max-num-seqs", "before": 8, "after": 16}
    assert told["changed"] == [{"recipe": "recipes/moss", "changes": [change]}]
    folder = Path(os.environ["XDG_STATE_HOME"], "sparkops", "catalogues", "them")
    assert {path.name for path in folder.iterdir()} == {after, "catalogue.json"}
    (back,) = sparkops("recipe", "update", "them", "--ref", before, "--json").document["catalogues"]
    assert (back["commit"], back["ref"], back["new"]) == (before, before, ["recipes/lichen"])
    assert "them: stays at " in sparkops("recipe", "update", "them").out
    text = sparkops("recipe", "update", "them", "--ref", "main").out
    assert "--max-num-seqs 8 -> 16" in text


def test_one_catalogue_that_cannot_be_reached_does_not_stop_the_others(
    sparkops: Run, by_ssh: str, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sparkops("recipe", "add", by_ssh, "--name", "far")
    sparkops("recipe", "add", str(theirs), "--name", "near")
    commit(theirs, {"recipes/ivy.yaml": MOSS})
    monkeypatch.setenv("GIT_SSH_COMMAND", "false")
    ran = sparkops("recipe", "update", "--json")
    assert ran.code == 4
    far, near = ran.document["catalogues"]
    assert (bool(far["error"]), near["new"]) == (True, ["recipes/ivy"])
    assert "far: not updated" in sparkops("recipe", "update").told


def test_a_work_tree_is_taken_as_it_was_committed_and_what_is_not_is_named(sparkops: Run, theirs: Path) -> None:
    (theirs / "recipes" / "moss.yaml").write_text(MOSS.replace("seqs: 8", "seqs: 99"))
    (theirs / "recipes" / "new.yaml").write_text(MOSS)
    told = sparkops("recipe", "add", str(theirs / "recipes"), "--name", "them", "--json").document
    assert told["uncommitted"] == ["moss.yaml", "new.yaml"]
    assert told["recipes"] == ["lichen", "moss", "team/moss-long"]
    shown = sparkops("recipe", "show", "them/moss", "--json").document
    assert shown["recipe"]["args"]["max-num-seqs"]["value"] == 8


def test_nothing_of_a_repository_is_run_and_no_link_is_followed(sparkops: Run, theirs: Path, own_home: Path) -> None:
    secret = own_home / "secret.yaml"
    secret.write_text(MOSS.replace("acme/moss", "acme/secret"))
    mark = own_home / "ran"
    (theirs / "recipes" / "link.yaml").symlink_to(secret)
    (theirs / "away").symlink_to(own_home)
    commit(
        theirs, {".gitattributes": "*.yaml filter=evil\n", ".gitmodules": "[submodule x]\n\tpath = x\n\turl = ext::x\n"}
    )
    hook = theirs / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    evil = f"touch {mark}; cat"
    for name in ("filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "core.sshCommand", "core.pager"):
        git(theirs, "config", name, evil)
    (theirs / "recipes" / "moss.yaml").write_text(MOSS + "# touched\n")
    told = sparkops("recipe", "add", str(theirs), "--name", "them", "--json").document
    assert not [name for name in told["recipes"] if "link" in name]
    assert not mark.exists()
    folder = Path(os.environ["XDG_STATE_HOME"], "sparkops", "catalogues", "them")
    assert not [
        path for path in folder.rglob("*") if path.is_symlink() or (path.is_file() and os.access(path, os.X_OK))
    ]


def test_a_recipe_of_a_catalogue_extends_nothing_outside_it(sparkops: Run, theirs: Path, own_home: Path) -> None:
    outside = own_home / "outside.yml"
    outside.write_text("model: acme/secret\ncontainer: c\n")
    (own_home / "recipes").mkdir()
    (own_home / "recipes" / "mine.yml").write_text("model: acme/mine\ncontainer: c\n")
    commit(
        theirs,
        {
            "recipes/a.yml": f"extends: {outside}\n",
            "recipes/b.yml": "extends: ../../../outside.yml\n",
            "recipes/c.yml": "extends: mine\n",
            "recipes/d.yml": "extends: openai-gpt-oss-120b\n",
            "recipes/e.yml": "extends: recipes/moss.yaml\n",
        },
    )
    told = sparkops("recipe", "add", str(theirs), "--name", "them", "--json").document
    assert {one["recipe"] for one in told["unread"]} >= {"recipes/a", "recipes/b", "recipes/c"}
    assert {"recipes/d", "recipes/e"} <= set(told["recipes"])
    assert "secret" not in json.dumps(told["recipes"])


def test_a_plain_directory_is_kept_by_its_content(sparkops: Run, own_home: Path) -> None:
    folder = own_home / "with blanks"
    (folder / "x").mkdir(parents=True)
    (folder / "x" / "moss.yaml").write_text(MOSS)
    first = sparkops("recipe", "add", str(folder), "--json").document["catalogue"]
    assert (first["name"], first["commit"].startswith("sha256:")) == ("with-blanks", True)
    assert sparkops("recipe", "show", "with-blanks/moss").code == 0
    assert "nothing new" in sparkops("recipe", "update").out
    (folder / "x" / "moss.yaml").write_text(MOSS.replace("seqs: 8", "seqs: 9"))
    assert "--max-num-seqs 8 -> 9" in sparkops("recipe", "update").out
    shutil.rmtree(folder)
    assert "no such directory" in sparkops("recipe", "update", "with-blanks").err
    assert sparkops("recipe", "show", "with-blanks/moss").code == 0


def test_a_name_is_taken_once_and_a_removed_catalogue_leaves_nothing(sparkops: Run, theirs: Path) -> None:
    assert sparkops("recipe", "add", str(theirs)).code == 0
    again = sparkops("recipe", "add", str(theirs))
    assert (again.code, "there is already a catalogue spark-recipes" in again.err) == (2, True)
    assert f"it came from {theirs}" in sparkops("recipe", "remove", "spark-recipes").out
    assert kept() == []
    assert sparkops("recipe", "remove", "spark-recipes").code == 2


def test_a_damaged_catalogue_is_a_warning_and_can_be_removed(sparkops: Run, theirs: Path) -> None:
    sparkops("recipe", "add", str(theirs), "--name", "them")
    about = Path(os.environ["XDG_STATE_HOME"], "sparkops", "catalogues", "them", "catalogue.json")
    for text in ("{", "{}", '{"schema": 1, "recipes": [1]}', "[]"):
        about.write_text(text)
        listed = sparkops("recipe", "list", "--json").document
        assert "the catalogue them cannot be read" in "".join(listed["warnings"])
        assert "cannot be read" in sparkops("recipe", "update", "them").err
    assert sparkops("recipe", "remove", "them").code == 0


def test_ctrl_c_during_a_fetch_keeps_nothing(
    sparkops: Run, by_ssh: str, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fetch hangs; the test interrupts sparkops once git has asked its ssh."""
    slow = own_home / "slow"
    slow.write_text(f"#!/bin/sh\ntouch {own_home}/hangs\nexec sleep 900\n")
    slow.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(slow))
    code = """
import signal, subprocess, sys, threading, time
from pathlib import Path
from sparkops.cli.main import main
from sparkops.core import mods
from sparkops.errors import UsageError
from sparkops.files import recipes
from sparkops.verbs.image.build_inputs import build_for, build_of, source_of
def interrupt():
    while not Path(sys.argv[1]).exists():
        time.sleep(0.02)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
sys.exit(main(sys.argv[2:]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(own_home / "hangs"), "recipe", "add", by_ssh],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert kept() == []


def test_two_at_once_keep_one(sparkops: Run, theirs: Path) -> None:
    words = [sys.executable, "-m", "sparkops", "recipe", "add", str(theirs), "--name", "them"]
    both = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert sorted(process.wait(600) for process in both) == [0, 2]
    assert kept() == ["them"]
    assert sparkops("recipe", "show", "them/moss").code == 0


def test_the_mods_of_a_catalogue_are_built_in_by_its_name(sparkops: Run, theirs: Path) -> None:
    sparkops("recipe", "add", str(theirs), "--name", "them")
    found = sparkops("lint", "them/moss", "--json").document["files"][0]["findings"]
    hints = [one["hint"] for one in found if one["id"] == "mods-image"]
    assert "sparkops image build them/recipes/moss --mods them" in hints[0]
    recipe = recipes.recipe("them/moss")
    built = build_for(mods.derived(recipe.container, recipe.mods), recipe)
    assert built.context is not None
    assert (built.base, built.context.files) == ("vllm-node", 4)


def test_a_build_context_of_a_catalogue_is_inside_it(sparkops: Run, theirs: Path, own_home: Path) -> None:
    commit(
        theirs,
        {
            "recipes/in.yml": "model: m\ncontainer: c\nbuild: {context: ../image}\n",
            "recipes/out.yml": "model: m\ncontainer: d\nbuild: {context: ../../../..}\n",
            "image/Dockerfile": "FROM scratch\n",
        },
    )
    (own_home / "Dockerfile").write_text("FROM scratch\n")
    sparkops("recipe", "add", str(theirs), "--name", "them")
    assert source_of(build_of("them/in")).context
    with pytest.raises(UsageError, match="which is not in the catalogue"):
        build_of("them/out")


def test_tab_completes_catalogues_and_their_recipes(
    sparkops: Run, theirs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sparkops("recipe", "add", str(theirs), "--name", "them")
    for words, known in (
        ("sparkops deploy --recipe them/", "them/recipes/moss"),
        ("sparkops recipe update th", "them"),
        ("sparkops recipe list th", "them"),
    ):
        monkeypatch.setenv("_SPARKOPS_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        main([])
        assert known in capsys.readouterr().out
