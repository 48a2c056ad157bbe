"""An appliance that ended without being told to, as the one after it tells."""

import json
from pathlib import Path
from typing import Any

from tests.integration.cli.serving import Configuration, configure, run_here, serving


def told(configuration: Configuration) -> list[dict[str, Any]]:
    answer = run_here("--data", str(configuration.data), "doctor", "-o", "json").out
    return [each for each in json.loads(answer)["diagnoses"] if each["rule"] == "UncleanEnd"]


def test_one_that_was_killed_is_told_of_by_the_next_and_one_that_was_told_to_end_is_not(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    with serving(configuration) as appliance:
        assert not told(configuration)
        appliance.kill()
        appliance.wait()
    with serving(configuration):
        (found,) = told(configuration)
        assert found["gravity"] == "suspect"
        assert found["cause"].startswith(
            "tinkbox ended without being told to before its last start: something ended it while"
        )
        assert "`journalctl -k" in found["remedy"]
        assert "before tinkbox started anew" not in found["evidence"][-1]
    with serving(configuration):
        # What lasted when the one before ended stands until everything was examined anew, and says so.
        assert all("before tinkbox started anew" in each["evidence"][-1] for each in told(configuration))
