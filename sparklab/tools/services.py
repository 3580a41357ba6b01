"""crontab, systemctl, loginctl, timedatectl, ufw, iptables."""

import os
import sys
import time

from sparklab import files
from sparklab.layout import USER, here
from sparklab.tools import power
from sparklab.tools.say import fail, out
from sparklab.tree import canned_answers

ACTIVE = frozenset(
    {
        "docker",
        "ssh",
        "sshd",
        "cron",
        "containerd",
        "systemd-timesyncd",
        "nvidia-persistenced",
        "avahi-daemon",
        "earlyoom",
    }
)


def main(name: str, words: list[str]) -> int:
    return PROGRAMS[name](words)


def crontab(words: list[str]) -> int:
    """Bytes come and go as they are; what lacks its last newline is refused, as by Debian's cron."""
    table = here().path("crontab")
    if ("-l" in words or "-r" in words) and not os.path.exists(table):
        return fail(f"no crontab for {USER}")
    if "-l" in words:
        sys.stdout.buffer.write(_bytes(table))
    elif "-r" in words:
        os.unlink(table)
    else:
        source = next((word for word in words if word == "-" or not word.startswith("-")), "-")
        text = sys.stdin.buffer.read() if source == "-" else _bytes(source)
        if text and not text.endswith(b"\n"):
            return fail("new crontab file is missing newline before EOF, can't install.", 1)
        with open(table, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
            stream.write(text)
    return 0


def _bytes(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def systemctl(words: list[str]) -> int:
    verbs = [word for word in words if not word.startswith("-")]
    verb, units = (verbs[0], verbs[1:]) if verbs else ("status", [])
    names = [unit.removesuffix(".service") for unit in units]
    quiet = "-q" in words or "--quiet" in words
    match verb:
        case "is-active" | "is-enabled":
            words_for = ("active", "inactive") if verb == "is-active" else ("enabled", "disabled")
            states = [words_for[0] if active(name) else words_for[1] for name in names]
            if not quiet:
                out("\n".join(states))
            return 0 if words_for[0] in states else 3 if verb == "is-active" else 1
        case "start" | "stop" | "restart" | "enable" | "disable":
            return _switch(verb, names, now="--now" in words)
        case "reboot":
            return power.reboot()
        case "is-system-running":
            out("running")
        case "get-default":
            out("multi-user.target")
        case "show":
            out(
                "ActiveState=active\nSubState=running\nLoadState=loaded"
                if all(map(active, names))
                else "ActiveState=inactive\nLoadState=not-found"
            )
    return 0


def active(name: str) -> bool:
    """As it was switched last, else as DGX OS with earlyoom has it."""
    switched = here().path("units", name)
    if name == "earlyoom" and here().fault("no-earlyoom"):
        return False
    return files.read(switched) == "on" if os.path.exists(switched) else name in ACTIVE


def _switch(verb: str, names: list[str], now: bool) -> int:
    if os.environ.get("SPARKLAB_SUDO") != "1":
        return fail("Failed to " + verb + " " + names[0] + ".service: Interactive authentication required.", 1)
    if verb in ("start", "stop", "restart") or now:
        for name in names:
            os.makedirs(here().path("units"), exist_ok=True)
            files.write(here().path("units", name), "off" if verb in ("stop", "disable") else "on")
        canned_answers.forget(here(), "systemctl")
    return 0


def loginctl(words: list[str]) -> int:
    user = words[-1] if len(words) > 1 and not words[-1].startswith("-") else USER
    lingers = here().root("var", "lib", "systemd", "linger", user)
    if "enable-linger" in words:
        os.makedirs(os.path.dirname(lingers), exist_ok=True)
        files.write(lingers, "")
    elif "disable-linger" in words:
        if os.path.exists(lingers):
            os.unlink(lingers)
    elif "show-user" in words:
        state = "yes" if os.path.exists(lingers) else "no"
        out(state if "-P" in words or "--value" in words else f"Linger={state}")
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


def nmcli(words: list[str]) -> int:
    """`-t -f NAME,TYPE,AUTOCONNECT,DEVICE connection show`: the fabric is netplan's, the rest NetworkManager's."""
    if "show" in words:
        if here().fault("phantom-profile"):
            out("Wired connection 2:802-3-ethernet:yes:")
        out("netplan-enP7s7:802-3-ethernet:yes:enP7s7\nlo:loopback:no:lo\ndocker0:bridge:no:docker0")
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
    "nmcli": nmcli,
    "ufw": ufw,
    "iptables": iptables,
}
