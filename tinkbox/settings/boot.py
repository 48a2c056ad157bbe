"""The section `boot`: how machines load what they boot."""

from dataclasses import dataclass

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

    @property
    def https_boot(self) -> HttpsBoot:
        """Whether workers enrol their machines."""
        return HttpsBoot(self.https)
