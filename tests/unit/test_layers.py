"""The architecture as a test: who imports whom, what is pure, how long things are. By `ast`, nothing is imported."""

import ast
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

import sparklab
import sparkops
from sparklab.docker_backend.images import ENGINE

PACKAGE = Path(next(iter(sparkops.__path__)))
EMULATED = Path(next(iter(sparklab.__path__)))
NODE = PACKAGE / "node"

MODULE_LINES = 350
MEDIAN_LINES = 90
FUNCTION_LINES = 60
LONG_FUNCTION = 40
MOST_LONG_FUNCTIONS = 12

PURE = ("core", "rules", "checks", "node_commands", "phases")
IMPURE = {
    "os", "sys", "io", "pathlib", "shutil", "tempfile", "glob", "subprocess", "socket", "select", "selectors", "ssl",
    "time", "random", "secrets", "uuid", "threading", "multiprocessing", "concurrent", "asyncio", "signal", "logging",
    "getpass", "urllib", "http", "yaml", "click", "rich", "structlog", "tenacity", "paramiko", "fabric", "invoke",
    "importlib", "tracemalloc",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "breakpoint"}

DISK_CALLS = {
    "read_text", "write_text", "read_bytes", "write_bytes", "exists", "is_file", "is_dir", "iterdir", "glob", "rglob",
    "mkdir", "unlink", "rmtree", "disk_usage", "TemporaryFile", "NamedTemporaryFile", "mkstemp", "mkdtemp",
}  # fmt: skip
DISK = {
    "sparkops/whole_file.py",
    "sparkops/report/runlog.py",
    "sparkops/remote/trust.py",  # pinned host keys
    "sparkops/remote/ssh.py",  # ~/.ssh/config
    "sparkops/remote/frame.py",  # the scripts that it sends
    "sparkops/session/llama_benchy.py",  # what a program says, however much
    "sparkops/verbs/lab/run.py",  # whether a lab is up
}
"""Who touches the disk beside `files`, `node`, and the programs of `data` that run inside images."""

BELOW = {
    "core": {"errors"},
    "node_commands": {"core", "errors"},
    "rules": {"core", "errors"},
    "checks": {"node_commands", "core", "errors"},
    "phases": {"node_commands", "core", "errors"},
    "report": {"core", "errors"},
    "remote": {"core", "errors", "signals", "whole_file"},
    "files": {"core", "errors", "data", "whole_file"},
    "session": {"files", "remote", "report", "phases", "checks", "node_commands", "core", "errors", "signals"},
    "cli": {"report", "core", "errors", "signals"},
    "sparklab": set(),
}
"""The floors: what each package of ours may import beside itself. `verbs` may import all of them but sparklab."""

NOUNS = {
    "bench": {"recipe"},
    "completion": {"lab"},
    "deploy": {"bench", "image", "model"},
    "fabric": {"deploy", "preflight"},
    "jobs": {"status"},
    "topologies": {"bench", "deploy"},
    "fleet": {"cache", "deploy", "image", "setup"},
    "gateway": {"status"},
    "preflight": {"deploy"},
    "play": {"deploy"},
    "setup": {"fleet"},
    "status": {"cache", "deploy", "fleet"},
    "watch": {"status", "web"},
}
"""The verbs that build on those of other nouns."""

ROLES = {
    "options.py": {"core", "verbs"},
    "command.py": {"cli", "core", "verbs"},
    "show.py": {"report", "core", "verbs"},
}
"""What of ours a verb's files of these names may import; of `verbs` only options, and a form another form."""

ALSO = {"sparkops/verbs/deploy/show.py": {"files"}}
"""`plan -v` shows the text of node scripts."""

LATE = {
    ("sparkops.__main__", "sparkops.cli.main"),
    ("sparkops.remote.ssh", "fabric"),
    ("sparkops.report.runlog", "structlog"),
    ("sparkops.cli.main", "sparkops.report.report"),
    ("sparkops.cli.main", "sparkops.report.runlog"),
    ("sparkops.cli.main", "sparkops.report.terminal"),
    ("sparkops.cli.main", "sparkops.files.package"),
    ("sparkops.cli.where", "sparkops.verbs.lab.run"),
    ("sparkops.verbs.bench.records", "sparkops.verbs.bench.page"),
    ("sparkops.verbs.deploy.run", "sparkops.verbs.bench.after_deploy"),
    ("sparkops.verbs.deploy.run", "sparkops.verbs.deploy.provision"),
    ("sparkops.verbs.preflight.run", "sparkops.verbs.preflight.missing_images"),
    ("sparkops.verbs.setup.run", "sparkops.verbs.fleet.write"),
    ("sparkops.verbs.status.fleet", "sparkops.verbs.fleet.run"),
    ("sparkops.verbs.watch.run", "sparkops.verbs.watch.app"),
    ("sparkops.verbs.watch.run", "sparkops.verbs.watch.exporter"),
    ("sparkops.verbs.watch.run", "sparkops.verbs.watch.notify"),
    ("sparkops.verbs.watch.run", "sparkops.verbs.web.page"),
}
"""A signal may come while modules are imported; Fabric's reader of ~/.ssh/config needs fcntl, which a Windows control
machine lacks; looking logs nothing; verbs without nodes start in a tenth of a second; matplotlib may be missing; most
deploys find images and model in their places and measure nothing; most preflights fix
nothing; most inits and looks are not about a fleet; Textual takes a third of a second, and draws only on a terminal;
most watches tell nobody else."""

