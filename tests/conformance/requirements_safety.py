"""What a scan says of a skill, for whom, and what may change it."""

from .requirement import Requirement, required

SAFETY: tuple[Requirement, ...] = (
    *required(
        "spec safety/Scanner",
        {
            "safety:exit-codes": "Exit 0 when clean or warned of, 1 on quarantine, 2 on an error.",
            "safety:fail-on": "--fail-on warn fails on warnings, too.",
            "safety:json-shape": "JSON has verdict, findings, ledger and the time it took.",
            "safety:sarif": "SARIF names the rule, the level, the file and the line.",
            "safety:underlined": "Text shows the source line with the place underlined.",
            "safety:seven-proposal": "The seven rules fire on their wording in a proposal, always.",
            "safety:mention-is-info": "A mention is a note in a package; a directive is critical.",
            "safety:bundled-reports": "Bundled skills are reported and never quarantined.",
            "safety:not-scanned": "What was not scanned is a finding.",
            "safety:never-clean": "An error is never clean.",
            "safety:acceptance": "An acceptance holds for one finding and lapses with the content.",
            "safety:no-switch": "Nothing that ships inside a skill switches a rule off.",
            "safety:official": "An official installer is a warning in a package.",
            "safety:explain": "A rule explains itself by its id.",
            "safety:bench": "A labelled set is measured by category, beside the seven rules.",
            "safety:masked": "Evidence shows no secret.",
        },
    ),
    *required(
        "spec safety/Scanner",
        {
            "safety:one-verdict": "What the scanner blocks is ready on no surface, and named so.",
            "safety:accept-at-once": "An acceptance, and its end, counts on every surface at once.",
            "safety:scanned-once": "A content is scanned once, for every process and surface.",
        },
    ),
    *required(
        "spec safety/Bars",
        {
            "safety:evasions": "At least 97 of 100 evasions are critical.",
            "safety:look-alikes": "No honest look-alike is critical.",
            "safety:exact-lines": "Every finding stands on its raw line.",
        },
    ),
)
