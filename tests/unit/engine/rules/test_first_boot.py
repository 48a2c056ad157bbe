"""How an action that waits for an installed system ends."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tinkbox.engine.rules.first_boot import SETTLING, concluded, concludes_at, module_name, what_failed, with_failure
from tinkbox.model.metadata import MAX_FAILURES, FirstBoot, HostKey, ModuleFailure
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import State

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
UP = FirstBoot(phoned_at=NOW, address="172.30.0.11", host_keys=(HostKey(kind="ed25519", fingerprint="SHA256:x"),))
BROKEN = ModuleFailure(module="modules-final/config-scripts_user", result="FAIL", message="it's", at=NOW)


@pytest.mark.parametrize(
    ("first_boot", "when"),
    [
        (FirstBoot(), None),
        (FirstBoot(reports=True), None),
        (UP, NOW),
        (replace(UP, reports=True), NOW + SETTLING),
        (replace(UP, reports=True, finished_at=NOW), NOW),
        (FirstBoot(reports=True, finished_at=NOW), NOW),
    ],
)
def test_when_it_is_decided(first_boot: FirstBoot, when: datetime | None) -> None:
    assert concludes_at(first_boot) == when
    if when is None:
        assert concluded(first_boot, "m", NOW) is None
    else:
        assert concluded(first_boot, "m", when - timedelta(seconds=1)) is None
        assert concluded(first_boot, "m", when) is not None


def test_a_system_that_is_up_is_a_success_and_one_that_failed_a_failure() -> None:
    good = concluded(UP, "node7", NOW)
    assert good is not None
    assert (good.state, good.message) == (State.SUCCESS, "node7 is up at 172.30.0.11, host key SHA256:x (ed25519)")
    warned = concluded(replace(UP, failures=(replace(BROKEN, result="WARN"),)), "node7", NOW)
    assert warned == good
    bad = concluded(replace(UP, failures=(BROKEN,)), "node7", NOW)
    assert bad is not None
    assert (bad.state, bad.reason) == (State.FAILED, Reason.CLOUD_INIT_FAILED)
    assert bad.message.startswith("cloud-init failed in scripts_user (modules-final): 'it\"s'; node7 is up")


def test_a_stage_is_named_only_where_no_module_of_it_is() -> None:
    stage = replace(BROKEN, module="modules-final")
    assert "stage" not in what_failed(FirstBoot(failures=(stage, BROKEN)))
    assert what_failed(FirstBoot(failures=(stage,))).startswith("cloud-init failed in stage modules-final")
    assert module_name("init-network/activate-datasource") == "activate-datasource (init-network)"


def test_failures_are_kept_once_and_not_without_end() -> None:
    first_boot = with_failure(with_failure(FirstBoot(), BROKEN), BROKEN)
    assert first_boot.failures == (BROKEN,)
    for number in range(100):
        first_boot = with_failure(first_boot, replace(BROKEN, module=f"modules-final/m{number}"))
    assert len(first_boot.failures) == MAX_FAILURES
    assert what_failed(first_boot).endswith("and 13 more")
