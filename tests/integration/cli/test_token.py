"""`tinkbox token`: as people and scripts type it."""

import csv
import io
import json
import re
from collections.abc import Iterator

import pytest

from tests.integration.cli.serving import Configuration, Ended, configure, run, serving


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configuration]:
    configuration = configure(tmp_path_factory.mktemp("appliance"))
    with serving(configuration):
        yield configuration


@pytest.fixture
def typed(appliance: Configuration):
    def type_it(*words: str) -> Ended:
        return run("--data", str(appliance.data), *words)

    return type_it


def test_a_token_is_made_and_used_and_revoked_without_a_restart(appliance: Configuration, typed) -> None:
    made = typed("token", "create", "anna", "--right", "look", "-l", "rack=r1", "--expires", "30d")
    assert (made.status, made.err) == (0, "")
    assert re.fullmatch(r"tbx_[0-9a-f]{48}\n", made.out)
    environment = {
        "TINKBOX_SERVER": f"https://127.0.0.1:{appliance.operator_port}",
        "SSL_CERT_FILE": str(appliance.authority),
        "TINKBOX_TOKEN": made.out.strip(),
    }
    assert run("hardware", "list", environment=environment).status == 0
    nothing = run("hardware", "get", "nosuch", environment=environment)
    assert (nothing.status, nothing.err.count("'nosuch' within the scope of anna, rack=r1")) == (1, 1), nothing.err
    status = run("status", environment=environment)
    assert (status.status, "your token is for rack=r1 alone" in status.out) == (0, True), status.err
    examined = run("doctor", environment=environment)
    assert (examined.status, "Not examined: what is outside of the scope of your token" in examined.out) == (0, True)
    assert run("doctor", "nosuch", environment=environment).status == 2
    refused = run("hardware", "delete", "machine-1", "--yes", environment=environment)
    assert (refused.status, "`tinkbox token create NAME --right look,operate`" in refused.err) == (1, True)
    refused = run("hardware", "label", "machine-1", "a=b", environment=environment)
    assert (refused.status, "`tinkbox token create NAME --right look,operate -l rack=r1`" in refused.err) == (1, True)
    assert typed("token", "revoke", "anna", "--yes").out == "Revoked token:  anna\n"
    refused = run("hardware", "list", environment=environment)
    assert (refused.status, refused.err.count("\n"), "was revoked" in refused.err) == (1, 1, True)


def test_tokens_are_listed_in_every_format(typed) -> None:
    assert typed("token", "create", "bert", "--right", "look", "--right", "operate", "--expires", "never").status == 0
    table = typed("token", "list").out
    assert "bert" in table
    assert "look,operate" in table
    assert "never" in table
    (listed,) = [each for each in json.loads(typed("token", "list", "-o", "json").out) if each["name"] == "bert"]
    assert (listed["rights"], listed["expires_at"], listed["scope"]) == (["look", "operate"], None, "")
    (row,) = [
        each for each in csv.DictReader(io.StringIO(typed("token", "list", "-o", "csv").out)) if each["name"] == "bert"
    ]
    assert row["rights"] == "look,operate"
    assert typed("token", "list", "-q").out == "bert\n"
    assert "name: bert" in typed("token", "list", "-o", "yaml").out
    assert typed("token", "revoke", "bert", "--yes").status == 0


