"""Every exception sugartag raises on purpose.

::

    SugartagError
    ├── CollectionError      the input data contradicts itself, or lacks what is asked of it
    ├── PictureError         an image file cannot be read, or must not be
    ├── SettingsError        a setting has an unknown name or an impossible value
    ├── StorageError         a stored folder is missing, damaged or of another format
    ├── CapacityError        the job would not fit the memory it may use
    ├── EngineError          the cluster is not there, or cannot do the work
    ├── ConflictError        somebody else changed what is to be changed
    └── MissingExtraError    an optional package is needed for this call

A message is one line: what is wrong, the offending value, what to do. The command line prints
it and exits with code 2.
"""


class SugartagError(Exception):
    """Something the user can act on."""


class CollectionError(SugartagError, ValueError):
    """The input data contradicts itself, or lacks what is asked of it."""


class PictureError(SugartagError, ValueError):
    """An image file cannot be read, or must not be; the message is the reason alone."""


class SettingsError(SugartagError, ValueError):
    """A setting has an unknown name or an impossible value."""


class StorageError(SugartagError, OSError):
    """A stored folder is missing, damaged or of another format."""


class CapacityError(SugartagError, MemoryError):
    """The job would not fit the memory it may use."""


class EngineError(SugartagError, RuntimeError):
    """The cluster is not there, or cannot do the work."""


class ConflictError(SugartagError, RuntimeError):
    """Somebody else changed what is to be changed."""


class MissingExtraError(SugartagError, ImportError):
    """An optional package is needed for this call."""

    def __init__(self, package: str, *, extra: str, needed_for: str) -> None:
        self._given = (package, extra, needed_for)
        super().__init__(
            f"{needed_for} needs {package}; install it with: pip install 'sugartag[{extra}]'"
        )

    def __reduce__(self) -> tuple[object, ...]:
        # By default an exception is made again from its message, which is not what it takes.
        return _missing_extra, self._given


def _missing_extra(package: str, extra: str, needed_for: str) -> MissingExtraError:
    return MissingExtraError(package, extra=extra, needed_for=needed_for)
