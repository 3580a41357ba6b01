"""How many small mistakes in what decides would the tests see? The same sample of mutants, whatever the tests are.

    python bench/mutation draw 700                      # once: writes bench/mutation/sample.jsonl
    python bench/mutation run bench/mutation/result.md  # every mutant of the sample, then the report: an hour or two
    python bench/mutation try 1a2b3c4d ...              # single ones, with what their tests say
    python bench/mutation put 1a2b3c4d                  # writes one into the checkout; `git checkout sparkops` ends it

Needs the extra `mutation`: mutmut makes the mutants. `[tool.mutmut]` in pyproject.toml names the modules to change and,
in `pytest_add_cli_args_test_selection`, the tests that judge. Call it at the top of the checkout.

Every mutant is written into a copy of the tree (`mutants/`, one a core) and judged by a process that has imported
nothing of it before: by the files with tests that reach its function, the quickest tests first, until one fails or two
minutes of tests have seen nothing. A function that runs while the package is imported is judged by all files.
Hypothesis tries the same examples every time. A test of more than a minute is a timeout.

`run` goes on where it was ended, and begins again when sources or tests are others. bench/mutation/equal.txt names the
mutants that behave as the original does, an id and a reason a line.
"""

import json
import multiprocessing
import os
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from hashlib import sha256
from pathlib import Path

import judge
import sample
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir
from report import report

TREE = judge.TREE
REACH, VERDICTS = TREE / "reach.json", TREE / "verdicts.jsonl"
JUDGED = ("pyproject.toml", "sparkops", "sparklab", "tests", "recipes", "playbooks", "inventories")


@cache
def reached() -> judge.Reached:
    """Which tests reach what, measured once a state of the tree."""
    known, now = json.loads(REACH.read_text(encoding="utf-8")) if REACH.exists() else {}, state()
    if known.get("state") != now:
        shutil.rmtree(TREE, ignore_errors=True)
        TREE.mkdir()
        copy_src_dir()
        copy_also_copy_files()
        known = {"state": now, **judge.reach()}
        REACH.write_text(json.dumps(known), encoding="utf-8")
    return judge.Reached(known)


def state() -> str:
    paths = sorted(path for top in JUDGED for path in (Path(top), *Path(top).rglob("*")) if path.is_file())
    kept = [path for path in paths if "__pycache__" not in path.parts]
    return sha256(b"".join(sha256(str(path).encode() + path.read_bytes()).digest() for path in kept)).hexdigest()


def verdict(one: sample.Found, tree: Path = TREE, *, loud: bool = False) -> dict[str, str]:
    """The module is as it was afterwards, its time included: compiled modules are known by it."""
    tests, place = reached().of(one.path, *one.lines), tree / one.path  # the first call makes the tree
    try:
        judge.write(place, one.text)
        return judge.judged(tests, tree, loud=loud)
    finally:
        shutil.copy2(one.path, place)


def run(page: str) -> None:
    tests, mutants = reached(), sample.read()  # before the cores begin, which know what is known here
    known = [json.loads(line) for line in VERDICTS.read_text("utf-8").splitlines()] if VERDICTS.exists() else []
    verdicts = {row["id"]: row for row in known}
    left = [mutant for mutant in mutants if mutant.id not in verdicts]
    fork = multiprocessing.get_context("fork")
    with VERDICTS.open("a", encoding="utf-8") as file, ProcessPoolExecutor(mp_context=fork, initializer=_own) as cores:
        for done in as_completed([cores.submit(_judged, mutant) for mutant in left]):
            for row in done.result():
                verdicts[row["id"]] = row
                print(json.dumps(row), file=file, flush=True)
                print(len(verdicts), *row.values(), flush=True)
    Path(page).write_text(report(mutants, verdicts, page, len(tests.tests)), encoding="utf-8")


def _tree() -> Path:
    return TREE / "cores" / str(os.getpid())


def _own() -> None:
    """A copy of the tree for this process."""
    shutil.copytree(TREE, _tree(), ignore=shutil.ignore_patterns("cores"))


def _judged(mutant: sample.Mutant) -> list[dict[str, str]]:
    """Its verdict; none where the code is gone."""
    return [{"id": mutant.id, **verdict(one, _tree())} for one in sample.find([mutant])]


def main(verb: str, *words: str) -> None:
    if verb == "draw":
        sample.draw(int(*words))
    elif verb == "run":
        run(*words)
    else:
        for one in sample.find([mutant for mutant in sample.read() if mutant.id in words]):
            mutant = one.mutant
            print(mutant.path, mutant.function, f"- {mutant.was}", f"+ {mutant.now}", sep="\n", flush=True)
            if verb == "put":
                Path(one.path).write_text(one.text, encoding="utf-8")
            else:
                print(verdict(one, loud=True))


main(*sys.argv[1:])
