"""The hash of a whole skill: what acceptances, changes and copies know it by."""

import hashlib
from collections.abc import Mapping


def content_hash(files: Mapping[str, bytes]) -> str:
    """Return a hash over every path and every byte; a skill that does not exist has no files."""
    digest = hashlib.sha256()
    # A name that is no UTF-8 arrives with lone surrogates, and still has a hash of its own.
    named = {path.encode("utf-8", "surrogatepass"): content for path, content in files.items()}
    for name, content in sorted(named.items(), key=lambda item: item[0]):
        # Every length in front, so that no two sets of files read the same.
        digest.update(b"%d:%s%d:" % (len(name), name, len(content)))
        digest.update(content)
    return digest.hexdigest()
