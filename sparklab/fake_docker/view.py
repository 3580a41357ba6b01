"""One container as `docker inspect` shows it."""

from typing import Any

from sparklab.fake_docker.rootfs import on_host, split
from sparklab.fake_docker.store import NEVER, Container


def view(container: Container) -> dict[str, Any]:
    config, state, options = container.config, container.state(), container.config["options"]
    words = [*config["entrypoint"], *config["command"]]
    return {
        "Id": container.id,
        "Created": config["created"],
        "Path": words[0],
        "Args": words[1:],
        "State": _state(state),
        "Image": config["image_id"],
        "ResolvConfPath": f"/var/lib/docker/containers/{container.id}/resolv.conf",
        "HostnamePath": f"/var/lib/docker/containers/{container.id}/hostname",
        "HostsPath": f"/var/lib/docker/containers/{container.id}/hosts",
        "LogPath": f"/var/lib/docker/containers/{container.id}/{container.id}-json.log",
        "Name": f"/{container.name}",
        "RestartCount": state.get("restarts", 0),
        "Driver": "overlay2",
        "Platform": "linux",
        "MountLabel": "",
        "ProcessLabel": "",
        "AppArmorProfile": "docker-default",
        "ExecIDs": None,
        "HostConfig": _host(config, options),
        "GraphDriver": {"Data": None, "Name": "overlay2"},
        "Mounts": [_mount(container, volume) for volume in config["volumes"]],
        "Config": {
            "Hostname": container.node.hostname,
            "Domainname": "",
            "User": options.get("--user", ""),
            "AttachStdin": False,
            "AttachStdout": False,
            "AttachStderr": False,
            "Tty": bool(options.get("--tty")),
            "OpenStdin": bool(options.get("--interactive")),
            "StdinOnce": False,
            "Env": config["env"],
            "Cmd": config["command"] or None,
            "Image": config["image"],
            "Volumes": None,
            "WorkingDir": config["workdir"],
            "Entrypoint": config["entrypoint"] or None,
            "Labels": config["labels"],
            **({"StopTimeout": config["stop_timeout"]} if config["stop_timeout"] is not None else {}),
        },
        "NetworkSettings": {"Ports": {}, "Networks": {_network(options): {"IPAddress": "", "Gateway": ""}}},
    }


def _state(state: dict[str, Any]) -> dict[str, Any]:
    status = state["status"]
    return {
        "Status": status,
        "Running": status in ("running", "restarting"),
        "Paused": False,
        "Restarting": status == "restarting",
        "OOMKilled": False,
        "Dead": False,
        "Pid": state.get("pid", 0),
        "ExitCode": 0 if status == "running" else state.get("exit_code", 0),
        "Error": "",
        "StartedAt": state.get("started", NEVER),
        "FinishedAt": state.get("finished", NEVER),
    }


def _network(options: dict[str, Any]) -> str:
    return str(options.get("--network", options.get("--net", "bridge")))


def _ulimit(text: str) -> dict[str, Any]:
    name, _, limits = text.partition("=")
    soft, _, hard = limits.partition(":")
    return {"Name": name, "Hard": int(hard or soft), "Soft": int(soft)}


def _host(config: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    gpus = options.get("--gpus")
    requests = (
        [{"Driver": "", "Count": -1, "DeviceIDs": None, "Capabilities": [["gpu"]], "Options": {}}] if gpus else None
    )
    devices = [device.split(":") for device in options.get("--device", [])]
    return {
        "Binds": config["volumes"] or None,
        "ContainerIDFile": "",
        "LogConfig": {
            "Type": options.get("--log-driver", "json-file"),
            "Config": dict(entry.partition("=")[::2] for entry in options.get("--log-opt", [])),
        },
        "NetworkMode": _network(options),
        "PortBindings": {},
        "RestartPolicy": {"Name": config["restart"][0], "MaximumRetryCount": config["restart"][1]},
        "AutoRemove": bool(options.get("--rm")),
        "CapAdd": options.get("--cap-add"),
        "CapDrop": options.get("--cap-drop"),
        "IpcMode": options.get("--ipc", "private"),
        "Privileged": bool(options.get("--privileged")),
        "ReadonlyRootfs": bool(options.get("--read-only")),
        "ShmSize": 67108864,
        "Runtime": options.get("--runtime", "runc"),
        "Memory": 0,
        "Devices": [
            {"PathOnHost": d[0], "PathInContainer": (d[1:] or d)[0], "CgroupPermissions": "rwm"} for d in devices
        ],
        "DeviceCgroupRules": options.get("--device-cgroup-rule"),
        "DeviceRequests": requests,
        "Ulimits": [_ulimit(entry) for entry in options.get("--ulimit", [])],
    }


def _mount(container: Container, volume: str) -> dict[str, Any]:
    source, target = split(volume)
    mode = volume.split(":")[2] if volume.count(":") > 1 else ""
    path = source if source.startswith("/") else on_host(container, source)
    return {
        "Type": "bind",
        "Source": path,
        "Destination": target,
        "Mode": mode,
        "RW": "ro" not in mode,
        "Propagation": "rprivate",
    }
