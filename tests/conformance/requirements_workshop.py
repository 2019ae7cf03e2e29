"""The workshop: how it is set, its three ways in, proposals, writes, guidance, terminal and log."""

from .requirement import Requirement, required

WORKSHOP: tuple[Requirement, ...] = (
    *required(
        "spec workshop/Configuration",
        {
            "workshop:off-unless-set": (
                "Without enabled: true of the entry nothing is learned, written or told."
            ),
            "workshop:off-refuses": (
                "Switched off, every edge refuses the same deeds in the same words."
            ),
            "workshop:defaults": "The defaults are those of the document.",
            "workshop:clamped": "A number out of range is clamped and reported once.",
            "workshop:wrong-types": "A value of the wrong type takes the default and is reported.",
            "workshop:live": "A change in the file holds from the next turn.",
            "workshop:profiles": "Enabling writes the four profiles and keeps everything else.",
            "workshop:size": "The resulting file has at most maxSkillBytes bytes.",
        },
    ),
    *required(
        "spec workshop/Three ways in",
        {
            "workshop:tool-status": "status counts the proposals of the workspace by state.",
            "workshop:tool-suggest": "suggest queues a proposal with the fields of the document.",
            "workshop:tool-suggest-kinds": "A section appends, old and new text replace.",
            "workshop:tool-apply-overrides": "apply true or false overrides the policy.",
            "workshop:tool-lists": "Lists are newest first and by state.",
            "workshop:tool-inspect": "inspect shows one proposal.",
            "workshop:tool-apply": "apply writes a pending proposal, once.",
            "workshop:tool-reject": "reject marks a proposal, which is then never applied.",
            "workshop:tool-history": "history and rollback are actions.",
            "workshop:tool-revise": "revise changes what a pending proposal says.",
            "workshop:quarantine-final": (
                "A quarantined proposal is never applied, in any sequence of calls."
            ),
            "workshop:owner": (
                "A correction that clearly belongs to a writable skill is appended there, and why."
            ),
            "workshop:review-transcript": (
                "The reviewer sees the last 12,000 characters, cut at the start of a line."
            ),
            "workshop:review-skills": (
                "It sees at most 12 skills of the workspace, the nearest, 2,000 characters each."
            ),
            "workshop:review-json": (
                "One object of fenced, bare or embedded JSON counts; all else is logged, skipped."
            ),
            "workshop:review-retried": (
                "Counters reset after a review that ran; a failed one is retried, at most thrice."
            ),
            "workshop:review-models": "A model string or the configured endpoint is asked.",
            "workshop:review-command": (
                "A command reads the question and prints the reply, without a shell."
            ),
            "workshop:review-timeout": (
                "A reviewer that takes too long is stopped with all that it started."
            ),
            "workshop:review-no-tools": "The reviewer has no tools.",
            "workshop:review-prompt": "The question asks for JSON only and names the actions.",
            "workshop:no-secrets": (
                "Text that looks like a credential is refused, masked, and stored nowhere."
            ),
        },
    ),
    *required(
        "openclaw 11.1",
        {
            "workshop:tool-refusals": "Wrong calls are refused in the words of the document.",
            "workshop:phrases": "Seven families of phrases are corrections, and nothing else.",
            "workshop:lengths": "A correction has 24 to 1200 characters once space is collapsed.",
            "workshop:topics": "The topic of a correction names its skill.",
            "workshop:last-match": "The last matching message of a user counts.",
            "workshop:content-shapes": "Text is read from texts and from blocks; odd ones pass.",
            "workshop:capture-conditions": (
                "Nothing is captured when it is off, not wanted, or the turn failed."
            ),
            "workshop:thresholds": (
                "Reviews come after enough turns or tool calls, counted across processes."
            ),
            "workshop:review-defaults": "What a reviewer leaves out has defaults.",
            "workshop:review-kinds": "A reviewer can create, append and replace, scanned.",
            "workshop:warnings-kept": "Warnings are kept with a proposal and do not block.",
            "workshop:quarantine-kept": "Critical findings quarantine, with findings and reason.",
            "workshop:create-existing": "Creating what exists appends to its workflow.",
            "workshop:append-missing": "Appending to what is missing makes a small skill.",
        },
    ),
    *required(
        "spec workshop/Proposals",
        {
            "workshop:fields": "A proposal has the fields of the document and says who made it.",
            "workshop:states": "Only legal moves between states are made.",
            "workshop:revisions": "A decision about another revision is refused with both hashes.",
            "workshop:stale": "An update of a file that changed since is stale and not written.",
            "workshop:dedupe": "The same change of the same skill is one proposal.",
            "workshop:pruning": "Over maxPending the oldest are pruned, each with an event.",
            "workshop:near-duplicates": (
                "A near-duplicate becomes an addition to what is there, unless overruled."
            ),
            "workshop:evidence": "A correction is quoted with its place.",
            "workshop:event-log": "The log only grows and is read on from a cursor.",
        },
    ),
    *required(
        "spec workshop/Writes",
        {
            "workshop:names": "Names are normalised, or refused with a proposal of one.",
            "workshop:contained": "Nothing is written outside of the skill or through a link.",
            "workshop:append-heading": "A section is a heading, not a piece of text.",
            "workshop:append-end": "An addition goes to the end of its section, once.",
            "workshop:replace-first": "A replacement takes the first exact match.",
            "workshop:literal": "Text is literal.",
            "workshop:bytes-kept": "All that is not the change stays byte for byte.",
            "workshop:yaml": "A description is valid YAML whatever it holds.",
            "workshop:frontmatter-keys": "Only the six standard keys are written.",
            "workshop:support-files": (
                "Support files are scanned, limited, and part of the proposal in pending mode."
            ),
            "workshop:support-paths": "Support files stay in their four folders.",
            "workshop:scan-whole": "The whole resulting skill is scanned.",
            "workshop:one-wins": "Of two processes that write at once one wins, one is told.",
            "workshop:rollback": "A rollback brings back the version before, byte for byte.",
            "workshop:seen-at-once": "A written skill is seen at once, by watchers too.",
            "workshop:crash": "A write that is cut off leaves the old state or the new one.",
            "workshop:hand-written": "A hand-written skill waits for a person, in auto mode too.",
        },
    ),
    *required(
        "spec workshop/Prompt guidance",
        {"workshop:guidance": "Agents are told in a short block, one line differs by policy."},
    ),
    *required(
        "spec workshop/Terminal",
        {
            "workshop:terminal-cycle": "Each step of a proposal can be taken in the terminal.",
            "workshop:json-everywhere": "Every command speaks JSON, refusals too.",
            "workshop:tool-json": "workshop tool answers one call, JSON in and JSON out.",
            "workshop:show-diff": "show --diff prints the coloured diff and findings with lines.",
            "workshop:asks-once": "apply asks once on a terminal, and needs --yes elsewhere.",
            "workshop:transcripts": "Corrections are found in transcripts of several shapes.",
        },
    ),
    *required(
        "spec workshop/Logs",
        {"workshop:logs": "The six lines of the document are logged, structured, unforged."},
    ),
    *required(
        "own",
        {
            "workshop:plugins-list": "plugins list says whether the workshop is on.",
            "workshop:explain": "status --explain answers every symptom of the document.",
            "workshop:scenarios": "qa suite plays the scenarios, several at once, apart.",
        },
    ),
)
