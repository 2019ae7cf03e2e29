"""The manifest: every behaviour of the specifications, each held by at least one test.

Tests name what they hold by `@pytest.mark.requirement("area:behaviour")`; `test_coverage.py` holds
that no requirement is without a test and that no test names a requirement that does not exist.
"""

from .requirement import Requirement
from .requirements_connect import CONNECT
from .requirements_experience import EXPERIENCE
from .requirements_gateway import GATEWAY
from .requirements_reading import READING
from .requirements_routing import ROUTING
from .requirements_runs import RUNS
from .requirements_safety import SAFETY
from .requirements_serving import SERVING
from .requirements_workshop import WORKSHOP

REQUIREMENTS: tuple[Requirement, ...] = (
    *READING,
    *SERVING,
    *ROUTING,
    *SAFETY,
    *RUNS,
    *WORKSHOP,
    *EXPERIENCE,
    *GATEWAY,
    *CONNECT,
)
