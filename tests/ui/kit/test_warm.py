"""What is done once after imports keeps nothing of the session that happens to do it."""

from __future__ import annotations

import subprocess
import sys

SESSION = """
import gc, threading, weakref
import numpy
from ui.kit import warm
session = threading.Thread(target=warm.settle)
session.start()
session.join()
kept = weakref.ref(session)
del session
gc.unfreeze()
gc.collect()
print(kept())
"""


def test_the_thread_of_a_session_is_not_kept():
    """Its thread refers to all that the session holds: the bytes of an upload, too."""
    made = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True)
    assert (made.stdout, made.stderr) == ("None\n", "")
