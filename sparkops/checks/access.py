"""Checks of the connection to a node, of the user's rights there, and of whether every probe gave an answer."""

from collections.abc import Iterator

from sparkops.checks.check import CannotTell, Check, Here, Said, fail, good, read, skip, some, warn
from sparkops.core.facts import Facts, Owned, known
from sparkops.core.facts.probes import CUT_OFF
from sparkops.core.facts.raw import NO_ANSWER
from sparkops.core.recipe import MOUNTS
from sparkops.core.rights import may_sudo, missing_caches

KEY_TROUBLE = ("key", "unknown-key", "changed-key")
REFUSED = "sudo"
"""The kind of a node on which sudo refused the password: the login works."""

SLOW = (NO_ANSWER, "not asked again", "took too long")
GARBLED = "unexpected output"
TOLD = ("ibdev2netdev", "nvidia_smi")
"""Tools that print messages instead of data if nothing is plugged in or loaded; their own checks report that."""


@Check(
    id="ssh",
    title="The SSH login to the node works",
    why="sparkops reads everything from the node over SSH. Each run opens one connection.",
    source="ssh(1); NVIDIA/dgx-spark-playbooks, connect-to-your-spark",
    hint="check that the node is on; check address, user and key in the inventory; try: ssh -v USER@ADDRESS",
    severity="fail",
    reads=("clock",),
).each_node
def ssh(here: Here) -> Iterator[Said]:
    away = here.s.away.get(here.name)
    if away is not None and away.kind not in (*KEY_TROUBLE, REFUSED):
        yield fail(away.reason, away.hint)


@Check(
    id="host-key",
    title="The node's SSH host key is the key that you pinned",
    why="An unknown key may belong to another machine. Cloned units share one key; a reinstalled unit has a new key.",
    source="CVE-2026-24218 (machines were shipped with equal SSH host keys); ssh_config(5), StrictHostKeyChecking",
    hint="compare the fingerprint with the key on the node itself; if they are equal, pin it: sparkops trust",
    severity="fail",
    reads=("hostkeys",),
).each_node
def host_key(here: Here) -> Iterator[Said]:
    away = here.s.away.get(here.name)
    if away is None:
        yield good(evidence=", ".join(key.fingerprint for key in known(here.facts.hostkeys, ())))
    elif away.kind in KEY_TROUBLE:
        yield fail(away.reason, away.hint)
    else:
        yield skip("not reached")


@Check(
    id="sudo",
    title="sudo works if the inventory requires it",
    why="On DGX OS, sudo asks for a password. sparkops asks you for it only before a run, with --ask-become-pass.",
    source="the default sudoers file of DGX OS: `sudo -n true` prints `a password is required`",
    hint="use --ask-become-pass, or add the user to the group docker and remove `become: sudo` from the inventory",
    severity="fail",
    reads=("sudo",),
).each_node
def sudo(here: Here) -> Iterator[Said]:
    """Required only if the inventory says `become: sudo`."""
    away = here.s.away.get(here.name)
    if away is not None and away.kind == REFUSED:
        yield fail(away.reason, away.hint)
    if away is not None:
        raise CannotTell("not reached")
    rights = read(here.facts.sudo)
    if here.node.become == "sudo" and not (rights.able or here.s.choices.sudo_password):
        yield fail(f"the inventory says `become: sudo`, but sudo asks for a password ({rights.said})")
    elif not rights.able:
        yield good("sudo asks for a password, which only `preflight --fix` and cache drops need", rights.said)


LINGER = "on the node: sudo loginctl enable-linger $USER (or `sparkops preflight --fix{}`)"


@Check(
    id="linger",
    title="Background jobs continue after logout",
    why=(
        "After a user's last logout, systemd ends the user's background jobs and removes the user's shared memory "
        "(RemoveIPC). If lingering is on, it does neither."
    ),
    source="logind.conf(5): RemoveIPC=yes by default",
    hint=LINGER.format(""),
    reads=("linger", "logind", "id", "sudo"),
    fixable=True,
).each_node
def linger(here: Here) -> Iterator[Said]:
    lingers, logind = read(here.facts.linger), known(here.facts.logind, "")
    if not lingers and "removeipc=no" not in logind.lower().replace(" ", ""):
        yield warn(
            (
                "lingering is off and RemoveIPC is on: after the last logout, systemd ends background jobs and "
                "removes shared memory"
            ),
            "" if may_sudo(here.s, here.node) else LINGER.format(" --ask-become-pass"),
            logind,
        )


