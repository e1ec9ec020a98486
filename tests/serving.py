"""A server as people start it, for tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys


class Serving:
    """A server in a process of its own, on a port that it has found."""

    def __init__(self, *options: str, zone: str = "UTC") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sweeper.cli", "serve", "--port", "0", "--executor", "local", *options],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TZ": zone},
            start_new_session=True,
        )
        assert self.process.stderr
        line = self.process.stderr.readline()
        found = re.search(r"at (http://\S+)", line)
        assert found, line + self.process.stderr.read()
        self.url = found[1]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode
