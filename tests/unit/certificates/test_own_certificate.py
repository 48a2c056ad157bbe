"""What is said of the operator's certificate: which of a file is the server's, whose key there is, and who signed what."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.firm import Firm
from tinkbox.certificates import Certificates
from tinkbox.certificates.own_certificate import read_own
from tinkbox.model.errors import Unavailable

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def firm(tmp_path: Path) -> Firm:
    return Firm(tmp_path, NOW)


@pytest.mark.parametrize(
    ("chain", "key", "told"),
    [
        (
            ["between", "leaf"],
            "leaf",
            r"begins with CN=Firm R10, and .* certificate 2 in it, CN=box: put that one first",
        ),
        (
            ["root", "between", "leaf"],
            "leaf",
            r"begins with CN=Firm Root, and .* certificate 3 in it, CN=box: put that",
        ),
        (
            ["leaf", "between"],
            "between",
            r"tls\.key: .* certificate 2 in .*, CN=Firm R10, which is an authority's: name the key of .*, CN=box, in tls\.key$",
        ),
        (
            ["root", "leaf", "between"],
            "between",
            r"certificate 3 in .*, CN=Firm R10, which is an authority's: .*, CN=box, in tls\.key, and put that certificate first$",
        ),
        (
            ["between", "leaf"],
            "between",
            r"begins with CN=Firm R10, which is an authority's, and .*key.pem is the key of that: .*, and put that certificate first$",
        ),
        (["root"], "root", "names no host"),
        (["leaf", "between"], "root", "is not the key of the certificate"),
    ],
)
def test_key_that_is_not_the_first_certificates_is_told_with_the_one_that_it_fits(
    firm: Firm, chain: list[str], key: str, told: str
) -> None:
    files = firm.files([getattr(firm, each) for each in chain], getattr(firm, f"{key}_key"))
    with pytest.raises(Unavailable, match=told):
        read_own(*files)


@pytest.mark.parametrize(
    ("life", "before"),
    [
        (timedelta(days=397), timedelta(days=14)),
        (timedelta(days=90), timedelta(days=14)),
        (timedelta(days=6), timedelta(hours=36)),
        (timedelta(days=1), timedelta(hours=6)),
    ],
)
def test_certificate_is_told_to_end_once_what_renews_it_is_late(
    tmp_path: Path, life: timedelta, before: timedelta
) -> None:
    firm = Firm(tmp_path, NOW, life)
    found = read_own(*firm.files([firm.leaf, firm.between, firm.root]))
    assert found.warnings(found.ends - before) == []
    (told,) = found.warnings(found.ends - before + timedelta(seconds=1))
    assert f"expires on {found.ends:%Y-%m-%d %H:%M} UTC: renew it" in told


def test_certificate_that_ends_soon_is_no_error(firm: Firm) -> None:
    own = firm.files([firm.leaf, firm.between, firm.root])
    ends = firm.leaf.not_valid_after_utc
    for before, told in ((timedelta(days=20), (0, 0)), (timedelta(days=7), (0, 1)), (timedelta(0), (1, 0))):
        found = Certificates.examine(firm.folder, own, ends - before)
        assert (len(found.wrong), len(found.warnings)) == told
