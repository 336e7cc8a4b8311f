"""What a worker does beside answering."""

import multiprocessing
import os
import signal
import threading
import time
from typing import Any, Final

_GRACE_S: Final = 5


def end_with_parent() -> None:
    """End this process when the one that started it is gone, killed even: else it would hold the port for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:  # a single worker is the command's own process
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: Any) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)  # for calls in hand
    os._exit(1)
