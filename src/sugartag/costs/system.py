"""What this machine has left: memory and disk."""

import shutil
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")


def available_memory() -> int | None:
    """Return the bytes that can be used without swapping; None where the system does not say."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def free_disk(place: Path) -> int:
    """Return the bytes that are free where a file of this name would be written."""
    folder = place.absolute()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free
