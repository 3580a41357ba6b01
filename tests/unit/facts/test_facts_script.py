"""node/facts.sh in real shells, against a fake root and small stand-ins for the tools of a node."""

import fcntl
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import rmtree, which

import pytest

from sparkops.core.facts import PROBES, Facts, Unread, parse
from sparkops.core.images import Software
from sparkops.remote.frame import script_text
from support import golden
from support.captures import leaves, whole

HERE = Path(__file__).parent
SHELLS = [(path, *more) for name, *more in (("dash",), ("bash",), ("ksh",), ("busybox", "sh")) if (path := which(name))]
SOMETIMES = {"docker-ours", "docker-strangers", "docker-logs", "images", "model", "models"}
FRAME = re.compile(rb"== ([a-z0-9-]+) (\d+) (\d+) (\d+)\n")
OF_THIS_MACHINE = (
    *(
        "addresses",
        "caches",
        "booted",
        "clock.seconds",
        "default_target",
        "disk",
        "hostkeys",
        "interfaces",
        "lscpu",
        "schedule",
    ),
    *("state.jobs.0.pid", "thermal", "tools", "took_seconds", "vmstat"),
)
"""Also what is in the order that the machine's language sorts names in."""
SNAPSHOT = "b5c939de8f754692c1647ca79fbf85e8c1e70f8a"

ROOT = {
    "etc/os-release": 'NAME="Ubuntu"\nVERSION_ID="24.04"\n',
    "etc/dgx-release": 'DGX_NAME="DGX Spark"\nDGX_SERIAL_NUMBER="1234567890"\nDGX_OTA_VERSION="7.5.0"\n',
    "etc/machine-id": "5b0a7a6c6a3f4d0e8b1f0a9d7c2e4f60\n",
    "etc/default/locale": "LANG=de_DE.UTF-8\n",
    "etc/ufw/ufw.conf": "ENABLED=yes\n",
    "etc/systemd/logind.conf": "[Login]\nRemoveIPC=no\n",
    "etc/nvidia/cx7-hotplug-enabled": "",
    "sys/class/dmi/id/product_name": "NVIDIA_DGX_Spark\n",
    "sys/class/dmi/id/sys_vendor": "NVIDIA\n",
    "sys/module/nvidia/version": "580.142\n",
    "sys/class/net/enp1s0f1np1/operstate": "up\n",
    "sys/class/net/enp1s0f1np1/speed": "200000\n",
    "sys/class/net/enp1s0f1np1/phys_port_name": "p1\n",
    "sys/class/net/enP2p1s0f1np1/operstate": "up\n",
    "sys/class/net/enP2p1s0f1np1/phys_port_name": "p1\n",
    "sys/class/infiniband/rocep1s0f1/ports/1/state": "4: ACTIVE\n",
    "sys/class/infiniband/rocep1s0f1/ports/1/gids/3": "0000:0000:0000:0000:0000:ffff:c0a8:640a\n",
    "sys/class/infiniband/rocep1s0f1/ports/1/gid_attrs/types/3": "RoCE v2\n",
    "sys/class/infiniband/rocep1s0f1/device/net/enp1s0f1np1/mtu": "9000\n",
    "proc/meminfo": "MemTotal:       127535084 kB\nMemFree:        121634816 kB\n",
    "proc/sys/kernel/hostname": "hutch\n",
    "proc/sys/kernel/random/boot_id": "3f1a6a0e-2c61-4c0b-8b83-6d2f7f5f8a11\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/uptime": "86423.51 1711233.20\n",
    "proc/77/cmdline": "avahi-daemon: running [hutch-2.local]",
    "proc/4910/cgroup": f"0::/system.slice/docker-{'4b' * 32}.scope\n",
    "run/avahi-daemon/pid": "77\n",
    "run/lock/sparkops.lock": '{"run": "r1", "user": "ann"}\n',
    "dev/infiniband/uverbs0": "",
    "var/run/reboot-required": "*** System restart required ***\n",
    "var/run/reboot-required.pkgs": "linux-image-nvidia\n",
}
HOME = {
    ".local/state/sparkops/key": "sk-the-secret-key",
    ".local/state/sparkops/orphans/c-1@10.0.0.2": "10.0.0.2 gpt c-1\n",
    ".local/state/sparkops/jobs/fetch/pid": f"{os.getpid()}\n",
    ".local/state/sparkops/jobs/fetch/cmd": "hf download café\n",
}


