"""crontab, systemctl, loginctl, timedatectl, nmcli, ufw, iptables."""

import contextlib
import os
import sys
import time
from pathlib import Path

from sparklab import files
from sparklab.layout import USER, here
from sparklab.tools import power
from sparklab.tools.say import fail, out

ACTIVE = "docker ssh sshd containerd systemd-timesyncd nvidia-persistenced avahi-daemon earlyoom"
PROFILES = "netplan-enP7s7:802-3-ethernet:yes:enP7s7\nlo:loopback:no:lo\ndocker0:bridge:no:docker0"
"""The fabric is netplan's, the rest NetworkManager's."""


def main(name: str, words: list[str]) -> int:
    match name:
        case "crontab":
            return crontab(words)
        case "systemctl":
            return systemctl(words)
        case "loginctl":
            loginctl(words)
        case "timedatectl" if "--value" in words:
            out("yes")
        case "timedatectl" if "show" in words:
            out("Timezone=Etc/UTC\nLocalRTC=no\nCanNTP=yes\nNTP=yes\nNTPSynchronized=yes")
            out(time.strftime("TimeUSec=%a %Y-%m-%d %H:%M:%S UTC", time.gmtime()))
        case "timedatectl":
            out("System clock synchronized: yes\n              NTP service: active")
        case "nmcli" if "show" in words:
            phantom = "Wired connection 2:802-3-ethernet:yes:\n" if here().fault("phantom-profile") else ""
            out(phantom + PROFILES)
        case "ufw" if "status" in words:
            return fail("ERROR: You need to be root to run this script", 1)
        case "iptables":  # Docker's default of a forwarding host; nothing keeps requests out
            out("-P INPUT ACCEPT" if "INPUT" in words else "-P INPUT ACCEPT\n-P FORWARD DROP\n-P OUTPUT ACCEPT")
    return 0


def crontab(words: list[str]) -> int:
    """Store and print the table unchanged; refuse one without a final newline, as Debian's cron does."""
    table = Path(here().path("crontab"))
    if ("-l" in words or "-r" in words) and not table.exists():
        return fail(f"no crontab for {USER}")
    if "-l" in words:
        sys.stdout.buffer.write(table.read_bytes())
    elif "-r" in words:
        table.unlink()
    else:
        source = next((word for word in words if word == "-" or not word.startswith("-")), "-")
        text = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        if text and not text.endswith(b"\n"):
            return fail("new crontab file is missing newline before EOF, can't install.", 1)
        table.touch(0o600)
        table.write_bytes(text)
    return 0


def systemctl(words: list[str]) -> int:
    verb, *units = [word for word in words if not word.startswith("-")] or ["status"]
    names = [unit.removesuffix(".service") for unit in units]
    match verb:
        case "is-active" | "is-enabled":
            good, bad, code = ("active", "inactive", 3) if verb == "is-active" else ("enabled", "disabled", 1)
            states = [good if active(name) else bad for name in names]
            if not {"-q", "--quiet"} & {*words}:
                out("\n".join(states))
            return 0 if good in states else code
        case "start" | "stop" | "restart" | "enable" | "disable":
            return _switch(verb, names, now="--now" in words)
        case "reboot":
            return power.reboot()
        case "status" if names:
            for name in names:
                out(f"{name}.service\n     Active: {'active (running)' if active(name) else 'inactive (dead)'}")
            return 0 if all(map(active, names)) else 3
        case "is-system-running":
            out("running")
        case "get-default":
            out("multi-user.target")
        case "show" if all(map(active, names)):
            out("ActiveState=active\nSubState=running\nLoadState=loaded")
        case "show":
            out("ActiveState=inactive\nLoadState=not-found")
    return 0


def active(name: str) -> bool:
    """Return the state set last, else that of a DGX OS with earlyoom."""
    if name == "earlyoom" and here().fault("no-earlyoom"):
        return False
    return files.read(here().path("units", name), "on" if name in ACTIVE.split() else "off") == "on"


def _switch(verb: str, names: list[str], now: bool) -> int:
    if os.environ.get("SPARKLAB_SUDO") != "1":
        return fail(f"Failed to {verb} {names[0]}.service: Interactive authentication required.", 1)
    if verb in ("start", "stop", "restart") or now:
        for name in names:
            files.make(here().path("units", name), "off" if verb in ("stop", "disable") else "on")
    return 0


def loginctl(words: list[str]) -> None:
    user = words[-1] if len(words) > 1 and not words[-1].startswith("-") else USER
    lingers = here().root("var", "lib", "systemd", "linger", user)
    if "enable-linger" in words:
        files.make(lingers, "")
    elif "disable-linger" in words:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(lingers)
    elif "show-user" in words:
        state = "yes" if os.path.exists(lingers) else "no"
        out(state if "-P" in words or "--value" in words else f"Linger={state}")
