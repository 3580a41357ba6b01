"""dockerd at boot: containers that ran come back where their policy says so."""

from sparklab.fake_docker.start import start
from sparklab.fake_docker.store import containers
from sparklab.layout import here


def main(name: str, words: list[str]) -> int:
    for container in reversed(containers(here())):
        state, policy = container.state(), container.config["restart"][0]
        if state["status"] in ("created", "running", "restarting"):  # began after the boot
            continue
        container.save(status="exited", pid=0, exit_code=state.get("exit_code", 137))
        if policy == "always" or (policy == "unless-stopped" and not container.stopped_by_hand):
            start(container)
    return 0
