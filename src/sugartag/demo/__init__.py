"""The whole job on a collection shipped with the package: photographs, or drawings."""

from sugartag.demo.run import run_demo
from sugartag.demo.shipped import DRAWINGS, MIN_USES, PHOTOGRAPHS, import_drawings

__all__ = ["DRAWINGS", "MIN_USES", "PHOTOGRAPHS", "import_drawings", "run_demo"]
