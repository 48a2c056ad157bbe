"""What containers, of actions and services alike, trust the appliance by: a file with its authority, and where to ask."""

from pathlib import Path
from typing import Final

NAME: Final = "ca.crt"
CA: Final = f"/tinkbox/{NAME}"  # as containers see it


def https_variables(server: str) -> dict[str, str]:
    """The environment of a container that has the file; `server` is the node door's URL over TLS."""
    return {"TINKBOX_HTTPS_SERVER": server, "TINKBOX_CA": CA}


def keep_authority(folder: Path, pem: str) -> str:
    """The file with these certificates in a folder of ours, made where it is not there; any user may read it.  Raises OSError."""
    path = folder / NAME
    if not path.exists() or path.read_text() != pem:
        made = path.with_name(f"{NAME}.new")
        made.write_text(pem)
        made.chmod(0o644)
        made.replace(path)
    return str(path)
