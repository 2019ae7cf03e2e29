"""Write a view anew, piece by piece, without losing where each character came from."""

from array import array

from prowess.safety.views import View


class Rewriter:
    """Collects what is kept of a view and what is put in its place."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._pieces: list[str] = []
        self._origins = array("L")

    def keep(self, start: int, end: int) -> None:
        """Take over the stretch from `start` to `end` as it is."""
        if start < end:
            self._pieces.append(self._view.text[start:end])
            self._origins.extend(self._view.origins[start:end])

    def put(self, text: str, at: int) -> None:
        """Write `text`, all of which stands for the character at `at`."""
        if len(text) == 1:
            self._pieces.append(text)
            self._origins.append(self._view.origins[at])
        elif text:
            self._pieces.append(text)
            self._origins.extend([self._view.origin(at)] * len(text))

    def swap(self, text: str, start: int) -> None:
        """Write `text` over as many characters from `start` on, one for one."""
        self._pieces.append(text)
        self._origins.extend(self._view.origins[start : start + len(text)])

    def done(self, step: str) -> View:
        """Return the rewritten view, its chain longer by `step`."""
        chain = self._view.chain
        if step and chain[-1:] != (step,):
            chain = (*chain, step)
        return View(self._view.path, "".join(self._pieces), self._origins, chain)
