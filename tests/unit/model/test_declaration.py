"""What hardware documents declare of a machine that is out of service."""

from typing import Any

import pytest

from tinkbox.model.declaration import RETIRED_ANNOTATION, declared_retirement, with_retirement
from tinkbox.model.documents.kubernetes import DISABLED_ANNOTATION
from tinkbox.model.errors import Invalid


def annotated(**annotations: object) -> dict[str, Any]:
    return {"kind": "Hardware", "metadata": {"name": "node7", "annotations": annotations}}


@pytest.mark.parametrize("document", [{"id": "x"}, annotated(), annotated(other="x"), {"kind": "Hardware"}])
@pytest.mark.parametrize("reason", ["", "no disk"])
def test_what_is_written_is_read_and_taken_away_again(document: dict[str, Any], reason: str) -> None:
    written = with_retirement(document, reason)
    assert declared_retirement(written) == reason
    assert declared_retirement(document) is None
    assert with_retirement(written, "other") == with_retirement(document, "other")
    # Where there were no other annotations, there are none then.
    assert with_retirement(with_retirement(written, None), reason) == written
    assert declared_retirement(with_retirement(written, None)) is None


@pytest.mark.parametrize("reason", ["", "no disk"])
def test_machine_that_tinkerbell_calls_disabled_is_retired(reason: str) -> None:
    document = annotated(**{DISABLED_ANNOTATION: reason})
    assert declared_retirement(document) == reason
    assert with_retirement(document, None) == {"kind": "Hardware", "metadata": {"name": "node7"}}
    assert with_retirement(document, "x") == annotated(**{RETIRED_ANNOTATION: "x"})
    both = annotated(**{DISABLED_ANNOTATION: "theirs", RETIRED_ANNOTATION: "ours"})
    assert declared_retirement(both) == "ours"


@pytest.mark.parametrize("given", [None, False, True, 1, ["x"], {"a": "b"}])
def test_what_is_no_text_says_nothing_and_stays(given: object) -> None:
    assert declared_retirement({"id": "x", "retired": given}) is None
    assert with_retirement({"id": "x", "retired": given}, None) == {"id": "x", "retired": given}
    assert declared_retirement(annotated(**{RETIRED_ANNOTATION: given})) is None


@pytest.mark.parametrize("given", ["x" * 1001, "a\x1b[2Jb", "\u202ex"])
def test_what_is_no_reason_is_refused(given: str) -> None:
    with pytest.raises(Invalid, match="retired has"):
        declared_retirement({"id": "x", "retired": given})
    with pytest.raises(Invalid, match=f"the annotation {RETIRED_ANNOTATION} has"):
        declared_retirement(annotated(**{RETIRED_ANNOTATION: given}))


@pytest.mark.parametrize("metadata", [None, "x", [], {"annotations": None}, {"annotations": "x"}])
def test_odd_metadata_says_nothing(metadata: object) -> None:
    document = {"kind": "Hardware", "metadata": metadata}
    assert declared_retirement(document) is None
    assert with_retirement(document, None) == document
