"""Metadata tokens: sealed, with nothing kept of them."""

import pytest

from tinkbox.engine.machines.boot_tickets import Seal
from tinkbox.engine.machines.metadata_tokens import MetadataTokens

WORKFLOW, MACHINE = "3137ad22-cb60-4624-8c47-cd0397a0af93", "0eba0bf8-3772-4b4a-ab9f-000000000001"
OURS = MetadataTokens(Seal(b"key"))


def test_a_token_names_its_workflow_and_its_machine() -> None:
    token = OURS.token(WORKFLOW, MACHINE)
    assert (len(token), OURS.opened(token)) == (64, (WORKFLOW, MACHINE))
    assert OURS.token(WORKFLOW, MACHINE) == token
    assert OURS.path(WORKFLOW, MACHINE) == f"/metadata/{token}"


@pytest.mark.parametrize("place", range(0, 64, 7))
def test_no_letter_of_it_can_be_changed(place: int) -> None:
    token = OURS.token(WORKFLOW, MACHINE)
    other = "A" if token[place] != "A" else "B"
    assert OURS.opened(f"{token[:place]}{other}{token[place + 1 :]}") is None


@pytest.mark.parametrize("text", ["", "A" * 64, "A" * 63, "=" * 64, "é" * 64, "/" * 64, "\n" * 64, "%" * 64])
def test_anything_else_is_none(text: str) -> None:
    assert OURS.opened(text) is None


def test_another_appliances_token_is_none() -> None:
    assert OURS.opened(MetadataTokens(Seal(b"other")).token(WORKFLOW, MACHINE)) is None
