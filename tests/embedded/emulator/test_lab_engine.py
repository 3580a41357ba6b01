"""Engines of the emulator in their containers, alone and as two ranks; where they fail is in tests/unit/emulator."""

import json

from support import serving
from support.serving import GPT, MXFP4, SMALL, STOCK

BODY = {"prompt": "x", "max_tokens": 1}


def test_an_engine_serves_until_it_is_stopped_and_gives_the_memory_back(node, eventually):
    def available():
        return int(node.run('awk \'$1 == "MemAvailable:" {print $2}\' "$SPARKOPS_ROOT/proc/meminfo"').out)

    serving.serve(node, MXFP4, GPT, *SMALL[:4], *serving.MXFP4_FLAGS, "--api-key", "sk-1")
    eventually(lambda: serving.healthy(node.address))
    assert serving.ask(node.address, "/v1/models")[0] == 401
    status, text = serving.chat(node.address, key="sk-1")
    assert (status, json.loads(text)["usage"]["completion_tokens"]) == (200, 4)
    eventually(lambda: "Application startup complete." in serving.log(node))
    log = serving.log(node)
    steps = ("Starting to load model", "Graph capturing finished", "Starting vLLM server on", "Application startup")
    assert sorted(steps, key=log.index) == [*steps]
    assert "sk-1" not in log
    busy = available()
    assert node.docker("stop", "e").code == 0
    assert serving.ended(node) == 0
    assert available() > busy + 60_000_000


def cluster(lab, executor):
    """Two ranks, by Ray on the mxfp4 image or by itself on the stock one; both clients, the head first."""
    head, worker = lab.connect(1), lab.connect(2)
    fabric = [client.run("hostname -I").out.split()[1] for client in (head, worker)]
    image, flags = (STOCK, ()) if executor == "mp" else (MXFP4, (*serving.MXFP4_FLAGS, "--enforce-eager"))
    wide = ("--tensor-parallel-size", "2", "--distributed-executor-backend", executor, *flags)
    words = ["vllm", "serve", GPT, "--host", "0.0.0.0", *SMALL[:4], *wide]
    environment = [{**serving.TIKTOKEN, "VLLM_HOST_IP": ip} for ip in fabric]
    if executor == "mp":
        many = ["--nnodes", "2", "--master-addr", fabric[0], "--master-port", "29501", "--node-rank"]
        serving.run(worker, "e", image, [*words, *many, "1", "--headless"], environment[1])
        serving.run(head, "e", image, [*words, *many, "0"], environment[0])
        return head, worker
    join = ["ray", "start", f"--address={fabric[0]}:6379", f"--node-ip-address={fabric[1]}", "--num-gpus=1", "--block"]
    begin = f'ray start --head --node-ip-address={fabric[0]} --port=6379 --num-gpus=1 && exec "$@"'
    environment[0]["RAY_ADDRESS"] = f"{fabric[0]}:6379"
    serving.run(worker, "e", image, join, environment[1])
    serving.run(head, "e", image, ["sh", "-c", begin, "sh", *words], environment[0])
    return head, worker


def test_two_ranks_over_ray_wait_for_each_other_serve_together_and_end_together(lab, eventually):
    lab.fault(2, "worker-never-joins")
    head, worker = cluster(lab, "ray")
    eventually(lambda: "Waiting for creating a placement group of specs for 10 seconds" in serving.log(head))
    assert head.docker("exec", "e", "ray", "status").out.count("\n 1 node_") == 1
    assert not serving.healthy(head.address)
    lab.fault(2, "worker-never-joins", off=True)
    eventually(lambda: serving.healthy(head.address))
    assert serving.chat(head.address)[0] == 200
    eventually(lambda: "rank 1 in world size 2 is assigned" in serving.log(head) + serving.log(worker))
    reserved = " 2.0/2.0 GPU (2.0 used of 2.0 reserved in placement groups)"
    eventually(lambda: reserved in head.docker("exec", "e", "ray", "status").out)
    assert head.docker("exec", "e", "ray", "status").out.count("\n 1 node_") == 2
    worker.docker("kill", "e")
    eventually(lambda: serving.ended(head) is not None)
    assert serving.ended(head) == 1
    assert "RayWorkerProc rank=[1] died unexpectedly" in serving.log(head)


def test_two_ranks_hang_behind_a_green_health_while_the_link_is_down_and_end_together(lab, eventually):
    head, worker = cluster(lab, "mp")
    eventually(lambda: serving.healthy(head.address))
    assert serving.chat(head.address)[0] == 200
    lab.fault(2, "cx7-down")
    assert serving.healthy(head.address)
    assert serving.ask(head.address, "/v1/completions", BODY, timeout=0.5)[0] == 0
    lab.fault(2, "cx7-down", off=True)
    eventually(lambda: serving.ask(head.address, "/v1/completions", BODY)[0] == 200)
    worker.docker("kill", "e")
    assert serving.healthy(head.address), "nobody asked it"
    assert serving.ask(head.address, "/v1/completions", BODY)[0] == 0
    eventually(lambda: serving.ended(head) is not None)
    assert serving.ended(head) == 1
    assert "Connection reset by peer" in serving.log(head)
