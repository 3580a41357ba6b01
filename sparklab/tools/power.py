"""reboot, `shutdown -r` and `systemd-run --on-active`: the node goes down and comes back, with all that ran on it gone."""

import os

from sparklab import files
from sparklab.layout import here
from sparklab.tools.say import err, fail

REFUSED = "Interactive authentication required."


def main(name: str, words: list[str]) -> int:
    if name == "systemd-run":
        return later(words)
    if name == "shutdown" and not {"-r", "--reboot"} & set(words):
        return fail("shutdown: a lab's node can only be rebooted (-r)")
    return reboot()


def reboot() -> int:
    """Ask the lab's daemon; it ends the caller like everything else on the node."""
    if os.environ.get("SPARKLAB_SUDO") != "1":
        return fail(f"Call to Reboot failed: {REFUSED}")
    from sparklab.daemon.control import ask

    node = here()
    control = os.path.join(files.read_json(os.path.join(node.lab_directory, "lab.json"))["short"], "control")
    ask(control, {"do": "fault", "node": node.name, "kind": "reboot", "off": False})
    return 0


def later(words: list[str]) -> int:
    """A command after `--on-active=SECONDS`, outside of the session that asked for it."""
    if os.environ.get("SPARKLAB_SUDO") != "1":
        return fail(f"Failed to start transient timer unit: {REFUSED}")
    command = next((words[place:] for place, word in enumerate(words) if not word.startswith("-")), [])
    seconds = next((word.partition("=")[2] for word in words if word.startswith("--on-active=")), "0")
    if not command:
        return fail("Command line to execute required.")
    line = ["sh", "-c", 'sleep "$0"; exec "$@"', seconds, *command]
    import subprocess

    null = subprocess.DEVNULL
    subprocess.Popen(line, stdin=null, stdout=null, stderr=null, start_new_session=True)
    err("Running timer as unit: run-r1.timer\nWill run service as unit: run-r1.service")
    return 0
