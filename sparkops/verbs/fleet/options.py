"""Options of the verbs that read `fleet.yml`."""

from dataclasses import dataclass, field

from sparkops.core.hub_access import Access
from sparkops.core.plan import USUAL, WaitLimits
from sparkops.core.target import Target


@dataclass(frozen=True)
class FleetOptions:
    """`file` None means `fleet.yml` in the current directory.

    `expect` is the id of the plan that `apply` may run; None: any. With `exit_code`, `diff` ends with 3 if `apply`
    would change something. With `if_changed`, `apply` does nothing if the commit of the file is the last one that it
    applied. `setup`, `access`, `limits` and `api_key` are as for `deploy`.
    """

    where: Target
    file: str | None = None
    expect: str | None = None
    exit_code: bool = False
    if_changed: bool = False
    setup: bool = False
    access: Access = Access()
    limits: WaitLimits = USUAL
    api_key: str | None = field(default=None, repr=False)
