"""What holds for every test: machines are shared and slow, so no example has a time limit.

Each run draws other examples: fewer of them in each run keep the whole suite within its minutes.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "shared", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared")
