"""`tinkbox template`."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import (
    add_filters,
    add_keys,
    add_labels,
    add_listing,
    add_require_images,
    add_strict,
    add_verb,
    add_verbs,
    add_watch,
    add_yes,
)
from tinkbox.cli.input_documents import add_text_source, input_file, read_devices, read_text
from tinkbox.cli.interruptions.breaking_off import told_to_be_uncertain
from tinkbox.cli.labelling import declare_label
from tinkbox.cli.output.changes import change_each, show_each, tell_deleted
from tinkbox.cli.output.created import results_of, word_of
from tinkbox.cli.output.formats import (
    As2020,
    Column,
    Document,
    id_columns,
    names_one,
    short,
    show,
    show_notes,
    show_texts,
)
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import age, clean, moment
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.selection import confirm_keys
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.cli.typed_words import key_for_scripts
from tinkbox.model.errors import Invalid, NotFound, Problem
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.labels import show_labels

COLUMNS: Sequence[Column] = (
    *id_columns(),
    Column("Name", "name", fit=Fit(least=12)),
    Column("Namespace", lambda template: template.get("namespace", ""), wide=True),
    Column("Age", "created_at", age),
    Column("Changed", "updated_at", age),
    Column("Labels", "labels", show_labels, Fit(least=8, rank=1)),
)
AS_2020 = As2020(
    (
        Column("Template ID", "id"),
        Column("Template Name", "name"),
        Column("Created At", "created_at", moment),
        Column("Updated At", "updated_at", moment),
    ),
    as_data=True,
)


def _key(template: Document) -> str:
    """What commands take for it and for no other template; one of the program has no id."""
    return key_for_scripts(template["name"], template["id"])


LISTED = List(columns=COLUMNS, name=_key, as_2020=AS_2020, sort="name")

NAMED: Final = 4  # machines with the same problems
CATALOGUE: Sequence[Column] = (
    Column("Name", "name"),
    Column("About", "about", fit=Fit(least=20)),
    Column("Used Instead", "stored", short),
)


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    verb = add_verb(verbs, "create", create, "store a template")
    verb.add_argument(
        "-n", "--name", help="letters, digits, dot, dash and underscore (default: the name in the template)"
    )
    add_text_source(verb)
    add_labels(verb, "a label", "-l")
    add_strict(verb)
    verb = add_listing(add_verb(verbs, "list", show_list, "templates"))
    add_filters(verb, "label", sorts=("name", "created_at", "updated_at"), age="created_at")
    add_watch(verb)
    add_listing(add_verb(verbs, "get", get, "a template's text, or the list"), keys="*", kind=KeyKind.TEMPLATE)
    verb = add_listing(
        add_verb(verbs, "catalogue", show_catalogue, "the templates that are built in, or the text of one")
    )
    verb.add_argument("name", nargs="?", metavar="BUILT-IN", help="the name of one")
    verb = add_verb(verbs, "update", update, "change a template; existing workflows stay as they are")
    verb.add_argument("key", metavar="TEMPLATE")
    verb.add_argument("-n", "--name")
    add_text_source(verb)
    add_strict(verb)
    declare_label(verbs, KeyKind.TEMPLATE, lambda operator: operator.templates)
    add_yes(
        add_keys(
            add_verb(verbs, "delete", delete, "forget templates", "At a terminal it asks first."), KeyKind.TEMPLATE
        )
    )
    verb = add_verb(verbs, "validate", validate, "say what is wrong with a template, for every machine")
    verb.add_argument(
        "source", nargs="?", metavar="FILE|TEMPLATE", help="a file, - for standard input, or a stored template"
    )
    verb.add_argument("-r", "--hardware", metavar="JSON", help="for these devices only")
    add_text_source(verb)
    add_require_images(verb)
    add_strict(verb)


def show_catalogue(chosen: argparse.Namespace) -> None:
    """The templates of the program, or the text of one."""
    found = ask(chosen, lambda operator: operator.templates.catalogue())
    if chosen.name is None or chosen.quiet:
        show(chosen, found, CATALOGUE, key="name")
        return
    named = [each for each in found if each["name"] == chosen.name]
    if not named:
        known = ", ".join(each["name"] for each in found)
        raise NotFound(
            f"no template {chosen.name[:80]!r} is built in, there is {known}; stored ones: `tinkbox template list`"
        )
    if named[0]["stored"]:
        text = f"tinkbox: the stored template {named[0]['stored']} has this name, and is used instead"
        print(clean(text), file=sys.stderr)
    show_texts(chosen, named, CATALOGUE, "data", name="name", one=True)


_SAFE_AGAIN: Final = "typing the same again is safe, for a template that is there is not stored a second time"


def create(chosen: argparse.Namespace) -> None:
    text = read_text(chosen.file, "template")
    with told_to_be_uncertain("the template may have been stored", _SAFE_AGAIN):
        answer = ask(
            chosen,
            lambda operator: operator.templates.create(
                chosen.name or "", text, dict(chosen.labels), strict=chosen.strict
            ),
        )
    show_notes(answer)
    for each in results_of(answer):
        print(f"{word_of(each)} Template: ", each["id"])


def show_list(chosen: argparse.Namespace) -> int:
    return show_found(chosen, lambda operator: operator.templates, LISTED)


def get(chosen: argparse.Namespace) -> int:
    if not chosen.keys:
        LISTED.show(chosen, *ask(chosen, lambda operator: operator.templates.found(LISTED.filters(chosen))))
        return 0
    return show_each(
        chosen,
        lambda operator, key: operator.templates.get(key),
        lambda found: show_texts(chosen, found, COLUMNS, "data", AS_2020, name=_key, one=names_one(chosen)),
    )


def update(chosen: argparse.Namespace) -> None:
    text = read_text(chosen.file, "template") if chosen.file is not None or chosen.name is None else None
    if text is None and chosen.name is None:
        raise Invalid("nothing to update: give --name, --file, or both")
    updated = ask(
        chosen, lambda operator: operator.templates.update(chosen.key, chosen.name, text, strict=chosen.strict)
    )
    show_notes(updated)
    print("Updated Template: ", updated["id"])


def delete(chosen: argparse.Namespace) -> int:
    confirm_keys(chosen, "Forget", KeyKind.TEMPLATE)

    def tell(deleted: Document) -> None:
        show_notes(deleted)
        tell_deleted(chosen, "Template", deleted["id"])

    return change_each(chosen, lambda operator, key: operator.templates.delete(key), tell)


def validate(chosen: argparse.Namespace) -> int:
    """Say for each machine whether the template renders; 0 only when it does for all of them."""
    from tinkbox.cli.output.progress_line import while_it_works

    asked: dict[str, object] = {}
    # No template's name has a slash.
    named = chosen.source is not None and (
        chosen.source == "-" or "/" in chosen.source or Path(chosen.source).is_file()
    )
    file = input_file(chosen.source) if named else chosen.file
    if chosen.source and file is None:
        asked["template"] = chosen.source
    else:
        asked["data"] = read_text(file, "template")
    if chosen.hardware is not None:
        # Where the command line of an older release was read, this was a text.
        try:
            asked["hardware"] = read_devices(chosen.hardware)
        except argparse.ArgumentTypeError as error:
            chosen.usage_error(f"argument -r/--hardware: {error}")
    if chosen.require_images:
        asked["require_images"] = True
    if chosen.strict:
        asked["strict"] = True
    with while_it_works("rendering the template") as progress:
        answer = ask(chosen, lambda operator: operator.templates.validate(asked, progress))
    show_notes(answer)
    for template, machines, problems in _alike(answer["verdicts"]):
        what = " for ".join(clean(each) for each in (template, machines) if each)
        print(f"{what or 'the template'}: {'problems' if problems else 'ok'}")
        for problem in problems:
            print(clean(f"  {problem}"))
    failed = sum(bool(verdict["problems"]) for verdict in answer["verdicts"])
    if not answer["verdicts"]:
        print("the template is valid, and no machine is known to render it for")
    elif not failed:
        print("the template is valid")
    return 1 if failed else 0


def _alike(verdicts: Sequence[Document]) -> Iterator[tuple[str, str, Sequence[Problem]]]:
    """Each template with a machine, or with those that have the same problems, and these."""
    namespaces: dict[str, set[str]] = {}
    for each in verdicts:  # earlier appliances tell no namespaces
        namespaces.setdefault(each["template"], set()).add(each.get("namespace", ""))
    groups: dict[tuple[str, tuple[Problem, ...], int], list[str]] = {}
    for number, each in enumerate(verdicts):
        title = each["template"]
        if len(namespaces[title]) > 1:
            title = f"{title} of namespace {each['namespace']}"
        problems = tuple(Problem(**problem) for problem in each["problems"])
        groups.setdefault((title, problems, -1 if problems else number), []).append(each["machine"])
    for (template, problems, _), machines in groups.items():
        more = f" and {len(machines) - NAMED} more" if len(machines) > NAMED else ""
        yield template, f"{', '.join(machines[:NAMED])}{more}", problems
