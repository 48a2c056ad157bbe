"""Who may log in by the company's issuer."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of
from tinkbox.model.access import Right
from tinkbox.settings.oidc import Oidc

WHOLE = """
operator:
  oidc:
    issuer: https://login.example.com/realms/lab
    client_id: tinkbox
    claim: realm_access.roles
    groups:
      /lab: [look, operate]
      "urn:x:auditors": [audit]
    scopes: [openid, profile, groups]
    lifetime: 4h
    ca: /etc/ssl/lab.pem
"""


def test_without_an_issuer_nobody_logs_in(tmp_path: Path) -> None:
    assert loaded(tmp_path, "").operator.oidc == Oidc()
    assert Oidc().issuer == ""
    assert Oidc().lifetime == timedelta(hours=8)


def test_an_issuer_has_a_client_and_groups_with_rights(tmp_path: Path) -> None:
    oidc = loaded(tmp_path, WHOLE).operator.oidc
    assert oidc.issuer == "https://login.example.com/realms/lab"
    assert oidc.groups == {"/lab": {Right.LOOK, Right.OPERATE}, "urn:x:auditors": {Right.AUDIT}}
    assert (oidc.claim, oidc.scopes) == ("realm_access.roles", ("openid", "profile", "groups"))
    assert (oidc.lifetime, oidc.ca) == (timedelta(hours=4), Path("/etc/ssl/lab.pem"))


def test_openid_is_always_among_the_scopes(tmp_path: Path) -> None:
    assert loaded(tmp_path, "operator: {oidc: {scopes: [groups]}}").operator.oidc.scopes == ("openid", "groups")


def test_what_is_missing_beside_an_issuer_is_named(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "operator: {oidc: {issuer: https://a.example}}") == [
        "operator.oidc.client_id: missing: operator.oidc.issuer needs it",
        "operator.oidc.groups: missing: operator.oidc.issuer needs it",
    ]
    assert problems_of(tmp_path, "operator: {oidc: {client_id: x}}") == [
        "operator.oidc.issuer: missing: the URL of the issuer, such as https://login.example.com"
    ]


@pytest.mark.parametrize(
    "url", ["login.example.com", "http://login.example.com", "https://", "https://a b", "7", "[a]"]
)
def test_an_issuer_is_a_url_over_https(tmp_path: Path, url: str) -> None:
    (problem,) = problems_of(tmp_path, f"operator: {{oidc: {{issuer: {url}, client_id: x, groups: {{a: [look]}}}}}}")
    assert problem.startswith("operator.oidc.issuer: expected ")


def test_every_problem_of_the_groups_is_named_at_once(tmp_path: Path) -> None:
    groups = "{a: look, b: [], c: [look, fly], 5: [look], ok: [look]}"
    found = problems_of(tmp_path, f"operator: {{oidc: {{issuer: https://a.example, client_id: x, groups: {groups}}}}}")
    assert [each.split(": ")[0].rpartition(".")[2] for each in found] == ["a", "b", "c", "5"]
    assert found[3] == "operator.oidc.groups.5: a group is text: put it in quotes"


@pytest.mark.parametrize("rest", ["scopes: ['a b']", "lifetime: 5s", "ca: lab.pem", "isuer: x"])
def test_what_is_wrong_is_named_by_its_key(tmp_path: Path, rest: str) -> None:
    text = f"operator: {{oidc: {{issuer: https://a.example, client_id: x, groups: {{a: [look]}}, {rest}}}}}"
    (problem,) = problems_of(tmp_path, text)
    assert problem.startswith(f"operator.oidc.{rest.split(':')[0]}: ")
