"""Whether a machine that boots has stopped on its way, decided from what was last seen of it."""

from datetime import datetime

from tinkbox.model.boot import Boot, Stage
from tinkbox.model.sightings import Sighting

FORGOTTEN_AFTER = 86_400.0
# Seconds that a boot may stay at a stage.  Those that are missing may last: nothing has to follow them.
PATIENCE = {
    Stage.DISCOVER: 10.0,
    Stage.OFFERED: 10.0,
    Stage.REQUESTED: 10.0,
    Stage.LEASED: 15.0,
    Stage.BOOT_SERVER: 10.0,
    Stage.LOADER_REQUESTED: 20.0,
    Stage.LOADER: 20.0,
    Stage.LOADER_FAILED: 20.0,
    Stage.SCRIPT: 20.0,
    Stage.SCRIPT_REFUSED: 20.0,
    Stage.DISCOVERY: 20.0,
    Stage.KERNEL: 60.0,
    Stage.RAMDISK: 90.0,
    Stage.FIRMWARE: 90.0,
    Stage.TICKET: 90.0,
    Stage.SESSION: 60.0,
    Stage.CLOCK: 60.0,
    Stage.REFUSED: 20.0,
    Stage.DECLINED: 20.0,
    Stage.OTHER_SERVER: 30.0,
}


def stalled(sighting: Sighting, now: datetime) -> str:
    """`stalled here for 40 s`, or nothing for a machine that is on its way, done, or long gone."""
    patience = PATIENCE.get(sighting.stage)
    seconds = (now - sighting.at).total_seconds()
    # What boots from another server is not seen to go on.
    if sighting.facts.get("boot") == Boot.ELSEWHERE:
        return ""
    if patience is None or not patience < seconds < FORGOTTEN_AFTER:
        return ""
    return f"stalled here for {_duration(int(seconds))}"


def _duration(seconds: int) -> str:
    """In two units at most: `40 s`, `2 min 5 s`, `1 h 3 min`."""
    minutes, hours = seconds // 60, seconds // 3600
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"
