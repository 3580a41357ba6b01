"""What a fault does on the node itself; run as root inside it."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

FULL = Path("/home/.full")
USER = "spark"
OWN = Path("/lab/host_keys/ssh_host_ed25519_key")
KEY = Path("/etc/ssh/ssh_host_ed25519_key")
SUDOERS = Path("/etc/sudoers.d/lab")


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def processes(name):
    """Those whose title starts with, or whose program is, NAME."""
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if folder.name.isdigit() and (words[0].startswith(name) or os.path.basename(words[0]) == name):
            yield int(folder.name)


def send(number, name):
    found = list(processes(name))
    for pid in found:
        try:
            os.kill(pid, getattr(signal, f"SIG{number}"))
        except ProcessLookupError:
            continue
    if not found and number != "CONT":
        sys.exit(f"no process called {name} runs here")


def rules(verb, interfaces):
    for interface in interfaces:
        for chain, side in (("INPUT", "-i"), ("OUTPUT", "-o")):
            run("iptables", verb, chain, side, interface, "-j", "DROP")


def fill():
    """Every block, without writing it, then every byte that a smaller write could still take."""
    with FULL.open("ab", buffering=0) as file:
        for size in (1 << 30, 1 << 20):
            with contextlib.suppress(OSError):
                while True:
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size)
        for size in (1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))


def reload_sshd():
    run("kill", "-HUP", Path("/run/sshd.pid").read_text().strip())


def hostkey(which):
    if which == "own":
        for suffix in ("", ".pub"):
            shutil.copy(f"{OWN}{suffix}", f"{KEY}{suffix}")
    else:
        KEY.unlink(missing_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(KEY))
    KEY.chmod(0o600)
    reload_sshd()


def sudo(which):
    """With or without a password, for every user that has a rule."""
    users = [line.split()[0] for line in SUDOERS.read_text().splitlines()]
    tag = "" if which == "password" else "NOPASSWD: "
    SUDOERS.write_text("".join(f"{user} ALL=(ALL) {tag}ALL\n" for user in users))


def main(verb, *words):
    if verb == "signal":
        send(*words)
    elif verb in ("drop", "pass"):
        rules("-I" if verb == "drop" else "-D", words)
    elif verb == "fill":
        fill()
    elif verb == "empty":
        FULL.unlink(missing_ok=True)
    elif verb == "group":
        run("gpasswd", "-d" if words[0] == "without" else "-a", USER, "docker")
    elif verb == "sudo":
        sudo(*words)
    elif verb == "hostkey":
        hostkey(*words)


main(*sys.argv[1:])
