"""The views that the readers of languages take; they are defined in `prowess.reading.views`."""

from prowess.reading.views import Lines, Rewriter, Spot, View

__all__ = ["Lines", "Rewriter", "Spot", "View"]