MODULES = sorted([*PACKAGE.rglob("*.py"), *EMULATED.rglob("*.py")])
FOREIGN = EMULATED / "docker_backend" / "image"
"""Files that run inside containers of the lab, beside the real vLLM: not modules of ours."""


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[str, ast.AST]]:
    """Every module that a file imports; `from package import module` counts as the module where there is one."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from ((name.name, node) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            base = node.module or ""
            for name in node.names:
                below = f"{base}.{name.name}"
                yield (below if below in KNOWN else base), node


KNOWN = {dotted(path) for path in MODULES}


def part(module: str) -> str:
    """The first level below `sparkops`, or `sparklab`."""
    package, below = (module.split(".") + [""])[:2]
    return below if package == "sparkops" else package


PRODUCT = [path for path in MODULES if part(dotted(path)) not in ("sparklab", "testing")]


def test_there_is_something_to_look_at() -> None:
    assert len(MODULES) > 30


def relative(path: Path) -> str:
    return str(path.relative_to(PACKAGE.parent))


def test_the_core_is_pure() -> None:
    assert [(relative(path), bad) for path in MODULES if part(dotted(path)) in PURE and (bad := impure(path))] == []


def impure(path: Path) -> set[str]:
    """What a module of the core imports or calls that touches the world."""
    nodes = (node.func for node in ast.walk(parsed(path)) if isinstance(node, ast.Call))
    called = {func.id for func in nodes if isinstance(func, ast.Name)}
    used = {name for name, _ in imports(path)}
    return {name for name in used for bad in IMPURE if f"{name}.".startswith(f"{bad}.")} | called & IMPURE_CALLS


def test_imports_go_down() -> None:
    assert [(relative(path), wrong) for path in MODULES if (wrong := upwards(path))] == []


def upwards(path: Path) -> set[str]:
    """Packages of ours that a module imports and may not; anyone may ask `sparkops` itself for its version."""
    mine = part(dotted(path))
    used = {part(name) for name, _ in ours(path)}
    return used - {mine, ""} - BELOW.get(mine, used)


def ours(path: Path) -> Iterator[tuple[str, ast.AST]]:
    """Imports of our own packages, but for those inside functions that LATE gives a reason for."""
    found = [
        (name, node) for name, node in imports(path) if f"{name}.".startswith(("sparkops.", "sparklab.")) and part(name)
    ]
    yield from ((name, node) for name, node in found if (dotted(path), name) not in LATE)


def test_only_these_touch_the_disk() -> None:
    touching = {
        relative(path) for path in PRODUCT if on_disk(path) and part(dotted(path)) not in ("files", "node", "data")
    }
    assert touching == DISK


def on_disk(path: Path) -> set[str]:
    """Calls of a module that read or write files."""
    calls = (node.func for node in ast.walk(parsed(path)) if isinstance(node, ast.Call))
    return {func.attr for func in calls if isinstance(func, ast.Attribute)} & DISK_CALLS


VERBS = [path for path in MODULES if part(dotted(path)) == "verbs" and path.parent.name != "verbs"]


def test_a_verb_builds_on_others_only_as_the_table_says() -> None:
    for path in VERBS:
        below = {name for name, _ in imports(path) if name.startswith("sparkops.verbs.") and not is_options(name)}
        nouns = {name.split(".")[2] for name in below} - {path.parent.name}
        assert nouns <= NOUNS.get(path.parent.name, set()), relative(path)


def is_options(module: str) -> bool:
    return module.endswith(".options")


def test_the_files_of_a_verb_keep_to_their_role() -> None:
    for path in VERBS:
        if path.name not in ROLES:
            continue
        names = {name for name, _ in ours(path)}
        assert {part(name) for name in names} <= ROLES[path.name] | ALSO.get(relative(path), set()), relative(path)
        others = {name.rpartition(".")[2] for name in names if part(name) == "verbs" and not is_options(name)}
        assert others <= ({"show", "show_catalogue"} if path.name == "show.py" else set()), relative(path)
        foreign = {name.partition(".")[0] for name, _ in imports(path)} - {"sparkops"} - sys.stdlib_module_names
        assert foreign <= ({"click"} if path.name == "command.py" else set()), relative(path)


def test_only_the_lab_verbs_reach_the_emulated_nodes() -> None:
    reaching = {dotted(path) for path in MODULES for name, _ in imports(path) if part(name) == "sparklab"}
    assert {name for name in reaching if part(name) != "sparklab"} == {"sparkops.verbs.lab.run"}


def test_nothing_that_runs_for_a_person_needs_the_simulated_world() -> None:
    using = {dotted(path) for path in MODULES for name, _ in imports(path) if part(name) == "testing"}
    assert {name for name in using if part(name) != "testing"} == set()


def test_there_is_no_import_cycle() -> None:
    graph = {dotted(path): {name for name, _ in imports(path) if name in KNOWN} for path in MODULES}
    done: set[str] = set()

    def walk(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " > ".join((*trail[trail.index(name) :], name))
        if name not in done:
            for below in graph[name]:
                walk(below, (*trail, name))
            done.add(name)

    for name in graph:
        walk(name, ())


def test_imports_stand_at_the_top() -> None:
    """What is heavy is imported by its module, and the module by the registry. The lab's programs start anew for
    each call, and import by function."""
    late = {found for path in MODULES if part(dotted(path)) != "sparklab" for found in late_imports(path)}
    assert late == LATE


def late_imports(path: Path) -> set[tuple[str, str]]:
    """(module, what it imports inside a function)."""
    functions = [f for f in ast.walk(parsed(path)) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    return {(dotted(path), name) for name, node in imports(path) if id(node) in inside}


def test_only_the_registry_imports_by_name() -> None:
    by_name = {dotted(path) for path in MODULES if "import_module(" in path.read_text(encoding="utf-8")}
    readers_of_other_schemas, runs_inside_images = "sparkops.files.recipes", "sparkops.data.dump"
    found = {name for name in by_name if part(name) != "sparklab"}
    assert found == {"sparkops.cli.registry", readers_of_other_schemas, runs_inside_images}


def test_no_module_is_long() -> None:
    lines = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: count for name, count in lines.items() if count > MODULE_LINES} == {}


def test_half_of_the_modules_fit_on_two_screens() -> None:
    assert median(len(path.read_text(encoding="utf-8").splitlines()) for path in PRODUCT) <= MEDIAN_LINES


def test_a_class_name_means_one_thing() -> None:
    where: dict[str, list[str]] = {}
    for path in PRODUCT:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name, []).append(relative(path))
    assert {name: files for name, files in where.items() if len(files) > 1} == {}


def lengths() -> Iterator[tuple[int, str]]:
    """Lines of each function, its docstring left out."""
    for path in MODULES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
                yield (node.end_lineno or 0) - body[0].lineno + 1, f"{relative(path)}:{node.lineno} {node.name}"


def test_functions_are_short() -> None:
    longest = sorted(lengths(), reverse=True)
    long = [f"{lines} {where}" for lines, where in longest if lines > LONG_FUNCTION]
    assert longest[0][0] <= FUNCTION_LINES, longest[0]
    assert len(long) <= MOST_LONG_FUNCTIONS, "\n".join(long)


def test_a_module_says_what_it_is_for() -> None:
    assert [relative(path) for path in MODULES if parsed(path).body and not ast.get_docstring(parsed(path))] == []


def test_every_script_that_is_named_exists() -> None:
    named = set()
    for path in MODULES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Script":
                named |= {word.value for word in node.args if isinstance(word, ast.Constant)}
    assert named
    there = {path.stem for path in NODE.iterdir() if path.suffix in {".sh", ".py"}}
    assert sorted(named - there) == []


TREE = PACKAGE.parent
TEXTS = (".py", ".sh", ".md", ".yml", ".toml", ".txt", ".json", ".jsonl")


def sources() -> Iterator[Path]:
    """Yield all texts of the checkout, or of the installed packages, without what is built beside them meanwhile."""
    for top in [TREE] if (TREE / "pyproject.toml").is_file() else [PACKAGE, EMULATED]:
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if not name.startswith(".") and name not in {"build", "dist"}]
            yield from (Path(folder, name) for name in files if name.endswith(TEXTS))


FORBIDDEN = re.compile(
    r"(?:^|[^A-Za-z0-9_.-])/(?:work|farm)/[a-z.]|farm-[bs][a-z]+|python"
    r"hosted|pypi\.(?:org|io)|npm"
    r"js|debian\.org",
    re.MULTILINE,
)


def test_nothing_names_the_machine_it_was_written_on_nor_a_registry() -> None:
    found = [str(path) for path in sources() if FORBIDDEN.search(path.read_text(encoding="utf-8", errors="replace"))]
    assert [name for name in found if name != str(Path(__file__))] == []


def test_the_image_of_the_docker_lab_holds_all_that_its_programs_import() -> None:
    held = [EMULATED / part for part in ENGINE]
    inside = {path for part in held for path in ([part] if part.is_file() else part.rglob("*.py"))}
    reached: set[Path] = set()
    edge = [*(EMULATED / "docker_backend" / "image").rglob("*.py")]
    while edge:
        names = {name for name, _ in imports(edge.pop()) if name.startswith("sparklab.")}
        new = {EMULATED.parent / f"{name.replace('.', '/')}.py" for name in names} - reached
        reached |= new
        edge += [path for path in new if path.is_file()]
    assert {path for path in reached if path.is_file()} - inside == set()
    assert EMULATED / "layout.py" in reached
