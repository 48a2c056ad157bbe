"""The file that says who a worker is."""

from pathlib import Path
from typing import Final

from tinkbox.model.errors import Invalid, NotFound
from tinkbox.wire.messages.worker import Credential, decode_credential

CREDENTIAL: Final = Path("/etc/tinkbox/worker.json")


def read_credential(path: Path) -> Credential:
    """Raises NotFound or Invalid, saying how to make one."""
    try:
        return decode_credential(path.read_bytes())
    except OSError:
        raise NotFound(
            f"no credential at {path}: make one on the appliance with `tinkbox hardware credential MAC > worker.json` "
            "and name it with --credential"
        ) from None
    except Invalid as error:
        raise Invalid(f"{path}: {error}") from None
