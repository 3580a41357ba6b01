"""Which kernels serve an MXFP4 model, as the engines' own boot logs name them."""

from sparkops.core import models
from sparkops.core.enginelog import mxfp4_backend
from sparkops.core.plan import Result
from sparkops.core.recipe import Effective
from sparkops.core.revision import Revision
from sparkops.node_commands import scripts
from sparkops.session.session import Session

BOOT_LINES = 2000
"""More than a boot logs; what has served for days may have lost its own, and then says nothing."""


def by_marlin(session: Session, effective: Effective, revision: Revision) -> list[str]:
    """A warning for each engine that fell back to the Marlin kernels where nobody asked for them."""
    if not _should_not(effective):
        return []
    wanted = {m.name: scripts.logs(revision.container(m), BOOT_LINES) for m in revision.engines if m.port is not None}
    said = "the boot log names the Marlin kernels, about half the speed of CUTLASS (`sparkops rules marlin-fallback`)"
    answers = {node: result for node, result in session.ask(wanted).items() if isinstance(result, Result)}
    logs = {node: [*result.stdout.splitlines(), *result.stderr.splitlines()] for node, result in answers.items()}
    return [f"{node}: {said}" for node, lines in logs.items() if mxfp4_backend(lines) == "MARLIN"]


def _should_not(effective: Effective) -> bool:
    chosen = {str(effective.value(name, "")).upper() for name in ("mxfp4-backend", "moe-backend")}
    is_mxfp4 = models.is_gpt_oss(effective.model) or effective.value("quantization") == "mxfp4"
    return is_mxfp4 and "MARLIN" not in chosen
