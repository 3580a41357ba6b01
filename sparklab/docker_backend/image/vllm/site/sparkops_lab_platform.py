"""vLLM platform plugin: CPU workers that may sit on several hosts and that Ray counts as GPUs.

Upstream's CPU platform has no Ray resource, and its communicator takes for granted that all ranks share one
/dev/shm. Its processes start anew where the other platforms fork, and each start imports for ten seconds; one rank is
a process beside the engine core, where others have both in one, and each spins while it waits for the other. Its
eager engine never makes the tensors into which a later pipeline stage receives. The classes are made on first use,
since this module is imported before vLLM is ready for them.
"""

import os
from functools import cache


def register():
    return f"{__name__}.Platform"


@cache
def _platform():
    from vllm.platforms.cpu import CpuPlatform  # noqa: PLC0415

    def communicator(_cls):
        return f"{__name__}.Communicator"

    def like_others(cls, config):
        super(cls, cls).check_and_update_config(config)
        os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "fork"
        config.parallel_config.worker_cls = f"{__name__}.Worker"
        if config.parallel_config.world_size == 1:
            config.parallel_config.distributed_executor_backend = "uni"

    parts = {
        "ray_device_key": "GPU",
        "get_device_communicator_cls": classmethod(communicator),
        "check_and_update_config": classmethod(like_others),
        "__module__": __name__,
    }
    return type("Platform", (CpuPlatform,), parts)


@cache
def _communicator():
    from vllm.distributed.device_communicators.cpu_communicator import CpuCommunicator  # noqa: PLC0415

    def apart(_self):
        return False

    parts = {"_all_group_ranks_share_shm_group_name": apart, "__module__": __name__}
    return type("Communicator", (CpuCommunicator,), parts)


@cache
def _worker():
    from vllm.distributed import get_pp_group  # noqa: PLC0415
    from vllm.v1.worker.cpu_worker import CPUWorker  # noqa: PLC0415

    def with_tensors(self):
        runner = self.model_runner
        if not get_pp_group().is_first_rank:
            runner.intermediate_tensors = runner.model.make_empty_intermediate_tensors(
                batch_size=runner.max_num_tokens, dtype=runner.model_config.dtype, device=runner.device
            )
        return CPUWorker.compile_or_warm_up_model(self)

    return type("Worker", (CPUWorker,), {"compile_or_warm_up_model": with_tensors, "__module__": __name__})


def __getattr__(name):
    made = {"Platform": _platform, "Communicator": _communicator, "Worker": _worker}.get(name)
    if made is None:
        raise AttributeError(name)
    return made()
