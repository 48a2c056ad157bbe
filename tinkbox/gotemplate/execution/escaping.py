"""html, js and urlquery: print the arguments, nil as `<no value>`, and escape the text."""

from urllib.parse import quote_plus

from tinkbox.gotemplate.printing.formatting import sprint
from tinkbox.gotemplate.types.kinds import to_bytes
from tinkbox.gotemplate.types.structs import pointed_to

HTML = str.maketrans({"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"})
JS = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}


def html(*values: object) -> str:
    """Escape for HTML. Raises GoError like values.text()."""
    return _shown(values).translate(HTML)


def js(*values: object) -> str:
    """Escape for a string in JavaScript. Raises GoError like values.text()."""
    return "".join(_in_js(each) for each in _shown(values))


def urlquery(*values: object) -> str:
    """Escape for the query of a URL. Raises GoError like values.text()."""
    return quote_plus(to_bytes(_shown(values)))


def _shown(values: tuple[object, ...]) -> str:
    return sprint(*("<no value>" if each is None else pointed_to(each) for each in values))


def _in_js(character: str) -> str:
    if character in JS:
        return JS[character]
    is_byte = "\udc80" <= character <= "\udcff"
    if character < " " or (character > "\x7f" and not is_byte and not character.isprintable()):
        return f"\\u{ord(character):04X}"
    return character
