"""Python packages that only some commands require: one message where one is missing."""

import importlib
import sys
from types import ModuleType

from reap.base.errors import ReapError


def require(name: str, what: str, *requirements: str, otherwise: str = "") -> ModuleType:
    """The module of this name. Throws ReapError that `what` requires its package, and how to install it.

    `otherwise` follows the command of the hint: what to do without the package.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = (error.name or name).partition(".")[0]
        raise ReapError(
            f"the Python package {package} is not installed; {what} requires it",
            f"{sys.executable} -m pip install {' '.join(map(repr, requirements))}{otherwise}",
        ) from error
