"""Builds the compiled operators with the project where torch is at hand; pyproject.toml says the rest.

In pip's isolated builds it is not: install torch first and pass --no-build-isolation, or run `python -m cuda_ext.build`
afterwards.
"""

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).parent))

try:
    import torch  # noqa: F401
except ImportError:
    sys.stderr.write(
        "torch is not at hand: the compiled operators are left out; run `python -m cuda_ext.build` later\n"
    )
    setup()
else:
    from cuda_ext.build import build_command, extension, wants_cuda

    setup(ext_modules=[extension(wants_cuda())], cmdclass={"build_ext": build_command()})
