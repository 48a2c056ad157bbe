"""The section `boot`: how machines load what they boot."""

from dataclasses import dataclass

from tinkbox.model.boot import ConsoleAccess
from tinkbox.model.enrolment import HttpsBoot
from tinkbox.settings import readers
from tinkbox.settings.declaring import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class BootedMachines:
    """How machines load what they boot."""

    https: str = setting(
        HttpsBoot.OFF.value,
        readers.choice(*HttpsBoot),
        "what becomes of machines whose firmware can boot by HTTPS ([booting.md](booting.md#boot-by-https)). `enroll`: the worker "
        "gives the UEFI firmware of its machine the appliance's authority, and from the next boot on the machine boots by "
        "HTTPS alone. `off`: no further machine is enrolled",
    )

    console: str = setting(
        ConsoleAccess.SHELL.value,
        readers.choice(*ConsoleAccess),
        "what the consoles of machines in the OSIE offer. `shell`: a shell of root to whoever presses Enter, without a password; it reads the "
        "secrets of the machine's actions ([security.md](security.md#consoles)). `none`: no shell. It counts from a machine's next boot on. An "
        "OSIE of an earlier release offers the shell all the same: build it again",
    )

    @property
    def console_access(self) -> ConsoleAccess:
        """What the consoles of machines offer."""
        return ConsoleAccess(self.console)

    @property
    def https_boot(self) -> HttpsBoot:
        """Whether workers enrol their machines."""
        return HttpsBoot(self.https)
