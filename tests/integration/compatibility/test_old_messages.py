"""What release 924549e says is understood, and what is said is what it understands.

`tests/golden/release-924549e/messages.json` has one of each message as that release says it, and what it made of messages with
one thing wrong each (`record_messages.py.txt` beside it).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.compatibility.mutations import WRONG, verdicts
from tinkbox.model.errors import Invalid
from tinkbox.wire.messages import breakpoints as holds
from tinkbox.wire.messages import disks, inventory, shell, worker
from tinkbox.wire.messages import hosting as services

RELEASE = Path(__file__).parents[2] / "golden" / "release-924549e"
OLD: dict[str, Any] = json.loads((RELEASE / "messages.json").read_text())
# A worker of that release does not get as far as to be accepted: its boot ticket would have to be exchanged.
SPOKEN = [name for name in OLD["messages"] if name != "accepted"]
NOT_COUNTED_TO, ODD, TOO_LONG = (WRONG.index(each) for each in (10**30, "a\ud800\x1b[0m b", "y" * 20_000))
AGAIN: dict[str, Callable[[str], str]] = {
    "credential": lambda text: worker.encode(worker.decode_credential(text)),
    "hello": lambda text: worker.encode(worker.decode_hello(text)),
    "offer": lambda text: worker.encode(worker.decode_offer(text)),
    "leaving": lambda text: worker.encode(worker.decode_leaving(text)),
    "report": lambda text: worker.encode(worker.decode_report(text)),
    "held": lambda text: holds.encode(holds.decode_held(text)),
    "resumed": lambda text: holds.encode(holds.decode_resumed(text)),
    "asked": lambda text: holds.encode(holds.decode_asked(text)),
    "orders": lambda text: holds.encode(holds.decode_orders(text)),
    "wanted": lambda text: services.encode(services.decode_wanted(text)),
    "observed": lambda text: services.encode(services.decode_observed(text)),
    "told": lambda text: inventory.encode_message(inventory.decode_told(text)),
    "looked": lambda text: disks.encode(disks.decode_looked(text)),
    "answer": lambda text: disks.encode_answer(disks.decode_answer(text)),
}


@pytest.mark.parametrize("name", SPOKEN)
def test_message_of_an_old_release_is_understood_and_said_as_it_says_it(name: str) -> None:
    assert json.loads(AGAIN[name](OLD["messages"][name])) == json.loads(OLD["messages"][name])


@pytest.mark.parametrize("name", [name for name in SPOKEN if name in OLD["verdicts"]])
def test_message_with_something_wrong_is_taken_or_refused_as_before(name: str) -> None:
    told = verdicts(OLD["messages"][name], AGAIN[name], Invalid)
    for place, heard in OLD["verdicts"][name].items():
        now, then = told.pop(place).split(), heard.replace("!", "-").split()
        if now[NOT_COUNTED_TO] == "-":
            then[NOT_COUNTED_TO] = "-"
        if ".tail." in place or (place.startswith("standings.") and place.endswith(".message")):
            then[TOO_LONG] = now[TOO_LONG]  # it is cut now
        if place == "version":
            then[ODD] = then[TOO_LONG] = "-"  # it has a form now
        assert now == then, f"{place} of {name}: what broke its reader, or the store, is refused now"
    assert not told


def test_mark_by_which_a_long_poll_knows_news_is_the_same_on_both_sides() -> None:
    """Were it not, an old worker's question would be answered at once, for ever."""
    assert holds.decode_orders(OLD["messages"]["orders"]).mark == OLD["marks"]["orders"]
    assert services.decode_wanted(OLD["messages"]["wanted"]).mark == OLD["marks"]["wanted"]


@pytest.mark.parametrize("name", OLD["frames"])
def test_frame_of_a_shell_is_the_same(name: str) -> None:
    content = bytes.fromhex(OLD["frames"][name])
    assert shell.encode(shell.decode(content)) == content


def test_frame_of_a_shell_means_the_same() -> None:
    frame = {name: shell.decode(bytes.fromhex(content)) for name, content in OLD["frames"].items()}
    end = shell.read_status(frame["status"])
    assert (end.exit_code, end.reason, end.message) == (None, "ShellLost", "its machine went away")
    assert shell.status(end) == frame["status"]
    assert shell.read_resize(frame["resize"]) == (50, 132)
    assert shell.read_control(frame["control"]) == {"end": True}
