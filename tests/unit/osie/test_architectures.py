import platform

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.osie.architectures import AARCH64, X86_64, architecture, of_this_machine


def test_architectures_go_by_their_names_in_hardware_documents() -> None:
    assert architecture("x86_64") is X86_64
    assert architecture("aarch64") is AARCH64


@pytest.mark.parametrize(("here", "made_for"), [("x86_64", X86_64), ("aarch64", AARCH64)])
def test_this_machine_is_one_of_them(monkeypatch, here, made_for) -> None:
    monkeypatch.setattr(platform, "machine", lambda: here)
    assert of_this_machine() is made_for


def test_on_another_machine_there_is_nothing_to_build_with(monkeypatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(Invalid, match="no OSIE for 'riscv64'"):
        of_this_machine()
