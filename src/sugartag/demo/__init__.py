"""The whole job on the collection shipped with the package: OpenClipart drawings and their tags."""

from sugartag.demo.run import run_demo
from sugartag.demo.shipped import MIN_USES, import_shipped

__all__ = ["MIN_USES", "import_shipped", "run_demo"]
