"""The conformance suites of the OCI distribution-spec, against a registry on loopback.

    make campaign PART=tests/integration/registry/test_conformance.py

What of their requests has ever failed here is in `test_routes_protocol.py` as well.
"""

import os
import re
from pathlib import Path

import pytest

from tests.integration.registry.go_programs import program, program_of_tests
from tests.integration.registry.serving import Registry, run

SUITE = "github.com/opencontainers/distribution-spec/conformance"
RELEASED = "v0.0.0-20250123160558-a139cc423184"  # as of the release v1.1.1
NEWEST = "v0.0.0-20260831232431-97274622c111"  # of the main branch, which is another program

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1200)]


async def test_the_suite_of_the_release_finds_nothing(
    registry: Registry, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = program_of_tests(SUITE, RELEASED, tmp_path)
    settings = {
        "OCI_ROOT_URL": f"http://{registry.host}",
        "OCI_NAMESPACE": "conformance/one",
        "OCI_CROSSMOUNT_NAMESPACE": "conformance/two",
        "OCI_USERNAME": "me",
        "OCI_PASSWORD": token,
        "OCI_TEST_PULL": "1",
        "OCI_TEST_PUSH": "1",
        "OCI_TEST_CONTENT_DISCOVERY": "1",
        "OCI_TEST_CONTENT_MANAGEMENT": "1",
        "OCI_AUTOMATIC_CROSSMOUNT": "1",  # a mount without `from` finds the blob
        "OCI_REPORT_DIR": "none",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    status, said = await run(suite)
    bare = re.sub(r"\x1b\[[0-9;]*m", "", said)
    assert status == 0, bare
    passed = re.search(r"(\d+) Passed \| 0 Failed", bare)
    assert passed, bare
    assert int(passed[1]) >= 75, "it was run in part only"


async def test_the_newest_suite_finds_nothing(
    registry: Registry, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that it leaves out by itself but one: an image without its layers is refused here, as the specification allows.

    (An index without its images is taken: `test_an_index_may_be_sparse`.)
    """
    suite = program(SUITE, NEWEST, tmp_path)
    for name in [each for each in os.environ if each.startswith("OCI_")]:
        monkeypatch.delenv(name)
    settings = {
        "OCI_REGISTRY": registry.host,
        "OCI_TLS": "disabled",
        "OCI_USERNAME": "me",
        "OCI_PASSWORD": token,
        "OCI_VERSION": "1.1",
        "OCI_RESULTS_DIR": str(tmp_path / "results"),
        "OCI_API_BLOBS_DIGEST_HEADER": "true",
        "OCI_API_BLOBS_UPLOAD_CANCEL": "true",
        "OCI_API_MANIFESTS_DIGEST_HEADER": "true",
        "OCI_API_MANIFESTS_TAG_PARAM": "true",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    status, said = await run(suite)
    assert status == 0, said
    outcome = dict(re.findall(r"^  (\w[\w ()-]*?)\.*:\s+(\w+)$", said, re.MULTILINE))
    assert (outcome["FAIL"], outcome["Error"], outcome["Disabled"]) == ("0", "0", "0"), said
    assert {name for name, result in outcome.items() if result in ("Disabled", "Skip")} == {"Sparse Manifests"}, said
    assert int(outcome["Pass"]) > 900, said
