"""The file that a download arrives in: under a private name, and gone unless it came whole."""

import os
import tempfile


class PrivateFile:
    """A file under a private name that is either whole and on disk, or gone."""

    def __init__(self, folder: str) -> None:
        handle, self.path = tempfile.mkstemp(dir=folder, prefix=".download-", suffix=".part")
        self._file = os.fdopen(handle, "wb")
        self._whole = False

    def write(self, chunk: bytes) -> None:
        """Add to the file."""
        self._file.write(chunk)

    def finish(self) -> None:
        """Have all of it on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._whole = True

    def close(self) -> None:
        """Close the file, and remove it unless it was finished."""
        try:
            self._file.close()
        finally:
            if not self._whole:
                os.unlink(self.path)