def test_who_revokes_a_token_is_told_which_credentials_it_read_and_how_they_are_voided(
    appliance: Configuration, typed
) -> None:
    assert typed("hardware", "add", "08:00:27:00:00:08", "--name", "node8").status == 0
    made = typed("token", "create", "bert", "--right", "look,operate")
    environment = {
        "TINKBOX_SERVER": f"https://127.0.0.1:{appliance.operator_port}",
        "SSL_CERT_FILE": str(appliance.authority),
        "TINKBOX_TOKEN": made.out.strip(),
    }
    assert run("hardware", "credential", "node8", environment=environment).status == 0
    revoked = typed("token", "revoke", "bert", "--yes")
    assert (revoked.status, revoked.out) == (0, "Revoked token:  bert\n")
    assert "\n  tinkbox hardware credential node8 --rotate\n" in revoked.err
    assert "`tinkbox token revoke bert --rotate`" in revoked.err
    assert typed("token", "create", "bert", "--right", "look").status == 0
    admin = typed("token", "create", "guard", "--right", "admin").out.strip()
    partly = run("token", "revoke", "bert", "--rotate", "--yes", environment={**environment, "TINKBOX_TOKEN": admin})
    assert (partly.status, partly.out) == (1, "Revoked token:  bert\n")
    assert "guard lacks the right to operate, so no credential of a machine was voided: have somebody" in partly.err
    assert partly.err.endswith("\n  tinkbox hardware credential node8 --rotate\n"), partly.err
    again = run("token", "revoke", "bert", "--rotate", "--yes", environment={**environment, "TINKBOX_TOKEN": admin})
    assert (again.status, again.out, again.err) == (1, "", partly.err)
    assert typed("token", "revoke", "guard", "--yes").status == 0
    rotated = typed("token", "revoke", "bert", "--rotate", "--yes")
    assert (rotated.status, rotated.out, rotated.err) == (0, "Rotated credentials:  node8\n", "")
    assert typed("token", "revoke", "bert", "--yes").status == 1


def test_a_token_is_rotated_and_the_operators_own_is_replaced(appliance: Configuration, typed) -> None:
    made = typed("token", "create", "dora", "--right", "look")
    again = typed("token", "rotate", "dora")
    assert (again.status, again.err, again.out == made.out) == (0, "", False)
    assert re.fullmatch(r"tbx_[0-9a-f]{48}\n", again.out)
    assert [each["name"] for each in json.loads(typed("token", "list", "-o", "json").out)].count("dora") == 2
    assert typed("token", "revoke", "dora", "--yes").status == 0
    file = appliance.data / "operator.token"
    before = file.read_text()
    replaced = typed("token", "revoke", "operator", "--yes")
    assert (replaced.status, "operator.token" in replaced.out) == (0, True), replaced.err
    assert file.read_text() != before
    environment = {
        "TINKBOX_SERVER": f"https://127.0.0.1:{appliance.operator_port}",
        "SSL_CERT_FILE": str(appliance.authority),
    }
    assert run("hardware", "list", environment={**environment, "TINKBOX_TOKEN": before.strip()}).status == 1
    assert run("hardware", "list", environment={**environment, "TINKBOX_TOKEN": file.read_text().strip()}).status == 0


def test_a_token_as_json_has_its_text(typed) -> None:
    made = json.loads(typed("token", "create", "carl", "--right", "admin", "-o", "json").out)
    assert made["token"].startswith("tbx_")
    assert made["rights"] == ["admin"]
    assert typed("token", "revoke", "carl", "--yes").status == 0


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["token", "create", "anna"], 2, "--right"),
        (["token", "create", "anna", "--right", "lok"], 2, "look"),
        (["token", "create", "a b", "--right", "look"], 1, "is no name of a token"),
        (["token", "create", "anna", "--right", "look", "--expires", "soon"], 1, "'soon' is no duration"),
        (["token", "create", "anna", "--right", "look", "--expires", "90"], 1, "'90' has no unit: write 90d for days"),
        (["token", "create", "anna", "--right", "look", "-l", "=="], 2, "=="),
        (["token", "create", "anna", "--right", "look,lok"], 2, "'lok' is no right: did you mean look?"),
        (["token", "create", "anna", "--right", "look", "--expires", "1y"], 1, "write days (d), hours (h)"),
        (["token", "rotate", "nobody"], 1, "token list` shows them"),
        (["token", "revoke", "nobody", "--yes"], 1, "token list` shows them"),
        (["token", "revoke", "tbx_" + "0123456789ab" * 4, "--yes"], 1, "this is the text of a token"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(typed, words: list[str], status: int, told: str) -> None:
    refused = typed(*words)
    assert (refused.status, refused.out, told in refused.err) == (status, "", True), refused.err
