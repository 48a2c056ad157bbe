"""What is stored of installed systems comes back as it was."""

from datetime import UTC, datetime

from tinkbox.model.metadata import FirstBoot, HostKey, Metadata, ModuleFailure
from tinkbox.store.formats.metadata import first_boot_of, first_boot_text, metadata_of, metadata_text

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)


def test_what_a_workflow_says_comes_back() -> None:
    spec = Metadata(hostname="h", ssh_keys=("k",), user_data="u\n", vendor_data="v", network={"version": 2, "x": [1]})
    assert metadata_of(metadata_text(spec)) == spec
    assert metadata_of(metadata_text(Metadata())) == Metadata()


def test_what_a_system_told_comes_back() -> None:
    failure = ModuleFailure(module="m", result="FAIL", message="no", at=NOW)
    told = FirstBoot(
        phoned_at=NOW, address="a", hostname="h", host_keys=(HostKey(kind="rsa", fingerprint="SHA256:x"),), reports=True,
        finished_at=NOW, failures=(failure,),
    )  # fmt: skip
    assert first_boot_of(first_boot_text(told)) == told
    assert first_boot_of(None) == FirstBoot()
