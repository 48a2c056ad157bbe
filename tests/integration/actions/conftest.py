"""Actions are programs that find their modules beside them, as they do in their containers."""

import sys
from pathlib import Path

ACTIONS = Path(__file__).parents[3] / "examples" / "actions"
sys.path[:0] = [str(ACTIONS), str(ACTIONS / "install-image")]