@Check(
    id="caches-owned",
    title="The cache directories exist and belong to the login user",
    why="Docker creates a missing cache directory as root. The login user cannot write to it, so downloads fail.",
    source="eugr/spark-vllm-docker: its launch scripts create the cache directories first",
    hint="`sparkops preflight --fix` creates missing directories",
    reads=("caches", "id"),
    placed=True,
    fixable=True,
).each_node
def caches(here: Here) -> Iterator[Said]:
    """Directories that Docker creates belong to root, so later downloads as the login user fail."""
    user, found = read(here.facts.id), {one.path: one for one in read(here.facts.caches)}
    owner = found[user.home].uid if user.home in found else user.uid
    strange = [one for one in found.values() if one.uid != owner and _matters(one, here)]
    if strange:
        paths = " ".join(one.path for one in strange)
        yield warn(
            f"{user.name} does not own {', '.join(one.path.replace(user.home, '~', 1) for one in strange)}",
            f"on the node: sudo chown -R {user.name}: {paths}",
            ", ".join(f"{one.path} uid {one.uid} mode {one.mode}" for one in strange),
        )
    if missing := missing_caches(here.s, here.node):
        short = ", ".join(path.replace(user.home, "~", 1) for path in missing)
        yield good(f"missing: {short}; deploy and preflight --fix create them")


def _matters(one: Owned, here: Here) -> bool:
    names = {source.rpartition("/")[2] for source, _ in MOUNTS.values()} | {".cache", "hub"}
    return one.path.rpartition("/")[2] in names or one.path == here.node.cache_dir


@Check(
    id="locale",
    title="The system's language is English",
    why=(
        "On French and German machines, free, df and lscpu print translated words, which the scripts of other tools "
        "cannot parse. sparkops runs these commands with LC_ALL=C, so its own parsing works."
    ),
    source="DGX Spark owners' reports of translated command output",
    hint="on the node: sudo update-locale LANG=en_US.UTF-8",
    reads=("locale",),
).each_node
def locale(here: Here) -> Iterator[Said]:
    """sparkops sets LC_ALL=C; other scripts do not."""
    words = read(here.facts.locale)
    told = words.get("LC_ALL") or words.get("LANG") or "C"
    language, _, charset = told.partition(".")
    if language.partition("_")[0] not in ("C", "POSIX", "en"):
        yield warn(f"the language is {told}: scripts that parse df, free or lscpu may fail", evidence=f"LANG={told}")
    elif language not in ("C", "POSIX") and charset.lower().replace("-", "") not in ("utf8", ""):
        yield warn(f"the character set is {charset}, not UTF-8", evidence=f"LANG={told}")


@Check(
    id="answers",
    title="The node answered every query",
    why=(
        "sparkops runs short commands on the node, each with its own time limit. If a command hangs or prints "
        "unexpected output, sparkops skips the checks that need this output."
    ),
    source="sparkops/node/facts.sh: at most 10 s for each command, 40 s in total",
    hint="see what the node returned with `sparkops facts`; if a command hangs on the node too: sudo reboot",
    severity="fail",
    reads=("clock",),
    deploys=True,
).each_node
def answered(here: Here) -> Iterator[Said]:
    unread = here.facts.unread
    cut = [name for name, why in unread.items() if why == CUT_OFF]
    slow = unanswered(here.facts)
    repeated = unread.get("nvidia_smi")
    garbled = {
        name: why.reason
        for name, why in unread.items()
        if GARBLED in why.reason and name not in TOLD and why != repeated
    }
    see = f"see what the node returned: sparkops facts {here.name} --raw; if a command hangs there too: sudo reboot"
    if cut:
        yield fail(f"the node stopped answering: {len(cut)} values could not be read", see, some(cut, 8))
    if slow:
        yield warn(f"no answer in time to these queries: {some(map(_plain, slow))}", see, _told(slow))
    if garbled:
        yield warn(f"unexpected answers to these queries: {some(map(_plain, garbled))}", see, _told(garbled))
    if here.facts.took_seconds is not None:
        yield good(evidence=f"read in {here.facts.took_seconds:.1f} s")


def unanswered(facts: Facts) -> dict[str, str]:
    """The reasons by query that got no answer in time."""
    return {name: why.reason for name, why in facts.unread.items() if any(word in why.reason for word in SLOW)}


def _plain(name: str) -> str:
    return name.replace("_", "-")


def _told(reasons: dict[str, str]) -> str:
    return "; ".join(f"{_plain(name)}: {reason}" for name, reason in reasons.items())
