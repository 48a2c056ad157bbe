"""The configuration file: found, read, and refused with everything that is wrong with it.

Most commands only ask which appliance they speak to, and start the quicker for what is not imported then.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.model.errors import Invalid, NotFound, Problem
from tinkbox.model.text import counted
from tinkbox.settings.environment import ClientTarget, default_data, named_server

if TYPE_CHECKING:
    import yaml

    from tinkbox.settings.all_settings import Settings

CONFIG = Path("/etc/tinkbox/tinkbox.yaml")


def load(path: Path | None = None, data: Path | None = None) -> "Settings":
    """Read the configuration file; `data` overrides what it says.

    Without `path` the file in /etc is read when it is there.  Raises NotFound for a file that was
    named but is not there, and Invalid naming every problem in it.
    """
    import yaml

    from tinkbox.settings import contradictions
    from tinkbox.settings.all_settings import Settings
    from tinkbox.settings.declaring import keys_of

    chosen = path if path is not None else CONFIG
    try:
        text = chosen.read_text()
    except FileNotFoundError:
        if path is not None:
            raise NotFound(f"no configuration file {path}: leave --config out to run with the defaults") from None
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"cannot read the configuration file {chosen}: {error}") from None
    try:
        # Of a key that is written twice YAML's readers take one, and say nothing.
        problems = list(_written_twice(yaml.compose(text, yaml.SafeLoader), "", ()))
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Invalid(f"{chosen} is not valid YAML: {_where_it_is_none(error)}") from None
    except RecursionError:
        raise Invalid(f"{chosen} has too many values within each other: write fewer brackets") from None
    settings = keys_of(Settings).read({} if document is None else document, "", problems, contradictions.in_file)
    if problems:
        raise Invalid(f"{chosen} has {counted(len(problems), 'problem')}", problems)
    return settings if data is None else replace(settings, data=data.absolute())


def _written_twice(node: "yaml.Node | None", key: str, around: "tuple[yaml.Node, ...]") -> Iterator[Problem]:
    """Keys that are in a mapping twice; raises MarkedYAMLError for a value that is one of those `around` it."""
    import yaml

    if node is not None and any(each is node for each in around):
        text = "an alias stands within what it names: write the value out"
        raise yaml.MarkedYAMLError(problem=text, problem_mark=node.start_mark)
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _written_twice(each, key, (*around, node))
    if not isinstance(node, yaml.MappingNode):
        return
    lines = dict[str, int]()
    for name, value in node.value:
        path, line = f"{key}.{name.value}" if key else str(name.value), name.start_mark.line + 1
        if path in lines:
            yield Problem(line=line, key=path, text=f"it is in line {lines[path]} as well: leave one of them")
        lines[path] = line
        yield from _written_twice(value, path, (*around, node))


def is_draft(path: Path | None) -> bool:
    """Whether a configuration file, if one was named, is another one than the unit uses: that in /etc."""
    if path is None:
        return False
    try:
        return not path.samefile(CONFIG)
    except OSError:
        return path.absolute() != CONFIG


def client_target(data: Path | None = None) -> ClientTarget:
    """Which appliance the commands speak to.

    `--data` beats `TINKBOX_SERVER` (with `TINKBOX_TOKEN`), which beats the data directory that the
    configuration file names.
    """
    if data is None and (named := named_server()) is not None:
        return named
    return ClientTarget(socket=(data or _configured_data()) / "operator.sock")


def _configured_data() -> Path:
    try:
        CONFIG.stat()
    except FileNotFoundError:
        return default_data().absolute()
    except OSError:
        pass  # reading says what is wrong
    return load().data


def _where_it_is_none(error: "yaml.YAMLError") -> str:
    """In one line, as a person counts lines."""
    import yaml

    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        context = f"{error.context}, " if error.context else ""
        return f"line {error.problem_mark.line + 1}: {context}{error.problem}"
    return " ".join(str(error).split())
