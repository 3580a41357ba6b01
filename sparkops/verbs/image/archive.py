"""`image export` and `import`: an image as a file on this machine, in case it cannot be built again."""

from pathlib import Path
from typing import BinaryIO

from sparkops.core.diagnosis import diagnose
from sparkops.core.plan import Command, NodeLost, Upload
from sparkops.core.sizes import gb
from sparkops.core.stored_images import listed
from sparkops.errors import Interrupted, Refused, StepFailed
from sparkops.files import own_files
from sparkops.node_commands import images as commands
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.away import unreachable
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.session.transfer_progress import TransferProgress
from sparkops.verbs.image.distribute import room
from sparkops.verbs.image.node_images import facts_of, one_of
from sparkops.verbs.image.options import FileOptions


def export(options: FileOptions, report: Report) -> Answer:
    """Save an image; it is written to a temporary file and renamed when complete."""
    path, image = Path(options.file), str(options.image)
    own_files.refuse_existing(path, options.force)
    free = own_files.free(path.parent)
    with reached(options.where, report) as session:
        node = one_of(session, options.node)
        found = facts_of(session, node, image).image(image)
        if found is None:
            raise Refused(f"{node} has no image {image}", node=node, hint="list the images: `sparkops image list`")
        if free < found.size_bytes:
            raise Refused(f"{path.parent} needs {gb(found.size_bytes)} free for {image}, but has {gb(free)}")
        with own_files.whole(path, found.size_bytes) as file:
            _pass(session, node, f"save {image}", commands.save(image), found.size_bytes, file)
            size = file.tell()
        about = {"image": image, "node": node, "file": str(path)}
        return Answer({**about, "bytes": size, "fingerprint": found.fingerprint})


def load(options: FileOptions, report: Report) -> Answer:
    path = Path(options.file)
    size = own_files.size_to_read(path)
    with reached(options.where, report) as session:
        node = one_of(session, options.node)
        room(node, facts_of(session, node), size)
        before = _tags(session, node)
        try:
            _pass(session, node, f"load {path.name}", commands.load(Upload(str(path), size)), size)
        except StepFailed as error:
            error.hint = error.hint or f"{path} must be a complete file from `sparkops image export` or `docker save`"
            raise
        after = _tags(session, node)
        new = sorted(tag for tag, identity in after.items() if before.get(tag) != identity)
        return Answer({"file": str(path), "node": node, "images": new, "changed": bool(new)})


def _tags(session: Session, node: str) -> dict[str, str]:
    """Return the image ID of each name on this node."""
    found = listed(node, session.one(node, commands.listing(), "list its images"))
    return {tag: one.id for one in found for tag in one.tags}


def _pass(session: Session, node: str, title: str, command: Command, about: int, file: BinaryIO | None = None) -> None:
    """Run a transfer with progress; its output goes to the file."""
    fleet = session.fleet
    stop, trouble = fleet.cancel(), list[OSError]()

    def take(data: bytes) -> None:
        try:
            if file is not None:
                file.write(data)
        except OSError as error:  # one of the connection's would be taken for its end
            trouble.append(error)
            stop.set()

    shown = TransferProgress(session.report, node, title, about)
    try:
        result = session.follow(node, command, take, stop, shown.hear)
    except NodeLost as lost:
        raise unreachable(lost) from lost
    except KeyboardInterrupt as error:
        raise Interrupted("the partial image was removed") from error
    if trouble:
        raise trouble[0]
    if not result.ok:
        said = shown.said(result.stderr)
        known = diagnose(said.splitlines())
        raise StepFailed(f"{node}: {title}: {said}", node=node, step=title, hint=known.hint if known else None)
    shown.done()
