# ruff: noqa: E501 - the lines of real logs are as long as they are
"""What the emulated Ray 2.60 prints."""

import time

GIB_PER_NODE = 106.42
STORE_GIB = 0.93
CPUS = 2
LINE = "-" * 63


def started_head(ip: str, port: int) -> str:
    bar = "-" * 20
    return (
        f"Usage stats collection is disabled.\n\nLocal node IP: {ip}\n\n{bar}\nRay runtime started.\n{bar}\n\nNext steps\n"
        f"  To add another node to this Ray cluster, run\n    ray start --address='{ip}:{port}'\n\n  To connect to this Ray cluster:\n"
        f"    import ray\n    ray.init(_node_ip_address='{ip}')\n\n  To terminate the Ray runtime, run\n    ray stop\n\n"
        "  To view the status of the cluster, use\n    ray status"
    )


def joining(ip: str) -> str:
    return f"Local node IP: {ip}"


def started_worker() -> str:
    bar = "-" * 20
    return f"\n{bar}\nRay runtime started.\n{bar}\n\nTo terminate the Ray runtime, run\n  ray stop\n\n--block\n  This command will now block forever until terminated by a signal."


def gpus(total: int, reserved: float) -> str:
    if not reserved:
        return f" 0.0/{total}.0 GPU"
    return f" {reserved}/{total}.0 GPU ({reserved} used of {reserved} reserved in placement groups)"


def status(identities: list[str], reserved: float, resources: dict[str, float]) -> str:
    count = len(identities)
    active = "\n".join(f" 1 node_{identity}" for identity in identities)
    own = "".join(f" 0.0/{amount:.1f} {name}\n" for name, amount in resources.items())
    moment = time.strftime("%Y-%m-%d %H:%M:%S") + f".{time.time_ns() // 1000 % 10**6:06d}"
    return (
        f"======== Autoscaler status: {moment} ========\nNode status\n{LINE}\nActive:\n{active}\nPending:\n (no pending nodes)\n"
        f"Recent failures:\n (no failures)\n\nResources\n{LINE}\nTotal Usage:\n 0.0/{count * CPUS}.0 CPU\n{gpus(count, reserved)}\n"
        f" 0B/{count * GIB_PER_NODE:.2f}GiB memory\n 0B/{count * STORE_GIB:.2f}GiB object_store_memory\n{own}\n"
        "From request_resources:\n (none)\nPending Demands:\n (no resource demands)"
    )
