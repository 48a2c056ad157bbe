"""Callers of the operator door."""

import pytest

from tinkbox.model.access import Caller, Right, operator
from tinkbox.model.errors import Forbidden
from tinkbox.model.labels import parse_selector


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


@pytest.mark.parametrize(
    ("right", "within_scope", "advised"),
    [
        (Right.OPERATE, True, "a token that has it as well, `tinkbox token create NAME --right look,operate -l rack=r1`"),
        (Right.OPERATE, False, "a token without a scope that has it as well, `tinkbox token create NAME --right look,operate`"),
        (Right.PUSH, True, "a token without a scope that has it as well, `tinkbox token create NAME --right look,push`"),
    ],
)  # fmt: skip
def test_who_lacks_a_right_keeps_the_scope_in_the_advice_only_where_it_would_be_answered(
    right: Right, within_scope: bool, advised: str
) -> None:
    bert = Caller(name="bert", rights=frozenset({Right.LOOK}), scope=parse_selector("rack=r1"))
    with pytest.raises(Forbidden) as refused:
        bert.require(right, within_scope=within_scope)
    assert str(refused.value).endswith(advised)
