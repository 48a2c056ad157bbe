"""How much ephemeral data a workflow may have."""

from pathlib import Path

import pytest

from tinkbox.model.reasons import Reason
from tinkbox.wire.ephemeral_limits import MAX_ARCHIVE_BYTES, MAX_DATA_BYTES

DOCS = Path(__file__).parent.parent.parent.parent / "docs"


def test_an_archive_has_room_for_headers_beside_the_data() -> None:
    assert MAX_ARCHIVE_BYTES > MAX_DATA_BYTES


@pytest.mark.parametrize("page", ["actions.md", "breakpoints.md", "services.md"])
def test_the_docs_name_the_limit(page: str) -> None:
    shown = f"{MAX_DATA_BYTES // 1024**2} MiB"
    assert shown in (DOCS / page).read_text()
    assert shown in Reason.DATA_TOO_LARGE.means
