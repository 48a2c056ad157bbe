"""Makes up snippets of Go templates that write and read dates; the same seed gives the same snippets."""

import json
import random
from collections.abc import Iterator

from tinkbox.sprig.dates.layouts import write
from tinkbox.sprig.dates.times import SECOND, Time
from tinkbox.sprig.dates.zones import Fixed

ELEMENTS = (
    *("January", "Jan", "1", "01", "Monday", "Mon", "2", "_2", "02", "__2", "002", "15", "3", "03", "4", "04", "5"),
    *("05", "2006", "06", "PM", "pm", "MST", "Z0700", "Z07:00", "Z07", "Z070000", "Z07:00:00", "-0700", "-07:00"),
    *("-07", "-070000", "-07:00:00", ".000", ".999", ",000000000", ".999999999", ".0", ",9"),
)
BETWEEN = ("", " ", "  ", "-", ":", "T", "/", ", ", "Z", "_", ".", "day", "0", "é")
WHOLE = (
    "2006-01-02T15:04:05Z07:00",
    "2006-01-02T15:04:05.999999999Z07:00",
    "Mon, 02 Jan 2006 15:04:05 MST",
    "Mon Jan _2 15:04:05 2006",
    "02 Jan 06 15:04 -0700",
    "3:04PM",
    "2006-01-02 15:04:05",
    "2006-002 15:04",
    "Janet Mondays Jan Monx 20060102150405",
)
ZONES = (
    *(
        "UTC",
        "Local",
        "",
        "Europe/Berlin",
        "America/New_York",
        "Asia/Kolkata",
        "Australia/Lord_Howe",
        "America/Sao_Paulo",
    ),
    *("Pacific/Apia", "Etc/GMT+5", "Nowhere/Atall", "../UTC", "/UTC", "America/St_Johns", "Africa/Monrovia"),
)
STEPS = (1, 1000, 1_000_000_000, 60_000_000_000, 3_600_000_000_000, 86_400_000_000_000, 7_000_000_001, -5, 0)
METHODS = (
    *("String", "Year", "Month", "Day", "Weekday", "YearDay", "Hour", "Minute", "Second", "Nanosecond", "Unix"),
    *("UnixMilli", "UnixMicro", "UTC", "IsZero"),
)
OF_DURATIONS = ("String", "Hours", "Minutes", "Seconds", "Milliseconds", "Microseconds", "Nanoseconds", "Abs")


def date_snippets(seed: int, count: int) -> Iterator[str]:
    chance = random.Random(seed)
    makers = (_written, _read, _read, _moved, _durations, _modified)
    for _ in range(count):
        yield chance.choice(makers)(chance)


def _layout(chance: random.Random) -> str:
    if chance.random() < 0.3:
        return chance.choice(WHOLE)
    pieces = (chance.choice(ELEMENTS) + chance.choice(BETWEEN) for _ in range(chance.randint(1, 7)))
    return chance.choice(BETWEEN) + "".join(pieces)


def _seconds(chance: random.Random) -> int:
    return chance.choice(
        (chance.randint(0, 2_000_000_000), chance.randint(-(10**10), 10**10), chance.randint(-(10**11), 10**12))
    )


def _moment(chance: random.Random) -> Time:
    zone = chance.choice(
        (Fixed("UTC", 0), Fixed("CEST", 7200), Fixed("", -16_200), Fixed("EST", -18_000), Fixed("", 45_296))
    )
    seconds = chance.randint(-62_000_000_000, 250_000_000_000)
    return Time(seconds * SECOND + chance.choice((0, 0, 500_000_000, chance.randrange(SECOND))), zone)


def _written(chance: random.Random) -> str:
    return f"{{{{ dateInZone {json.dumps(_layout(chance))} {_seconds(chance)} {json.dumps(chance.choice(ZONES))} }}}}"


def _changed(chance: random.Random, text: str) -> str:
    if chance.random() < 0.7 or not text:
        return text
    at = chance.randrange(len(text))
    other = chance.choice("0159 :.-+ZTaPMé")
    return chance.choice(
        (text[:at] + text[at + 1 :], text[:at] + other + text[at:], text[:at] + other + text[at + 1 :])
    )


def _read(chance: random.Random) -> str:
    layout = _layout(chance)
    text = _changed(chance, write(layout, _moment(chance).clock))
    name = chance.choice(("toDate", "mustToDate"))
    return f"{{{{ {name} {json.dumps(layout)} {json.dumps(text)} }}}}"


def _given(chance: random.Random) -> str:
    layout = "2006-01-02T15:04:05.999999999Z07:00"
    return f"(toDate {json.dumps(layout)} {json.dumps(write(layout, _moment(chance).clock))})"


def _moved(chance: random.Random) -> str:
    step = chance.choice(STEPS)
    change = chance.choice(
        (
            f".Add {chance.randint(-(10**18), 10**18)}",
            f".AddDate {chance.randint(-500, 500)} {chance.randint(-30, 30)} {chance.randint(-400, 400)}",
            f".Truncate {step}",
            f".Round {step}",
            f".{chance.choice(METHODS)}",
            f".Format {json.dumps(_layout(chance))}",
        )
    )
    return f"{{{{ {_given(chance)}{change} }}}}"


def _durations(chance: random.Random) -> str:
    between = f"({_given(chance)}.Sub {_given(chance)})"
    if chance.random() < 0.3:
        return f"{{{{ {between}.{chance.choice(('Round', 'Truncate'))} {chance.choice(STEPS)} }}}}"
    return f'{{{{ {between}.{chance.choice(OF_DURATIONS)} }}}}{{{{ printf "%d %v %T" {between} {between} {between} }}}}'


def _modified(chance: random.Random) -> str:
    given = _given(chance)
    change = chance.choice(("1h", "-36h30m", "1.5s", "x", "", "9e9h", "-2562047h"))
    name = chance.choice(("dateModify", "mustDateModify", "date_modify"))
    wrapped = chance.choice(("unixEpoch", "htmlDate", "toJson", "date `15:04 Mon`", "kindOf", "typeOf", "print"))
    return f"{{{{ {given} | {name} {json.dumps(change)} | {wrapped} }}}}"
