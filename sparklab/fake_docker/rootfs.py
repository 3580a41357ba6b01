"""A container's filesystem: a directory with the mounts as symlinks and the node's /proc and /sys."""

import os

from sparklab.fake_docker.errors import DockerError, daemon_says
from sparklab.fake_docker.store import Container
from sparklab.layout import PATH

PLACES = ("root", "tmp", "run", "var/lib", "var/log", "etc", "dev/shm", "workspace", "app")
LINKS = ("proc", "sys", "dev/nvidia0", "dev/nvidiactl", "dev/nvidia-uvm")


def make(container: Container) -> None:
    base = container.path("rootfs")
    for place in PLACES:
        os.makedirs(os.path.join(base, place))
    for link in LINKS:
        if not link.startswith("dev/") or "gpus" in container.config["options"]:
            os.symlink(container.node.root(link), os.path.join(base, link))
    if container.config["options"].get("ipc") == "host":
        mount(container, "/dev/shm", "/dev/shm")
    for volume in container.config["volumes"]:
        source, target = split(volume)
        mount(container, source, target)
    for device in container.config["options"].get("device", []):
        source, _, target = device.partition(":")
        if not os.path.exists(container.node.root(source.lstrip("/"))):
            raise daemon_says(
                f'error gathering device information while adding custom device "{source}": no such file or directory'
            )
        mount(container, source, target.partition(":")[0] or source)
    if container.config["options"].get("privileged") and not os.path.lexists(os.path.join(base, "dev/infiniband")):
        mount(container, "/dev/infiniband", "/dev/infiniband")


def split(volume: str) -> tuple[str, str]:
    parts = volume.split(":")
    if len(parts) < 2 or not parts[1].startswith("/"):
        raise daemon_says(f"invalid volume specification: '{volume}'")
    return parts[0], parts[1]


def mount(container: Container, source: str, target: str) -> None:
    place = container.path("rootfs", target.lstrip("/"))
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if os.path.isdir(place) and not os.path.islink(place) and not os.listdir(place):
        os.rmdir(place)
    if os.path.lexists(place):
        raise daemon_says(f"Duplicate mount point: {target}")
    os.symlink(on_host(container, source), place)


def on_host(container: Container, source: str) -> str:
    """Return a node's path as a path of this machine; create a missing directory, as Docker does."""
    node = container.node
    if source.startswith(node.directory + os.sep):
        path = source
    elif source.startswith("/"):
        path = node.root(source.lstrip("/"))
    else:
        path = node.path("docker", "volumes", source)
    if not os.path.exists(path):
        os.makedirs(path, exist_ok=True)
    return path


def environment(container: Container) -> dict[str, str]:
    """Return the image's variables, then those of `run`; the emulated image's programs are first on the PATH."""
    node = container.node
    given = dict(entry.partition("=")[::2] for entry in container.config["env"])
    programs = os.path.join(node.lab_directory, "images", container.config["kind"], "bin")
    if "gpus" in container.config["options"]:
        given["SPARKLAB_GPUS"] = "1"
    return given | {
        "PATH": f"{programs}:{node.path('bin')}:{PATH}",
        "HOME": container.path("rootfs", "root"),
        "HOSTNAME": node.hostname,
        "SPARKOPS_ROOT": container.path("rootfs"),
        "SPARKLAB_LAB": node.lab,
        "SPARKLAB_NODE": node.directory,
        "SPARKLAB_CONTAINER": container.id,
        "SPARKLAB_KIND": container.config["kind"],
    }


ENTRYPOINTS = {"/opt/nvidia/nvidia_entrypoint.sh": [], "docker/prod_entrypoint.sh": ["litellm"]}
"""What the images' own entrypoints run: they only print a banner or call the program."""


def words(container: Container) -> list[str]:
    """Return the words that the container executes."""
    entry = [word for given in container.config["entrypoint"] for word in ENTRYPOINTS.get(given, [given])]
    return [*entry, *container.config["command"]]


def program(container: Container, name: str, path: str) -> str:
    """Return the path of an executable in the container's files, else on its PATH."""
    if "/" in name:
        inside = container.path("rootfs", name.lstrip("/"))
        return inside if os.path.exists(inside) else name
    candidates = (os.path.join(directory, name) for directory in path.split(":"))
    if found := next((one for one in candidates if os.access(one, os.X_OK)), ""):
        return found
    raise DockerError(
        "Error response from daemon: failed to create task for container: failed to create shim task: "
        "OCI runtime create failed: runc create failed: unable to start container process: error during container "
        f'init: exec: "{name}": executable file not found in $PATH',
        127,
    )
