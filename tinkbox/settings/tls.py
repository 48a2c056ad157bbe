"""The section `tls`: a certificate of the operator's own, beside that of the box."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinkbox.model.errors import Problem
from tinkbox.settings import readers
from tinkbox.settings.declaring import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """What the doors show in TLS besides the box's own certificate."""

    certificate: Path | None = setting(
        None,
        readers.folder,
        "file of your own certificate (PEM), with those that signed it behind it. Whoever asks by a name of it is shown it, "
        "and everybody else that of the box's authority. It is read again when it changes",
    )
    key: Path | None = setting(None, readers.folder, "file of its key (PEM, without a passphrase)")
    names: tuple[str, ...] = setting(
        (),
        readers.texts,
        "further names and addresses by which people reach the box, such as `box.example.org`. The box's own certificate has them, "
        "beside its addresses, `localhost`, `name` and the host's name",
    )

    @property
    def own(self) -> tuple[Path, Path] | None:
        """The operator's certificate and its key."""
        return (self.certificate, self.key) if self.certificate and self.key else None


def check_tls(tls: Tls, unread: Sequence[str]) -> Iterator[Problem]:
    """The two files go together."""
    if bool(tls.certificate) != bool(tls.key) and not unread:
        missing, there = ("key", "certificate") if tls.certificate else ("certificate", "key")
        yield Problem(key=missing, text=f"tls.{there} needs it: name both files, or none")
