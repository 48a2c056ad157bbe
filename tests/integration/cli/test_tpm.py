"""`tinkbox hardware tpm`: which TPM a machine has to show."""

import json
from pathlib import Path

from tests.integration.cli.serving import Ended, configure, run, serving
from tests.integration.engine.appliance import hardware, mac

OWN = "ab" * 32


def test_a_tpm_is_shown_accepted_and_forgotten(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    local = ("--data", str(configuration.data), "hardware")
    document = tmp_path / "hardware.json"
    document.write_text(json.dumps(hardware(1)))
    with serving(configuration):
        assert run(*local, "push", "--file", str(document)).status == 0
        assert accepted(run(*local, "tpm", mac(1))) == "none"
        assert accepted(run(*local, "tpm", mac(1), "--accept", OWN.upper())) == OWN
        assert accepted(run(*local, "tpm", mac(1))) == OWN
        refused = run(*local, "tpm", mac(1), "--accept", "abc")
        assert (refused.status, refused.out) == (1, "")
        assert "abc is no fingerprint of a TPM" in refused.err
        assert run(*local, "tpm", mac(1), "--accept", "").status == 1
        assert run(*local, "tpm", mac(1), "--accept", OWN, "--forget").status == 2
        assert accepted(run(*local, "tpm", mac(1), "--forget")) == "none"


def accepted(printed: Ended) -> str:
    (line,) = (each for each in printed.out.splitlines() if "Accepted" in each)
    return line.partition(":")[2].strip()
