"""A container as `docker inspect` shows it."""

import json
from typing import Any

from sparklab.fake_docker.rootfs import on_host, split
from sparklab.fake_docker.store import Container
from sparklab.layout import captured

GPUS = {"Driver": "", "Count": -1, "DeviceIDs": None, "Capabilities": [["gpu"]], "Options": {}}


def view(container: Container) -> dict[str, Any]:
    config, state, options = container.config, container.state(), container.config["options"]
    shown: dict[str, Any] = json.loads(captured("docker-inspect.json"))
    words = [*config["entrypoint"], *config["command"]]
    own = f"/var/lib/docker/containers/{container.id}"
    network = options.get("network", options.get("net", "bridge"))
    shown["HostConfig"] |= _host(config, options) | {"NetworkMode": network}
    shown["Config"] |= {
        "Hostname": container.node.hostname,
        "User": options.get("user", ""),
        "Tty": "tty" in options,
        "OpenStdin": "interactive" in options,
        "Env": config["env"],
        "Cmd": config["command"] or None,
        "Image": config["image"],
        "WorkingDir": config["workdir"],
        "Entrypoint": config["entrypoint"] or None,
        "Labels": config["labels"],
        **({"StopTimeout": config["stop_timeout"]} if config["stop_timeout"] is not None else {}),
    }
    return shown | {
        "Id": container.id,
        "Created": config["created"],
        "Path": words[0],
        "Args": words[1:],
        "State": shown["State"] | _state(state),
        "Image": config["image_id"],
        "ResolvConfPath": f"{own}/resolv.conf",
        "HostnamePath": f"{own}/hostname",
        "HostsPath": f"{own}/hosts",
        "LogPath": f"{own}/{container.id}-json.log",
        "Name": f"/{container.name}",
        "RestartCount": state.get("restarts", 0),
        "Mounts": [_mount(container, volume) for volume in config["volumes"]],
        "NetworkSettings": {"Ports": {}, "Networks": {network: {"IPAddress": "", "Gateway": ""}}},
    }


def _state(state: dict[str, Any]) -> dict[str, Any]:
    status = state["status"]
    times = {"StartedAt": state.get("started"), "FinishedAt": state.get("finished")}
    return {
        "Status": status,
        "Running": status in ("running", "restarting"),
        "Restarting": status == "restarting",
        "Pid": state.get("pid", 0),
        "ExitCode": 0 if status == "running" else state.get("exit_code", 0),
        **{name: moment for name, moment in times.items() if moment},
    }


def _host(config: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    devices = [device.split(":") for device in options.get("device", [])]
    return {
        "Binds": config["volumes"] or None,
        "LogConfig": {
            "Type": options.get("log-driver", "json-file"),
            "Config": dict(entry.partition("=")[::2] for entry in options.get("log-opt", [])),
        },
        "RestartPolicy": {"Name": config["restart"][0], "MaximumRetryCount": config["restart"][1]},
        "AutoRemove": "rm" in options,
        "CapAdd": options.get("cap-add"),
        "CapDrop": options.get("cap-drop"),
        "IpcMode": options.get("ipc", "private"),
        "Privileged": "privileged" in options,
        "ReadonlyRootfs": "read-only" in options,
        "Runtime": options.get("runtime", "runc"),
        "Devices": [
            {"PathOnHost": d[0], "PathInContainer": (d[1:] or d)[0], "CgroupPermissions": "rwm"} for d in devices
        ],
        "DeviceCgroupRules": options.get("device-cgroup-rule"),
        "DeviceRequests": [GPUS] if "gpus" in options else None,
        "Ulimits": [_ulimit(entry) for entry in options.get("ulimit", [])],
    }


def _ulimit(text: str) -> dict[str, Any]:
    name, _, limits = text.partition("=")
    soft, _, hard = limits.partition(":")
    return {"Name": name, "Hard": int(hard or soft), "Soft": int(soft)}


def _mount(container: Container, volume: str) -> dict[str, Any]:
    source, target = split(volume)
    mode = "".join(volume.split(":")[2:3])
    return {
        "Type": "bind",
        "Source": source if source.startswith("/") else on_host(container, source),
        "Destination": target,
        "Mode": mode,
        "RW": "ro" not in mode,
        "Propagation": "rprivate",
    }
