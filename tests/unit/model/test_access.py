"""Callers of the operator door."""

import pytest

from tinkbox.model.access import Caller, Right, operator
from tinkbox.model.errors import Forbidden


def test_the_operator_has_every_right() -> None:
    assert operator() == Caller(name="operator", rights=frozenset(Right))
    assert operator("root").name == "root"


def test_a_caller_is_described_by_name_and_rights_in_one_order() -> None:
    rights = frozenset({Right.ATTACH, Right.LOOK})
    assert Caller(name="anna", rights=rights).describe() == "anna (look, attach)"
    assert Caller(name="bert", rights=frozenset()).describe() == "bert (no rights)"


def test_a_caller_is_told_which_right_is_missing() -> None:
    anna = Caller(name="anna", rights=frozenset({Right.LOOK}))
    anna.require(Right.LOOK)
    with pytest.raises(
        Forbidden,
        match=r"anna \(look\) lacks the right to operate: .* `tinkbox token create NAME --right look,operate`",
    ):
        anna.require(Right.OPERATE)
