"""Addresses that are a secret by themselves: whoever has one posts, starts or reports with it.

No password stands in them, and no name beside them says what they are. A row begins with its mark,
goes on with what leads to the secret part, and ends with that part; letter case does not count.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecretAddress:
    """How the secret addresses of one service look, as parts of patterns."""

    # Plain small letters with which each of them begins.
    mark: str
    # From the mark up to the secret part.
    lead: str
    value: str
    # Whether the mark is so much the service's own that whatever follows is the secret.
    sure: bool = True

    @property
    def pattern(self) -> re.Pattern[str]:
        """What matches one of them, from its mark on; its secret is the group `value`."""
        return re.compile(f"{self.lead}(?P<value>{self.value})", re.IGNORECASE)


_REST = r"[\w/@.-]{8,300}"
_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"

ADDRESSES = (
    SecretAddress("hooks.slack.com/", r"hooks\.slack\.com/\w{1,20}/", r"[\w/-]{4,200}"),
    # Discord, and programs that speak like it; a version may stand before the word.
    SecretAddress("/webhooks/", r"/webhooks/[0-9]{4,20}/", r"[\w-]{4,100}"),
    SecretAddress("webhook.office.com/", r"webhook\.office\.com/", _REST),
    SecretAddress("outlook.office", r"outlook\.office(?:365)?\.com/webhook\w{0,4}/", _REST),
    SecretAddress("hooks.zapier.com/", r"hooks\.zapier\.com/hooks/\w{1,20}/", r"[\w/-]{4,200}"),
    SecretAddress("make.com/", r"make\.com/(?<=\bhook\...[0-9]\.make\.com/)", r"[\w-]{8,80}"),
    SecretAddress("hook.integromat.com/", r"hook\.integromat\.com/", r"[\w-]{8,80}"),
    SecretAddress("maker.ifttt.com/", r"maker\.ifttt\.com/(?:[\w-]{1,80}/){1,6}key/",
                  r"[\w-]{8,80}"),
    SecretAddress("/bot/v2/hook/", r"/bot/v2/hook/", r"[\w-]{8,80}"),
    SecretAddress("hc-ping.com/", r"hc-ping\.com/", r"[\w/-]{8,120}"),
    SecretAddress("/integration/", r"/integration/(?<=pagerduty\.com/integration/)", r"\w{8,64}"),
    # Of servers that people run themselves, under any name: known by the shape of what follows.
    SecretAddress("/hooks/", r"/hooks/", r"(?=[a-z]{0,79}[0-9])[a-z0-9]{17,40}(?:/[a-z0-9]{8,80})?"
                  r"(?![\w-])", sure=False),
    SecretAddress("/webhook/", r"/webhook/", rf"{_UUID}|(?=[\w-]{{0,79}}[0-9])[\w-]{{20,80}}",
                  sure=False),
    SecretAddress("/webhook-test/", r"/webhook-test/", _UUID, sure=False),
)  # fmt: skip
