"""Commands that build, pull, copy and remove images; long work runs as a background job."""

from sparkops.core.plan import Command, Script, Secret, Upload, Word

BUILD_SECONDS = 6 * 3600
PULL_SECONDS = 6 * 3600


def listing() -> Command:
    return Command((Script("image"), "list"), reads=True, timeout=60.0)


def context(state_dir: str, job: str, content: Secret) -> Command:
    return Command((Script("image"), "context", state_dir, job), stdin=content, timeout=1800.0)


def build(state_dir: str, job: str, tag: str, label: str, source: tuple[str, str], words: tuple[str, ...]) -> Command:
    return started(job, BUILD_SECONDS, (Script("image"), "build", state_dir, job, tag, label, *source, *words))


def login(state_dir: str, job: str, registry: str, user: str, password: Secret) -> Command:
    return Command((Script("image"), "login", state_dir, job, registry, user), stdin=password, timeout=60.0)


def pull(state_dir: str, job: str, reference: str, tag: str, user: str | None) -> Command:
    words = (Script("image"), "pull", state_dir, job, reference, tag, *((user,) if user else ()))
    return started(job, PULL_SECONDS, words)


def save(reference: str) -> Command:
    return Command((Script("image"), "save", reference), reads=True)


def load(file: Upload) -> Command:
    return Command((Script("image"), "load"), stdin=file)


def remove(*references: str) -> Command:
    return Command((Script("image"), "remove", *references), timeout=600.0)


def started(job: str, seconds: int, words: tuple[Word, ...]) -> Command:
    return Command((Script("job"), "start", job, str(seconds), *words))


def job_probe(job: str, lines: int = 15) -> Command:
    return Command((Script("job"), "probe", job, str(lines)), reads=True)


def jobs() -> Command:
    return Command((Script("job"), "list"), reads=True)


def job_log(job: str, lines: int) -> Command:
    return Command((Script("job"), "log", job, str(lines)), reads=True)


def cancel(job: str) -> Command:
    return Command((Script("job"), "cancel", job), timeout=30.0)
