from examples.demo.account import account


def test_the_account_puts_stages_and_actions_in_the_order_in_which_they_began() -> None:
    fact = {"task": "install", "action": "stream"}
    timeline = [
        {"at": "2026-01-01T12:00:00+00:00", "stage": "asked for an address", "facts": {"asker": "PXE"}},
        {"at": "2026-01-01T12:00:17.5+00:00", "stage": "action", "facts": fact},
        {"at": "2026-01-01T12:00:30+00:00", "stage": "action", "facts": {**fact, "state": "SUCCESS", "seconds": 12.5}},
        {"at": "2026-01-01T12:00:40+00:00", "stage": "told to boot its disk", "facts": {}},
    ]
    lines = account(timeline).splitlines()
    assert lines[1:] == [
        "   0.0 s  asked for an address",
        "  17.5 s  install / stream: SUCCESS                        12.5 s",
        "  40.0 s  told to boot its disk",
    ]


def test_a_question_for_a_files_size_is_no_failure() -> None:
    at, stage = "2026-01-01T12:00:00+00:00", "did not get its boot loader"
    assert account([{"at": at, "stage": stage, "facts": {"why": "probe"}}]) == "nothing was seen"
    assert stage in account([{"at": at, "stage": stage, "facts": {"why": "silence"}}])


def test_nothing_seen_is_said_plainly() -> None:
    assert account([]) == "nothing was seen"
