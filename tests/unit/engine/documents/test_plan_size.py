"""How much a plan may take, whatever its template's text takes."""

import pytest

from tests.unit.engine.template_texts import MAC
from tinkbox.engine.documents.definitions import read_definition
from tinkbox.engine.documents.plan_size import ENTRY_BYTES, TEXT_BYTES
from tinkbox.model.errors import Invalid
from tinkbox.model.template import MAX_PLAN, MAX_TEXT

HEAD = 'version: "0.1"\nname: n\ntasks:\n'
LARGE = f'{{A: "{"y" * 100_000}"}}'


def task(name: str, actions: int, *, environment: str = "{}", volumes: str = "[]", own: str = "") -> str:
    """A task of so many small actions, each of which says `own` as well."""
    listed = "".join(f"      - {{name: a{number}, image: bb:v1{own}}}\n" for number in range(actions))
    head = (
        f"  - name: {name}\n    worker: {MAC}\n    environment: {environment}\n    volumes: {volumes}\n    actions:\n"
    )
    return head + listed


def problem_of(text: str) -> str:
    with pytest.raises(Invalid) as refusal:
        read_definition(text)
    (problem,) = refusal.value.problems
    return str(problem)


def test_an_environment_that_is_copied_into_too_many_actions_is_refused() -> None:
    assert problem_of(HEAD + task("small", 1) + task("big", 3500, environment=LARGE)) == (
        "line 10, tasks[1]: a plan takes at most 1MiB: the environment and volumes of task big take 97.7KiB, and each of its "
        "3500 actions gets a copy (333.8MiB). Give what is large only to the actions that need it"
    )


def test_volumes_are_counted_as_well() -> None:
    said = problem_of(HEAD + task("big", 20, volumes=f"['/{'x' * 100_000}:/data']"))
    assert "task big take 97.7KiB, and each of its 20 actions gets a copy (1.9MiB)" in said


def test_the_task_that_takes_most_is_named() -> None:
    said = problem_of(HEAD + task("most", 9, environment=LARGE) + task("last", 2, environment=LARGE))
    assert said.startswith("line 4, tasks[0]: ")


def test_a_plan_is_counted_as_it_will_be() -> None:
    """What an action says itself takes the place of what its task says."""
    text = HEAD + task("big", 3500, environment=LARGE, own=", environment: {A: short}")
    assert len(read_definition(text).tasks[0].actions) == 3500


def test_a_plan_may_take_all_of_its_limit_and_not_a_byte_more() -> None:
    texts = ("t", MAC, "a0", "bb:v1", "", "A")
    rest = MAX_PLAN - ENTRY_BYTES - TEXT_BYTES - sum(TEXT_BYTES + len(each) for each in texts)
    read_definition(HEAD + task("t", 1, environment=f'{{A: "{"y" * rest}"}}'))
    assert "task t takes 1MiB or more" in problem_of(HEAD + task("t", 1, environment=f'{{A: "{"y" * (rest + 1)}"}}'))


def test_a_control_character_takes_what_it_takes_in_json() -> None:
    read_definition(HEAD + task("t", 9, environment='{A: "' + "y" * 100_000 + '"}'))
    said = problem_of(HEAD + task("t", 9, environment='{A: "' + r"\e" * 100_000 + '"}'))
    assert "task t take 585.9KiB, and each of its 9 actions gets a copy (5.1MiB)" in said


def test_as_many_small_actions_as_a_text_has_room_for_are_a_plan() -> None:
    text = HEAD + task("t", 7_200)
    assert MAX_TEXT - 10_000 < len(text) < MAX_TEXT
    assert len(read_definition(text).tasks[0].actions) == 7_200


def test_aliases_are_counted_written_out() -> None:
    first = task("first", 0) + f"      - {{name: a, image: x, command: &words [{'word,' * 10_000}]}}\n"
    first = first.replace("actions:", "actions: &actions")
    again = "".join(f"      - {{name: b{number}, image: x, command: *words}}\n" for number in range(50))
    others = "".join(f"  - {{name: t{number}, worker: x, actions: *actions}}\n" for number in range(45))
    assert problem_of(HEAD + first + again + others) == (
        "line 4, tasks[0]: a plan takes at most 1MiB: task first takes 1.1MiB or more with all aliases written out. Shorten "
        "it, or make several workflows of it"
    )


def test_services_are_counted_as_well() -> None:
    listed = "".join(f"  - {{name: s{number}, worker: box, image: x, environment: *same}}\n" for number in range(20))
    first = f"  - {{name: first, worker: box, image: x, environment: &same {LARGE}}}\n"
    said = problem_of(HEAD + task("t", 1) + "services:\n" + first + listed)
    assert ", services: a plan takes at most 1MiB: what is under services takes 1MiB or more" in said
