"""Options of the command line, which pages do not name."""

from __future__ import annotations

import re

_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")


def without_flags(text: str) -> str:
    """A text for pages: "--over" becomes "over". The library's messages name options only where no page shows them.

    Problems that earlier versions have recorded name some, too.
    """
    return _FLAG.sub(lambda flag: flag[1].replace("-", " "), text)
