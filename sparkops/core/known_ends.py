"""Known last lines of vLLM, Ray, NCCL, Docker and git on GB10: what each means, and what to do.

The table is in the order of trust: a precise cause comes before the general error that follows it in the log.
"""

from dataclasses import dataclass

from sparkops.core.enginelog import MET


@dataclass(frozen=True)
class KnownEnd:
    """With `during`, the line counts only if the log ends in one of these boot phases: a wait that ended is no cause.

    With `until`, it counts only if no later line matches that. The last line counts of both, else the first. With
    `elsewhere`, the line says that another node's process ended, so that node's log knows more.
    """

    pattern: str
    cause: str
    hint: str
    during: tuple[str, ...] = ()
    until: str = ""
    elsewhere: bool = False


SERVED = r"sparkops: the engine ended with exit code (\d+) after it had served"

KNOWN = {
    "node-rebooted": KnownEnd(
        r"sparkops: this node rebooted, and Docker started the container again",
        "the node rebooted during the load",
        "find out why (`last -x reboot`, `journalctl -b -1 -e` on the node), then deploy again",
    ),
    "node-silent": KnownEnd(
        r"sparkops: this node does not answer any more",
        "this node went away during the load: it is down, it reboots, or its network is down",
        "check that it is on; when it is back, find out why (`last -x reboot`, `journalctl -b -1 -e` on the node), "
        "then deploy again",
    ),
    "marlin-lm-head": KnownEnd(
        r"Invalid thread config: .*MKN = \[\d+, \d+, \d+\].*num_bits = 4",
        "Marlin cannot split lm_head (the output layer) over the nodes: each part's width must be a multiple of 128",
        "deploy without `--allow cluster-lm-head`, or remove `lm_head` from `mxfp4-layers` in the recipe",
    ),
    "unknown-flag": KnownEnd(
        r"vllm(?: serve)?: error: unrecognized arguments: (.*)",
        "the vLLM in this image does not know these arguments: {0}",
        "use the image that the recipe names, or remove the flag: `--set args.NAME=null`",
    ),
    "bad-flag-value": KnownEnd(
        r"vllm(?: serve)?: error: argument ([\w/, -]+): (.*)",
        "vLLM refuses the value of {0}: {1}",
        "correct the value in the recipe, or override it: `--set args.NAME=VALUE`",
    ),
    "memory-at-start": KnownEnd(
        r"Free memory on .*\(([\d.]+)/([\d.]+) GiB\) on startup is less than desired .*\(([\d.]+), ([\d.]+) GiB\)",
        "{0} of {1} GiB were free, but gpu-memory-utilization {2} requests {3} GiB: "
        "the page cache or another container uses the rest",
        "stop other containers that use the GPU (`docker ps` lists them), then deploy again; if that fails too, "
        "set a lower value: `--set args.gpu-memory-utilization=VALUE`",
    ),
    "no-cache-memory": KnownEnd(
        r"No available memory for the cache blocks|Available KV cache memory: -",
        "the weights leave no room for the KV cache",
        "raise `gpu-memory-utilization` a little, or use `--topology cluster`",
    ),
    "context-too-long": KnownEnd(
        r"To serve at least one request with the models?'s max seq len \((\d+)\)",
        "one request of {0} tokens does not fit into the KV cache",
        "set a shorter context: `--set args.max-model-len=TOKENS`; or use `--topology cluster`",
    ),
    "context-beyond-model": KnownEnd(
        r"User-specified max_model_len \((\d+)\) is greater than the derived max_model_len \(\w+=([\d.]+)",
        "max-model-len {0} is above the {1} tokens that the model has",
        "set a context that the model has: `--set args.max-model-len=TOKENS`",
    ),
    "ray-memory": KnownEnd(
        r"ray\.exceptions\.OutOfMemoryError|workers? \(?.*were killed due to the node running low on memory",
        "Ray killed a worker because the node ran low on memory",
        "lower `gpu-memory-utilization`: Ray counts all used memory of the node, and the page cache is part of it",
    ),
    "out-of-memory": KnownEnd(
        r"OutOfMemoryError|CUDA out of memory|NV_ERR_NO_MEMORY|CUDA error: out of memory",
        "the unified memory is used up",
        "lower `gpu-memory-utilization` or `max-model-len`, or use `--topology cluster`",
    ),
    "semaphores-removed": KnownEnd(
        r"SemLock\._rebuild",
        "logind removed the worker's semaphores when an SSH session closed (RemoveIPC=yes without linger)",
        "run on every node: `sudo loginctl enable-linger $USER`",
    ),
    "graph-capture": KnownEnd(
        r"(?i)cuda ?graph.*(?:captur\w* (?:failed|error)|error)|operation not permitted when stream is capturing|"
        r"cudaErrorStreamCapture\w+",
        "vLLM could not capture CUDA graphs: this image cannot capture collective operations over two nodes",
        "switch CUDA graphs off: `--set args.enforce-eager=true`",
    ),
    "collective-timeout": KnownEnd(
        r"Watchdog caught collective operation timeout",
        "the nodes lost contact: a collective operation timed out (the link is down, or another node died)",
        "check the CX7 link on every node (`sparkops preflight`), then deploy again",
    ),
    "nccl": KnownEnd(
        r"(?i)NCCL error|ncclSystemError|ncclRemoteError|ncclUnhandledCudaError|ibv_modify_qp failed",
        "NCCL could not use the link between the nodes",
        "check the cable, link and addresses of the CX7 ports on every node (`sparkops preflight`)",
    ),
    "rank-0-died": KnownEnd(
        r"RayWorkerProc rank=\[0[\d, ]*\] died unexpectedly",
        "the vLLM process of rank 0, on this node, died",
        "the lines above this one in the log say why: `sparkops logs --previous`; `journalctl -k` on the node shows "
        "whether the kernel killed it",
    ),
    "peer-died": KnownEnd(
        r"RayWorkerProc rank=\[([\d, ]+)\] died unexpectedly",
        "the vLLM process of rank {0}, on another node, died, or that node is down",
        "read the other node's log (`sparkops logs --previous`), then run `journalctl -k` on that node",
        elsewhere=True,
    ),
    "raylet-died": KnownEnd(
        r"Raylet is terminated\. Termination is unexpected",
        "a vLLM process (rank) on another node died, or the other node is down",
        "read the other node's log (`sparkops logs --previous`), then run `journalctl -k` on that node",
        elsewhere=True,
    ),
    "peer-gone": KnownEnd(
        r"gloo.*Connection (?:reset|closed) by peer|Connection (?:reset|closed) by peer.*remote worker",
        "a vLLM process (rank) on another node closed the connection: it died, or the other node is down",
        "read the other node's log: `sparkops logs --previous`",
        elsewhere=True,
    ),
    "worker-killed": KnownEnd(
        r"Worker proc \S+ died unexpectedly \(exit code: -9\)",
        "a worker process was killed (SIGKILL), usually by the kernel because memory ran out",
        "lower `gpu-memory-utilization`; `journalctl -k` on the node shows whether the kernel's OOM killer acted",
    ),
    "worker-died": KnownEnd(
        r"Worker proc \S+ died unexpectedly \(exit code: (-?\d+)\)",
        "a worker process died (exit code {0})",
        "the lines above this one in the log say why: `sparkops logs --previous`",
    ),
    "too-few-gpus": KnownEnd(
        r"Cannot provide a placement group requiring (\d+) GPUs",
        "Ray never had all {0} GPUs, because a node did not join",
        "read the log of the node that did not join (`sparkops logs --previous`); it must join with its CX7 address",
    ),
    "model-missing": KnownEnd(
        r"LocalEntryNotFoundError|OfflineModeIsEnabled|does not appear to have a file named|"
        r"Can't load the configuration of ",
        "files of the model are missing on the node",
        "`sparkops model list` shows which model lacks files where; get it with `model fetch MODEL`, then deploy again",
    ),
    "vocabulary-missing": KnownEnd(
        r"error downloading or loading vocab file",
        "the engine has no local copy of gpt-oss's tiktoken vocabulary and could not download it",
        "deploy without `--allow env-per-image`, and keep the mount `tiktoken_rs` in the recipe",
    ),
    "port-taken-named": KnownEnd(
        r"(?i)bind.*\W(\d+)\W+address already in use",
        "another program uses port {0}, which the container needs",
        "find the program on the node: `sudo ss -ltnp 'sport = :{0}'`; stop it, or deploy with another --port",
    ),
    "port-taken": KnownEnd(
        r"(?i)^(?!sparkops: cannot listen ).*address already in use",
        "another program uses a port that the engine needs",
        "find the program with `sudo ss -ltnp` on the node; stop it, or deploy with another --port",
    ),
    "unsupported-kernel": KnownEnd(
        r"kernel does not support current device|no kernel image is available for execution",
        "this image has no kernel for the GB10 (sm_121)",
        "use the image that the recipe names",
    ),
    "stuck-collective": KnownEnd(
        r"No available shared memory broadcast block found in \d+ seconds",
        "the vLLM processes (ranks) wait for each other: a node died, or the nodes have different NCCL versions",
        "run `sparkops stop`, then deploy again; all nodes must have equal images and drivers",
    ),
    "rpc-timeout": KnownEnd(
        r"TimeoutError: RPC call to (\w+) timed out",
        "vLLM's internal call {0} timed out: the node is short of memory, or another node hangs",
        "run `sparkops stop`, then deploy again; if that fails too, lower `gpu-memory-utilization`",
    ),
    "ray-not-joined": KnownEnd(
        r"sparkops: (?:joining|waiting for) the Ray head at (\S+)",
        "this node has not joined the Ray head at {0}",
        "check that the CX7 link is up on both nodes (`sparkops preflight`) and that no firewall is between them",
        during=("ray",),
    ),
    "ray-incomplete": KnownEnd(
        r"sparkops: Ray has (\d+) of (\d+) nodes",
        "only {0} of {1} nodes joined Ray",
        "read the logs of the nodes that did not join (`sparkops logs --previous`), and check that the CX7 link is up "
        "on all nodes (`sparkops preflight`)",
        during=("ray",),
    ),
    "rank-not-listening": KnownEnd(
        r"sparkops: cannot listen at (\S+:(\d+)): (.+)",
        "rank 0 cannot listen at {0}, where the other ranks must reach it: {2}",
        "find the program on the node: `sudo ss -ltnp 'sport = :{1}'`, and stop it",
        until=rf"sparkops: \d+ of \d+ ranks are here|{MET}",
    ),
    "ranks-missing": KnownEnd(
        r"sparkops: (\d+) of (\d+) ranks are here; waiting for (.+)",
        "only {0} of {1} ranks are here, missing: {2}",
        "read the logs of the nodes with these fabric addresses (`sparkops logs`), and check that the CX7 link is up "
        "on all nodes (`sparkops preflight`)",
        until=MET,
    ),
    "rank-not-met": KnownEnd(
        r"sparkops: waiting for (rank \d+ at \S+)",
        "this node has not reached {0}",
        "check that the CX7 link is up on both nodes (`sparkops preflight`) and that no firewall is between them",
        until=rf"sparkops: rank \d+ at \S+ waits for other ranks|{MET}",
    ),
    "rank-gone": KnownEnd(
        r"sparkops: (rank \d+ at \S+) is gone",
        "{0} ended, or the link to it was lost, so this rank ended too",
        "read the log of the node with this fabric address: `sparkops logs`",
        until=MET,
        elsewhere=True,
    ),
    "no-fabric-address": KnownEnd(
        r"sparkops: waiting for the fabric address (\S+)",
        "the fabric address {0} never appeared on this node",
        "check with `ip -br addr` on the node whether the CX7 port is down or has lost its address",
        during=("ray",),
    ),
    "waiting-for-turn": KnownEnd(
        r"sparkops: waiting for another engine of this node to load \((\d+) s so far\)",
        "another engine of this node has loaded for {0} s; engines of one node load one after the other",
        "see which one it is: `sparkops status`, and read its log: `sparkops logs`",
        during=("turn",),
    ),
    "waiting-for-nodes": KnownEnd(
        r"Waiting for creating a placement group of specs for (\d+) seconds",
        "the engine waited {0} s for a node with a GPU to join Ray, but none joined",
        "read the log of the node that did not join (`sparkops logs --previous`); it must join with its CX7 address",
        during=("nodes",),
    ),
    "disk-full": KnownEnd(
        r"(?i)no space left on device",
        "the disk of this node is full",
        "free space: `sparkops image prune`, `sparkops model prune`",
    ),
    "docker-load-hangs": KnownEnd(
        r"sparkops: docker load takes no more data|sparkops: (?:Docker|the engine) does not answer any more",
        "Docker on this node hung while it loaded the image; the partial image was removed",
        "on the node: `sudo systemctl restart docker` (stops containers without a restart policy), then try again",
    ),
    "sudo-refused": KnownEnd(
        r"^sudo: .*incorrect password attempt",
        "sudo refused the password",
        "type the password of the login user on this node, or set it in $SPARKOPS_BECOME_PASSWORD",
    ),
    "sudo-password": KnownEnd(
        r"sudo: a password is required|sudo: a terminal is required",
        "sudo asks for a password",
        "add --ask-become-pass; it takes $SPARKOPS_BECOME_PASSWORD if that is set",
    ),
    "registry-login": KnownEnd(
        r"(?i)unauthorized: |pull access denied for|denied: requested access|403 Forbidden",
        "the registry requires a login for this image, or the image does not exist",
        "check the image's name, or log in: `sparkops image pull NAME --user USER` reads the password from stdin",
    ),
    "host-unknown": KnownEnd(
        r"Could not resolve host: (\S+)|lookup (\S+): (?:Temporary failure in name resolution|no such host)",
        "the node cannot resolve the host name {0}{1}",
        "check the node's DNS; `sparkops image import` and `sparkops image distribute` need no internet on the node",
    ),
    "git-missing": KnownEnd(
        r"sparkops: git is not installed",
        "the files for the build come from a git repository, but the node has no git",
        "on the node: `sudo apt install git`",
    ),
}
