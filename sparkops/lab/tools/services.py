"""crontab, systemctl, loginctl, timedatectl, ufw, iptables."""

from __future__ import annotations

import os
import sys
import time

from sparkops.lab import files
from sparkops.lab.layout import USER, here
from sparkops.lab.tools.say import fail, out

ACTIVE = frozenset(
    {"docker", "ssh", "sshd", "cron", "containerd", "systemd-timesyncd", "nvidia-persistenced", "avahi-daemon"}
)


def main(name: str, words: list[str]) -> int:
    return PROGRAMS[name](words)


def crontab(words: list[str]) -> int:
    table = here().path("crontab")
    if "-l" in words:
        if not os.path.exists(table):
            return fail(f"no crontab for {USER}")
        sys.stdout.write(files.read(table))
    elif "-r" in words:
        if not os.path.exists(table):
            return fail(f"no crontab for {USER}")
        os.unlink(table)
    else:
        source = next((word for word in words if word == "-" or not word.startswith("-")), "-")
        text = sys.stdin.read() if source == "-" else files.read(source)
        if text and not text.endswith("\n"):
            return fail("new crontab file is missing newline before EOF, can't install.", 1)
        files.write(table, text, 0o600)
    return 0


def systemctl(words: list[str]) -> int:
    verbs = [word for word in words if not word.startswith("-")]
    verb, units = (verbs[0], verbs[1:]) if verbs else ("status", [])
    names = [unit.removesuffix(".service") for unit in units]
    quiet = "-q" in words or "--quiet" in words
    match verb:
        case "is-active" | "is-enabled":
            words_for = ("active", "inactive") if verb == "is-active" else ("enabled", "disabled")
            states = [words_for[0] if name in ACTIVE else words_for[1] for name in names]
            if not quiet:
                out("\n".join(states))
            return 0 if words_for[0] in states else 3 if verb == "is-active" else 1
        case "is-system-running":
            out("running")
        case "get-default":
            out("multi-user.target")
        case "show":
            out(
                "ActiveState=active\nSubState=running\nLoadState=loaded"
                if set(names) <= ACTIVE
                else "ActiveState=inactive\nLoadState=not-found"
            )
    return 0


def loginctl(words: list[str]) -> int:
    if "show-user" in words:
        value = "-P" in words or "--value" in words
        out("yes" if value else "Linger=yes")
    return 0


def timedatectl(words: list[str]) -> int:
    if "show" in words:
        if "--value" in words:
            out("yes")
        else:
            out("Timezone=Etc/UTC\nLocalRTC=no\nCanNTP=yes\nNTP=yes\nNTPSynchronized=yes")
            out(time.strftime("TimeUSec=%a %Y-%m-%d %H:%M:%S UTC", time.gmtime()))
    else:
        out("System clock synchronized: yes\n              NTP service: active")
    return 0


def ufw(words: list[str]) -> int:
    return fail("ERROR: You need to be root to run this script", 1) if "status" in words else 0


def iptables(words: list[str]) -> int:
    """Docker's default of a forwarding host; nothing keeps requests out."""
    out("-P INPUT ACCEPT" if "INPUT" in words else "-P INPUT ACCEPT\n-P FORWARD DROP\n-P OUTPUT ACCEPT")
    return 0


PROGRAMS = {
    "crontab": crontab,
    "systemctl": systemctl,
    "loginctl": loginctl,
    "timedatectl": timedatectl,
    "ufw": ufw,
    "iptables": iptables,
}
