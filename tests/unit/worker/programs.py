"""What runs in the containers of an engine in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tinkbox.runtime import ContainerSpec


@dataclass
class Program:
    """What the process in a container does: print, work on its files, end; `lasts` until it is stopped.

    Run once more it ends with the next of `exit_codes`.  With `exits` no signal ends it, whatever its code looks like.  It does not mind the signal that it `ignores`.
    """

    output: bytes = b""
    exit_code: int = 0
    exit_codes: list[int] = field(default_factory=list)
    error: str = ""
    out_of_memory: bool = False
    exits: bool = False
    lasts: bool = False
    ignores: list[str] = field(default_factory=list)
    work: Callable[[ContainerSpec], None] = lambda spec: None

    def next_exit_code(self) -> int:
        return self.exit_codes.pop(0) if self.exit_codes else self.exit_code
