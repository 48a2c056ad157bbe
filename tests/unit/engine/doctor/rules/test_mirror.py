"""The doctor's rule about mirrors."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.engine.boot_story import BEGIN, appliance
from tinkbox.engine.doctor.case import Finding
from tinkbox.engine.doctor.rules.mirror import mirror_away
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.images.mirrors import MirrorFault, MirrorTrouble
from tinkbox.model.vitals import Vitals

AWAY = MirrorTrouble(
    host="quay.io",
    url="https://mirror.lab.example:5000/quay",
    fault=MirrorFault.REFUSED,
    why="mirror.lab.example:5000 cannot be asked for /v2/: Connection refused",
    since=BEGIN,
    at=BEGIN + timedelta(minutes=2),
    looked=True,
)


def found(*troubles: MirrorTrouble) -> list[Finding]:
    return [*mirror_away(appliance(vitals=Vitals(at=BEGIN, mirrors=troubles)))]


def test_a_mirror_that_is_away_is_suspect_and_a_fault_once_a_pull_failed() -> None:
    (told,) = found(AWAY)
    assert (told.gravity, told.subject) == (Gravity.SUSPECT, "quay.io")
    assert told.cause == (
        "The mirror of quay.io, mirror.lab.example:5000, refuses connections: images of quay.io that are not kept here cannot be fetched."
    )
    assert told.evidence == (
        f"2026-11-21 03:02:00 {AWAY.why}",
        "2026-11-21 03:00:00 it failed first, and every time since",
    )
    (told,) = found(replace(AWAY, pulled_at=BEGIN))
    assert told.gravity is Gravity.FAULT
    assert told.evidence[-1] == "2026-11-21 03:00:00 what a machine asked for did not come"
    (told,) = found(replace(AWAY, looked=False, pulled_at=BEGIN))
    assert told.gravity is Gravity.SUSPECT
    assert not found()
    assert len(found(AWAY, replace(AWAY, host="docker.io"))) == 2


@pytest.mark.parametrize(
    ("fault", "cause", "remedy"),
    [
        (MirrorFault.NAME, "its name has no address", "`getent hosts mirror.lab.example` must print one"),
        (MirrorFault.REFUSED, "refuses connections", "`registry.mirrors` in tinkbox.yaml"),
        (
            MirrorFault.UNREACHABLE,
            "nobody answers at its address",
            "`ip route get $(getent hosts mirror.lab.example | cut",
        ),
        (MirrorFault.NO_TLS, "does not speak TLS there", "write `http://` in its URL under `registry.mirrors`"),
        (MirrorFault.OTHER_TLS, "does not agree on TLS", "`curl -v https://mirror.lab.example:5000/v2/`"),
        (
            MirrorFault.CERTIFICATE,
            "a certificate that is not accepted",
            "a file of /usr/local/share/ca-certificates whose name ends in .crt; then `update-ca-certificates`",
        ),
        (MirrorFault.SILENT, "does not answer", "`curl -v https://mirror.lab.example:5000/v2/`"),
        (MirrorFault.LOGIN, "does not take tinkbox's login", "`password_file`"),
        (MirrorFault.LIMIT, "asked too often", "`username` and `password_file`"),
        (MirrorFault.NO_REGISTRY, "answers, but not as a registry", "a login page stands before the registry"),
        (MirrorFault.ANSWER, "does not answer as a registry does", "`curl -v https://mirror.lab.example:5000/v2/`"),
    ],
)
def test_each_error_has_its_words_and_its_way_out(fault: MirrorFault, cause: str, remedy: str) -> None:
    (told,) = found(replace(AWAY, fault=fault))
    assert cause in told.cause
    assert remedy in told.remedy


@pytest.mark.parametrize("fault", MirrorFault)
def test_way_out_that_changes_tinkbox_yaml_has_the_restart_by_which_it_is_read(fault: MirrorFault) -> None:
    (told,) = found(replace(AWAY, fault=fault))
    assert ("in tinkbox.yaml" in told.remedy) <= ("`systemctl restart tinkbox`" in told.remedy)