def _write(base: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node's root and home, in folders with a space in their names."""
    _write(tmp_path / "a root", ROOT)
    _write(tmp_path / "a home", HOME)
    return tmp_path


Ask = Callable[..., bytes]


@pytest.fixture
def ask(node: Path) -> Ask:
    """Runs the script on the node and gives what it printed."""

    def run(*args: str, shell: tuple[str, ...] = ("sh",), code: int = 0, **more: str) -> bytes:
        env = {
            "PATH": f"{HERE / 'stubs'}:/usr/bin:/bin",
            "HOME": str(node / "a home"),
            "USER": "jhunt",
            "LANG": "de_DE.UTF-8",
            "SPARKOPS_ROOT": str(node / "a root"),
            "SPARKOPS_PROBE_LIMIT": "60",
            **more,
        }
        words = [*shell, "-c", script_text("facts"), "facts", *args]
        done = subprocess.run(words, env=env, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        complaints = [line for line in done.stderr.splitlines() if b"ignored null byte" not in line]
        assert done.returncode == code
        assert code or complaints == []
        return done.stdout

    return run


Hangs = Callable[..., dict[str, str]]


@pytest.fixture
def hangs(tmp_path: Path) -> Hangs:
    """Settings for `ask` that hold one program to a short limit; the others may be as slow as this machine is busy."""

    def held(program: str) -> dict[str, str]:
        short = f'[ "$4" != {program} ] || {{ shift 3 && set -- -k 1 0.1 "$@"; }}'
        _write(tmp_path / "tools", {"timeout": f'#!/bin/sh\n{short}\nexec {which("timeout")} "$@"\n'})
        (tmp_path / "tools/timeout").chmod(0o755)
        return {"PATH": f"{tmp_path / 'tools'}:{HERE / 'stubs'}:/usr/bin:/bin"}

    return held


def frames(raw: bytes) -> dict[str, bytes]:
    """The frames, read strictly: every payload ends exactly where its length says."""
    header, _, data = raw.partition(b"\n")
    assert header == b"sparkops-facts 1"
    found, at = {}, 0
    while at < len(data):
        match = FRAME.match(data, at)
        assert match, data[at : at + 80]
        stop = match.end() + int(match[4])
        assert data[stop : stop + 1] == b"\n"
        found[match[1].decode()] = data[match.end() : stop]
        at = stop + 1
    return found


def facts(raw: bytes) -> Facts:
    return parse(raw.decode("utf-8", "replace"))


def test_every_shell_prints_exact_frames_of_every_probe_and_reads_what_the_file_says(ask: Ask, node: Path):
    for shell in SHELLS:
        raw = ask("--image", "there", "--image", "not/there:1", shell=shell)
        found = frames(raw)
        assert set(PROBES) - SOMETIMES <= set(found) <= {*PROBES, "end"}
        assert "hf download café".encode() in found["state"], "bytes are counted, not characters"
        assert facts(raw).disk["docker"].free_kib > 0
        told = [f"{path} = {json.dumps(value)}\n" for path, value in leaves("", whole(facts(raw)))]
        kept = sorted(line.replace(str(node), "/node") for line in told if not line.startswith(OF_THIS_MACHINE))
        golden.hold(HERE / "script.txt", "".join(kept))


def test_a_clock_that_nothing_sets_is_told_from_one_that_another_sets(ask: Ask, node: Path):
    """Each of these is there in addition to those before."""
    grows = {
        "etc/hostname": None,
        "run/systemd/system/x": False,
        "run/systemd/timesync/x": False,
        "run/systemd/timesync/synchronized": True,
    }
    for shell in SHELLS:
        for there, synchronized in grows.items():
            _write(node / "a root", {there: ""})
            assert facts(ask("--only", "clock", shell=shell)).clock.synchronized is synchronized
        rmtree(node / "a root/run/systemd/timesync")
        _write(node / "a root", {"run/chrony/chronyd.pid": ""})
        assert facts(ask("--only", "clock", shell=shell)).clock.synchronized is None
        for folder in ("systemd", "chrony"):
            rmtree(node / "a root/run" / folder)


def test_a_hung_nvidia_smi_costs_its_limit_once_and_nothing_else(ask: Ask, hangs: Hangs):
    for shell in SHELLS:
        raw = ask(shell=shell, STUB_SMI="hang", **hangs("nvidia-smi"))
        got = facts(raw)
        assert "no answer within the time limit" in got.nvidia_smi.reason
        assert frames(raw)["gpu-load"] == b"not asked again: nvidia-smi did not answer"
        assert len(got.containers) == 2


def test_a_cache_on_a_file_server_that_is_gone_hides_only_itself(ask: Ask, hangs: Hangs, tmp_path: Path):
    for shell in SHELLS:
        _write(tmp_path / "tools", {"ls": "#!/bin/sh\nexec sleep 60\n"})
        (tmp_path / "tools/ls").chmod(0o755)
        got = facts(ask("--model", "a/b", "--cache", "/mnt/hf", shell=shell, **hangs("ls")))
        assert "no answer within the time limit" in got.model.reason
        assert "no answer within the time limit" in got.disk.reason
        assert len(got.containers) == 2
        assert got.took_seconds is not None


def test_garbage_from_a_tool_stays_inside_its_own_frame(ask: Ask):
    for shell in SHELLS:
        raw = ask(shell=shell, STUB_SMI="garbage")
        assert "fake" not in frames(raw)
        got = facts(raw)
        assert isinstance(got.nvidia_smi, Unread)
        assert got.memory.total_kib == 127535084
        assert len(got.containers) == 2


def test_a_refusing_docker_is_asked_once(ask: Ask, node: Path):
    calls = node / "calls"
    got = facts(ask("--image", "there", STUB_DOCKER="refuse", STUB_CALLS=str(calls)))
    assert calls.read_text().count("docker ") == 1
    assert "permission denied" in got.docker_version.reason
    assert "permission denied" in got.images["there"].reason
    assert got.containers == ()


def test_a_hung_docker_costs_its_limit_once(ask: Ask, hangs: Hangs, node: Path):
    calls = node / "calls"
    got = facts(ask(STUB_DOCKER="hang", STUB_CALLS=str(calls), **hangs("docker")))
    assert calls.read_text().count("docker ") == 1
    assert "no answer" in got.docker_ps.reason
    assert got.disk["home"].free_kib > 0


@pytest.fixture
def image(node: Path) -> dict[str, str]:
    """Settings for `ask` by which every image has a Python of its own with some packages."""
    site = node / "an image/site"
    for name in ("vllm-0.32.0", "nvidia_nccl_cu13-2.30.4", "flashinfer_python-0.6.4rc1", "torch-2.11.0+cu130"):
        package, _, version = name.partition("-")
        metadata = f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: {version}\n"
        _write(site, {f"{name}.dist-info/METADATA": metadata})
    python = f"#!/bin/sh\nPYTHONPATH='{site}' exec {which('python3')} -S \"$@\"\n"
    _write(node / "an image", {"python3": python, "vllm": "#!/bin/sh\n"})
    for program in ("python3", "vllm"):
        (node / "an image" / program).chmod(0o755)
    return {"STUB_IMAGE": str(node / "an image"), "STUB_CALLS": str(node / "calls")}


CONTENT = Software(vllm="0.32.0", nccl="2.30.4", flashinfer="0.6.4rc1", torch="2.11.0+cu130")
KEPT = "a home/.local/state/sparkops/images/1c.software"


def test_what_an_image_contains_is_asked_once_and_kept(ask: Ask, node: Path, image: Mapping[str, str]):
    for shell in SHELLS:
        calls = Path(image["STUB_CALLS"])
        calls.write_text("")
        for _ in range(2):
            got = facts(ask("--image", "there", "--image", "not/there:1", shell=shell, **image))
            assert got.image("there").software == CONTENT
            assert not got.image("there").graphs_hung
        assert calls.read_text().count("docker run --rm --network none --entrypoint  1c ") == 1
        assert f"folder {(node / KEPT).parent}\n" in (node / "a home/.local/state/sparkops/manifest").read_text()
        (node / KEPT).unlink()


def test_a_damaged_record_of_an_image_is_made_again(ask: Ask, node: Path, image: Mapping[str, str]):
    whole = "vllm=1\nnccl=\nflashinfer=\nray=\ntorch=1\n"
    for damaged in ("", "vllm=1\n", whole.replace("nccl=", "nccl=$(reboot)"), whole.replace("torch=1", "torch")):
        _write(node, {KEPT: damaged})
        assert facts(ask("--image", "there", **image)).image("there").software == CONTENT
    _write(node, {KEPT: whole})
    assert facts(ask("--image", "there", **image)).image("there").software == Software(vllm="1", torch="1")


def test_an_image_without_an_answer_is_there_all_the_same(ask: Ask, node: Path, image: Mapping[str, str]):
    for shell in SHELLS:
        without_python = facts(ask("--image", "there", shell=shell)).image("there")
        assert (without_python.size_bytes, without_python.software) == (42, None)
        _write(node / "an image", {"python3": "#!/bin/sh\necho vllm=1; echo boo >&2; exit 1\n"})
        assert facts(ask("--image", "there", shell=shell, **image)).image("there").software is None
    assert not (node / KEPT).exists()


def test_what_an_image_contains_is_told_although_it_cannot_be_kept(ask: Ask, node: Path, image: Mapping[str, str]):
    _write(node, {"a home/.local/state/sparkops/images": "a file where the folder belongs"})
    for _ in range(2):
        assert facts(ask("--image", "there", **image)).image("there").software == CONTENT
    assert Path(image["STUB_CALLS"]).read_text().count("docker run") == 2


def test_hung_graphs_are_remembered_for_an_image(ask: Ask, node: Path):
    _write(node, {KEPT.replace("software", "graphs-hung"): ""})
    for shell in SHELLS:
        got = facts(ask("--image", "there", shell=shell))
        assert (got.image("there").graphs_hung, got.state.graphs_hung) == (True, ("sha256:1c",))


def test_docker_goes_through_sudo_only_when_asked_to(ask: Ask, node: Path):
    calls = node / "calls"
    ask(STUB_CALLS=str(calls))
    assert "sudo -n docker" not in calls.read_text()
    assert len(facts(ask("--sudo", STUB_CALLS=str(calls))).containers) == 2
    assert "sudo -n docker version" in calls.read_text()


def test_sudo_that_wants_a_password_is_told(ask: Ask):
    assert facts(ask()).sudo.able
    got = facts(ask(STUB_SUDO="password"))
    assert (got.sudo.able, got.sudo.drop_caches) == (False, True)
    assert got.sudo.said == "sudo: a password is required"


def test_through_sudo_it_tells_of_the_person_not_of_root(ask: Ask, node: Path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    home = node / "a home"
    _write(node / "a root", {"etc/passwd": f"root:x:0:0::/root:/bin/sh\njhunt:x:1000:1000::{home}:/bin/bash\n"})
    got = facts(ask("--sudo", SUDO_USER="jhunt", USER="root", HOME="/root"))
    assert (got.home, got.id.name) == (str(home), "jhunt")
    assert [note.deployment for note in got.orphans] == ["gpt"]
    assert len(got.containers) == 2
    assert (got.sudo.able, got.sudo.drop_caches) == (False, True)


def test_a_node_that_is_slow_all_over_still_tells_what_it_could(ask: Ask):
    raw = ask(SPARKOPS_FACTS_BUDGET="0")
    assert "end" in frames(raw)
    assert facts(raw).meminfo == Unread("not asked: the probes before it took too long")


def test_no_secret_leaves_the_node(ask: Ask):
    raw = ask()
    for secret in (b"sk-the-secret-key", b"verysecret", b"1234567890"):
        assert secret not in raw
    assert b"--max-num-batched-tokens 8192" in raw
    assert b"TOKENIZERS_PARALLELISM=false" in raw
    assert facts(raw).key_digest == hashlib.sha256(b"sk-the-secret-key").hexdigest()


def test_the_node_is_as_it_was_before(ask: Ask, node: Path):
    def state() -> dict[str, tuple[int, int]]:
        paths = [path for path in node.rglob("*") if path.name != "calls"]
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in paths}

    before = state()
    ask("--model", "openai/gpt-oss-120b", "--image", "there", "--sudo")
    assert state() == before


def test_notes_are_found_and_jobs_that_only_their_lock_makes_alive(ask: Ask, node: Path):
    assert not facts(ask()).state.jobs[0].alive, "its process number was given again"
    with (node / "a home/.local/state/sparkops/jobs/fetch/pid").open() as pid:
        fcntl.flock(pid, fcntl.LOCK_EX)
        got = facts(ask())
    (note,) = got.orphans
    assert (note.address, note.deployment, note.container) == ("10.0.0.2", "gpt", "c-1")
    assert Path(note.path).read_text() == "10.0.0.2 gpt c-1\n"
    (job,) = got.state.jobs
    assert (job.id, job.alive, job.exit, job.command) == ("fetch", True, None, "hf download café")


def test_a_lock_is_held_only_while_somebody_holds_it(ask: Ask, node: Path):
    for shell in SHELLS:
        path = node / "a root/run/lock/sparkops.lock"
        assert not facts(ask("--only", "lock", shell=shell)).lock.held
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            lock = facts(ask("--only", "lock", shell=shell)).lock
        assert lock.held
        assert lock.owner == {"run": "r1", "user": "ann"}
        assert lock.history.holder == "r1"


def test_the_last_notes_of_runs_come_with_the_lock_also_where_nobody_ever_took_it(ask: Ask, node: Path):
    history = node / "a home/.local/state/sparkops/history"
    history.parent.mkdir(parents=True, exist_ok=True)
    history.write_text("".join(f'{{"event":"begin","run":"{number}"}}\n' for number in range(30)) + '{"event":"be')
    for shell in SHELLS:
        for words, runs in (((), range(11, 30)), (("--history", "3"), range(28, 30))):
            lock = facts(ask("--only", "lock", *words, shell=shell)).lock
            assert [note.run for note in lock.history.notes] == [str(number) for number in runs]
    (node / "a root/run/lock/sparkops.lock").unlink()
    for shell in SHELLS:
        lock = facts(ask("--only", "lock", shell=shell)).lock
        assert (lock.held, lock.owner, len(lock.history.notes)) == (False, None, 19)


def test_only_the_probes_that_are_wanted_are_asked(ask: Ask):
    for shell in SHELLS:
        assert set(frames(ask("--only", "meminfo,docker-ps", shell=shell))) == {"meminfo", "docker-ps", "end"}


def test_an_unknown_option_is_refused(ask: Ask):
    assert ask("--nonsense", code=2) == b""


def _snapshot(home: Path, shards: int, have: int) -> Path:
    folder = home / ".cache/huggingface/hub/models--openai--gpt-oss-120b"
    names = [f"model-{i:05d}-of-{shards - 1:05d}.safetensors" for i in range(shards)]
    index = json.dumps({"metadata": {}, "weight_map": {f"layer.{i}": name for i, name in enumerate(names)}})
    _write(folder, {"refs/main": SNAPSHOT, "blobs/index": index, "blobs/config": "{}", "blobs/w": "weights"})
    links = {"config.json": "config", "model.safetensors.index.json": "index"} | dict.fromkeys(names[:have], "w")
    for name, blob in links.items():
        link = folder / "snapshots" / SNAPSHOT / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../../blobs/{blob}")
    return folder


def test_a_complete_model_is_told_by_its_index(ask: Ask, node: Path):
    words = node / "a home/.cache/tiktoken_rs"
    _snapshot(node / "a home", 3, 3)
    for shell in SHELLS:
        model = facts(ask("--only", "model", "--model", "openai/gpt-oss-120b", shell=shell)).model
        assert (model.revision, model.missing, model.complete, model.bytes > 0) == (SNAPSHOT, (), True, True)
        assert model.words == ()
        _write(words, {"o200k_base.tiktoken": "words", "half": ""})
        model = facts(ask("--only", "model", "--model", "openai/gpt-oss-120b", shell=shell)).model
        assert model.words == ("o200k_base.tiktoken",)
        rmtree(words)


def test_a_missing_shard_a_broken_link_and_a_part_of_a_download_are_told(ask: Ask, node: Path):
    folder = _snapshot(node / "a home", 3, 2)
    _write(folder, {"blobs/abc.incomplete": "half"})
    (folder / "snapshots" / SNAPSHOT / "tokenizer.json").symlink_to("../../blobs/gone")
    for shell in SHELLS:
        model = facts(ask("--only", "model", "--model", "openai/gpt-oss-120b", shell=shell)).model
        assert (model.missing, model.broken) == (("model-00002-of-00002.safetensors",), ("tokenizer.json",))
        assert (model.incomplete, model.complete) == ((str(folder / "blobs/abc.incomplete"),), False)


def test_a_model_is_described_by_its_configuration_unless_that_is_strange(ask: Ask, node: Path):
    folder = _snapshot(node / "a home", 1, 1)
    keys = ("num_attention_heads", "num_hidden_layers", "hidden_size", "vocab_size", "max_position_embeddings")
    whole = json.dumps(dict.fromkeys(keys, 64), indent=2)
    strange = ("", "\0", "[]", "{", whole.replace("64", '"x"'), whole + " " * 200_000, "config x\nrevision y\n{")
    for shell in SHELLS:
        for text, known in ((whole, True), *((text, False) for text in strange)):
            _write(folder, {"blobs/config": text})
            model = facts(ask("--only", "model", "--model", "openai/gpt-oss-120b", shell=shell)).model
            assert (model.revision, model.complete or not text) == (SNAPSHOT, True)
            assert (model.architecture is not None) is known, text[:40]
            assert not known or (model.architecture.heads, model.architecture.full) == (64, 64)


def test_a_model_may_be_asked_for_by_revision_and_cache(ask: Ask, node: Path):
    _snapshot(node / "other cache", 1, 1).rename(node / "moved")
    (node / "cache dir/hub").mkdir(parents=True)
    (node / "moved").rename(node / "cache dir/hub/models--openai--gpt-oss-120b")
    cache = str(node / "cache dir")
    assert facts(ask("--cache", cache, "--model", f"openai/gpt-oss-120b@{SNAPSHOT}")).model.complete
    assert not facts(ask("--cache", cache, "--model", "openai/gpt-oss-120b@0000")).model.present
    assert not facts(ask("--cache", cache, "--model", "openai/other")).model.present


def test_further_models_are_told_by_name_beside_the_first(ask: Ask, node: Path):
    draft = _snapshot(node / "a home", 3, 3).rename(node / "a home/.cache/huggingface/hub/models--acme--draft")
    _snapshot(node / "a home", 3, 3)
    (draft / "refs/main").unlink()
    _write(node / "drafter", {"config.json": "{}", "model.safetensors": "weights"})
    asked = ("openai/gpt-oss-120b", "acme/draft", "acme/other@v1", f"{node}/drafter")
    words = [word for name in asked for word in ("--model", name)]
    for shell in SHELLS:
        found = facts(ask("--only", "model,models", *words, shell=shell))
        assert found.model.complete
        told = {name: (one.revision, one.complete) for name, one in found.models.items()}
        assert told == {
            "acme/draft": (SNAPSHOT, True), "acme/other": (None, False), f"{node}/drafter": ("drafter", True),
        }  # fmt: skip
