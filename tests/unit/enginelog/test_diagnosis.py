"""The cause that a crashed engine's lines point to."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkops.core.diagnosis import KNOWN, best, diagnose

FIXTURES = Path(__file__).parent / "fixtures"

LINES = {
    "disk-full": "Error processing tar file(exit status 1): write /usr/lib/big: no space left on device",
    "docker-load-hangs": "sparkops: docker load takes no more data (120 s)",
    "sudo-password": "sudo: a password is required",
    "registry-login": "Error response from daemon: unauthorized: authentication required",
    "host-unknown": "fatal: unable to access 'https://github.com/x/y/': Could not resolve host: github.com",
    "git-missing": "sparkops: git is not installed here",
    "marlin-lm-head": "RuntimeError: Invalid thread config: thread_m_blocks = 1, thread_k = -1, thread_n = -1, "
    "num_threads = -1 for MKN = [256, 2880, 100544] and num_bits = 4, prob_m_split = 1, group_size = 32",
    "unknown-flag": "vllm: error: unrecognized arguments: --mxfp4-backend CUTLASS --mxfp4-layers moe,qkv",
    "bad-flag-value": "vllm serve: error: argument --kv-cache-dtype: invalid choice: 'fp9' (choose from 'auto')",
    "memory-at-start": "ValueError: Free memory on device cuda:0 (98.89/121.69 GiB) on startup is less than desired "
    "GPU memory utilization (0.84, 102.22 GiB). Decrease GPU memory utilization or reduce GPU memory used by others.",
    "no-cache-memory": "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
    "context-too-long": "ValueError: To serve at least one request with the models's max seq len (131072), (9.0 GiB KV "
    "cache is needed, which is larger than the available KV cache memory (4.1 GiB)",
    "ray-memory": "ray.exceptions.OutOfMemoryError: 1 worker(s) were killed due to the node running low on memory.",
    "out-of-memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "semaphores-removed": '  File "multiprocessing/synchronize.py", line 115, in SemLock._rebuild',
    "graph-capture": "RuntimeError: CUDA error: operation not permitted when stream is capturing",
    "collective-timeout": "[rank1]:[Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=31, OpType=ALLREDUCE)",
    "nccl": "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:77, remote process exited",
    "peer-died": "RayWorkerProc rank=[1] died unexpectedly, shutting down executor.",
    "peer-gone": "RuntimeError: [gloo/transport/tcp/pair.cc:537] Read error [10.0.0.2]:17: Connection reset by peer.",
    "worker-killed": "Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor.",
    "worker-died": "Worker proc VllmWorker-0 died unexpectedly (exit code: 1), shutting down executor.",
    "too-few-gpus": "ValueError: Cannot provide a placement group requiring 2 GPUs within "
    "1800 seconds. Tensor parallel size may exceed available GPUs in your cluster.",
    "model-missing": "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot",
    "vocabulary-missing": "openai_harmony.HarmonyError: error downloading or loading vocab file: failed to download",
    "port-taken": "OSError: [Errno 98] Address already in use",
    "unsupported-kernel": "RuntimeError: kernel does not support current device cuda",
    "stuck-collective": "No available shared memory broadcast block found in 60 seconds.",
    "rpc-timeout": "TimeoutError: RPC call to sample_tokens timed out.",
    "ray-incomplete": "sparkops: Ray has 1 of 2 nodes; waiting for the others",
    "ray-not-joined": "sparkops: joining the Ray head at 10.0.0.1:6379",
    "no-fabric-address": "sparkops: waiting for the fabric address 10.0.0.1 to appear",
    "waiting-for-nodes": "Waiting for creating a placement group of specs for 30 seconds. specs=[{'GPU': 1.0}]",
}


def log(name: str) -> list[str]:
    return (FIXTURES / f"{name}.log").read_text(encoding="utf-8").splitlines()


def test_every_known_line_has_its_example_here() -> None:
    assert [known.id for known in KNOWN if known.id not in LINES] == []


@pytest.mark.parametrize("name", LINES)
def test_a_known_line_is_read_as_what_it_is(name: str) -> None:
    found = diagnose(["INFO something before", LINES[name], "INFO something after"])
    assert found is not None
    assert found.id == name
    assert found.line == LINES[name].strip()
    assert "{" not in found.cause


def test_the_numbers_of_the_line_stand_in_the_cause() -> None:
    found = diagnose([LINES["memory-at-start"]])
    assert found is not None
    assert found.cause.startswith("98.89 of 121.69 GiB were free, and gpu-memory-utilization 0.84 asks for 102.22 GiB")


def test_a_precise_cause_wins_over_the_general_complaint() -> None:
    general = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
    found = diagnose([LINES["marlin-lm-head"], general])
    assert found is not None
    assert found.id == "marlin-lm-head"


def test_a_general_complaint_points_to_the_first_error_above_it() -> None:
    found = diagnose(
        [
            "(EngineCore pid=7) INFO 11-20 11:00:00 [core.py:1] all is well",
            "(EngineCore pid=7) ERROR 11-20 11:00:01 [core.py:2] EngineCore failed to start.",
            "(EngineCore pid=7) ERROR 11-20 11:00:01 [core.py:2] Traceback (most recent call last):",
            "(EngineCore pid=7) ERROR 11-20 11:00:01 [core.py:2] KeyError: 'layers.3.weird'",
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        ]
    )
    assert found is not None
    assert (found.id, found.cause) == ("first-error", "KeyError: 'layers.3.weird'")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("ray-node-killed", "peer-died"), ("worker-killed", "worker-killed"), ("mp-peer-closed", "peer-gone")],
)
def test_a_real_crash_is_known(name: str, expected: str) -> None:
    found = diagnose(log(name))
    assert found is not None
    assert found.id == expected


def test_a_wait_that_ended_explains_nothing() -> None:
    assert diagnose(log("ray-waiting")) is None


def test_nodes_that_came_late_are_no_cause() -> None:
    assert diagnose([LINES["ray-incomplete"], "sparkops: Ray has all 2 nodes"]) is None
    assert (
        diagnose([LINES["ray-not-joined"], "2026-11-20 15:14:09,044 SUCC scripts.py:1085 -- Ray runtime started."])
        is None
    )


def test_a_good_boot_has_no_diagnosis() -> None:
    assert diagnose(log("solo-boot")) is None


def test_a_cause_is_trusted_before_an_error_and_that_before_what_only_waited() -> None:
    logs = [LINES["ray-not-joined"]], ["ERROR ValueError: no", "Engine core initialization failed."], [LINES["nccl"]]
    waited, first, cause = (found for log in logs if (found := diagnose(log)) is not None)
    assert best([waited, first, cause]) == best([cause, waited]) == cause
    assert best([waited, first]) == first
    assert best([]) is None
