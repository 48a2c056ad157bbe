"""The verbs of `tinkbox service`, and what their help says of the states that services have."""

import argparse

from tinkbox.cli.grammar import Verbs, add_listing, add_noun, add_verb

STORY = """\
Look at the containers that workflows have in the background: what a machine boots from, or what it sends things to.

They start before the first action of their workflow, which begins when every one of them was ready, and they are
ended and removed when it is over. What becomes of a service in between hurts only the actions that need it.
"""
STATES = """\
states:
  PENDING      its host has not begun with it: the workflow is not next on its machine, or the host is away
  STARTING     its image is fetched, its container is made, or its health check has not succeeded yet
  READY        it is up, and healthy where it has a health check
  UNHEALTHY    it was ready, and its health check fails; it goes on running
  RESTARTING   it ended and is started again after 1, 2, 4, ... seconds
  EXITED       it ended well, and is not started again
  FAILED       it ended badly or could not start, and is not started again
  STOPPING     its workflow is over, and it was told to end; after 10 seconds it is killed
  STOPPED      it was ended because its workflow is over
"""


def add_service(nouns: "Verbs[argparse.ArgumentParser]") -> None:
    verbs = add_noun(nouns, "service", "what workflows run in the background", STORY, STATES)
    add_listing(
        add_verb(
            verbs,
            "list",
            "service:show_list",
            "where the services of workflows stand",
            "Without a KEY, which names a workflow, of all that are not over and of the newest others.",
        ),
        keys="*",
    )
    logs = add_verb(
        verbs,
        "logs",
        "logs:logs_of_service",
        "what a service printed",
        "Into a pipe or file it is the bytes themselves; which run they are of goes to standard error: there is one for "
        "each time that the workflow was taken up, whatever the service was restarted in it.",
    )
    logs.usage = "tinkbox service logs [-h] [-f] [WORKFLOW/]SERVICE"
    logs.add_argument(
        "key",
        metavar="SERVICE",
        help="WORKFLOW/SERVICE, the workflow being an id, a unique beginning of one, or a name; or SERVICE alone, for "
        "the newest workflow that has one so called",
    )
    logs.add_argument("-f", "--follow", action="store_true", help="go on until it ended and is not started again")
