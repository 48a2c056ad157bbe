"""What became of each document that was to be created, as the appliance answers it."""

from collections.abc import Sequence

from tinkbox.cli.output.formats import Document


def results_of(answer: Document) -> Sequence[Document]:
    """Each with its `id` and `outcome`, in the order of the file; what has no outcome is new.

    So is the single thing that is made without a file, and so were all `created` ones of releases that told no results.
    """
    results: Sequence[Document] = answer.get("results") or answer.get("created", [answer])
    return results


def word_of(result: Document) -> str:
    """What a person reads before its id."""
    return "Existing" if result.get("outcome") == "unchanged" else "Created"
