"""Which appliance is asked, and in which order."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed

Tinkbox = Callable[..., Printed]


def test_several_keys_are_asked_in_their_order_and_the_first_refusal_ends_it(
    tinkbox: Tinkbox, appliance: FakeAppliance
) -> None:
    shown = {"name": "t", "data": "text\n"}
    appliance.answers = {"GET /v1/templates/one": {"id": "one", **shown}, "GET /v1/templates/three": shown}
    assert tinkbox("template", "get", "one", "two", "three").status == 1
    assert [request for request, _ in appliance.asked] == ["GET /v1/templates/one", "GET /v1/templates/two"]


CHANGES = {
    "template delete": ("DELETE /v1/templates/{}", "Deleted Template:  {}"),
    "workflow delete": ("DELETE /v1/workflows/{}", "Deleted Workflow:  {}"),
    "workflow cancel": ("POST /v1/workflows/{}/cancel", "Canceled Workflow:  {}"),
    "workflow retry": ("POST /v1/workflows/{}/retry", "Retried Workflow:  {}"),
    "workflow takeover": ("POST /v1/workflows/{}/takeover", "Took Over Workflow:  {}"),
    "image delete": ("DELETE /v1/images?reference={}", "Deleted Image:  {}"),
}


@pytest.mark.parametrize("command", CHANGES)
def test_what_changes_several_goes_on_after_a_refusal_and_says_what_it_did(
    tinkbox: Tinkbox, appliance: FakeAppliance, command: str
) -> None:
    request, told = CHANGES[command]
    appliance.answers = {request.format(key): {"id": key, "state": "CANCELED"} for key in ("one", "three")}
    done = tinkbox(*command.split(), "one", "two", "three")
    assert [asked for asked, _ in appliance.asked] == [request.format(key) for key in ("one", "two", "three")]
    assert (done.status, done.out) == (1, f"{told.format('one')}\n{told.format('three')}\n")
    assert done.err.count("tinkbox: ") == 1
    assert tinkbox(*command.split(), "one", "three").status == 0


def test_nothing_more_is_asked_of_an_appliance_that_is_gone(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.away = True
    done = tinkbox("workflow", "cancel", "one", "two")
    assert (done.status, done.out, done.err.count("tinkbox: ")) == (1, "", 1)
    assert "did not answer POST /v1/workflows/one/cancel" in done.err
    assert "it may be done all the same, so look before you type it again" in done.err


def test_2020s_delete_of_templates_and_workflows_is_silent(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/tink"])
    appliance.answers = {f"DELETE /v1/{kind}/one": {"id": "one"} for kind in ("templates", "workflows")}
    for noun in ("template", "workflow"):
        done = tinkbox(noun, "delete", "one")
        assert (done.status, done.out, done.err) == (0, "", "")


def test_a_server_of_the_environment_that_is_away_names_the_way_out(
    tinkbox: Tinkbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for server in (f"unix://{tmp_path}/operator.sock", "http://127.0.0.1:1"):
        monkeypatch.setenv("TINKBOX_SERVER", server)
        away = tinkbox("template", "list")
        assert (away.status, away.err.count("\n")) == (3, 1)
        assert server.removeprefix("unix://") in away.err
        assert away.err.endswith(
            "which TINKBOX_SERVER names: is `tinkbox serve` running there? Correct TINKBOX_SERVER, or unset it to ask the "
            "appliance on this host\n"
        )
    monkeypatch.setenv("TINKBOX_SERVER", "unix://operator.sock")
    assert tinkbox("template", "list").status == 1


def test_data_beats_the_environment(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    assert tinkbox("--data", str(tmp_path), "hardware", "list").status == 3
    assert appliance.asked == []
