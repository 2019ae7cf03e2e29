"""From a message to the right skill, or to none: evidence, rank, decision, fallbacks, terminal."""

from .requirement import Requirement, required

ROUTING: tuple[Requirement, ...] = (
    *required(
        "spec routing/What it does",
        {
            "routing:evidence-description": "The description says when a skill is meant.",
            "routing:evidence-negations": (
                "What a description says it is not for attracts no message."
            ),
            "routing:evidence-triggers": "Trigger phrases count, as text and as any and all.",
            "routing:evidence-examples": "Example requests of the author count.",
            "routing:evidence-when-to-use": "when_to_use and 'when to use' bullets count.",
            "routing:evidence-quotes": "Requests that the description quotes count.",
            "routing:evidence-body": "The body counts.",
            "routing:handoffs": "A hand-off sentence sends its request to the skill it names.",
            "routing:vetoes": "A phrase of triggers.none keeps the skill out.",
            "routing:confirmed": "Utterances confirmed by use are added.",
            "routing:vectors-kept": "Vectors are kept; a changed skill is embedded alone.",
            "routing:exact-name": "An exact skill name or a slash command wins at once.",
            "routing:asking-part": "A long message is cut to the part that asks.",
            "routing:follow-ups": "A follow-up inherits the last activation.",
            "routing:loaded-excluded": "Skills that are loaded are excluded.",
            "routing:files": "A path or file type that matches a skill's glob is a signal.",
            "routing:identifiers": "camelCase and identifiers are split, and words are stemmed.",
            "routing:other-scripts": "Chinese and Japanese messages find skills in their language.",
            "routing:other-languages": "Spanish messages find skills in their language.",
            "routing:rerank-off": "Nothing is reranked by default.",
            "routing:three-decisions": "The decision is load, offer or none.",
            "routing:max-skills": "At most maxSkills, by default three, are loaded.",
            "routing:general-messages": "Greetings, thanks and general questions load nothing.",
            "routing:broad-skills": "A skill that fits everything has a higher bar.",
            "routing:says-why": "Every match says which sentence, which words and each share.",
            "routing:why-not": "why-not explains an absence.",
            "routing:degraded": (
                "Without a working encoder words route alone, and the answer is degraded."
            ),
            "routing:reembedded": "A vector of another encoder is made anew.",
            "routing:other-encoders": "Another encoder is chosen by setting.",
            "routing:calibrated": "Calibrated thresholds belong to their encoder.",
        },
    ),
    *required(
        "spec routing/Bars",
        {
            "routing:published-prompts": "The four published prompts find the bundled skills.",
            "routing:lazy-model": "Importing the router does not load the model.",
        },
    ),
    *required(
        "spec routing/Terminal",
        {
            "routing:route-json": "route --json has its documented shape.",
            "routing:route-top": "--top bounds what is considered.",
            "routing:route-threshold": "--threshold stands over the configured one.",
            "routing:route-agent": "--agent routes among what that agent may use.",
            "routing:why-not-command": "why-not SKILL MESSAGE explains, as text and as JSON.",
        },
    ),
    *required(
        "issue skill discovery",
        {
            "routing:vocabulary-gap": (
                "A message in the user's words finds a skill written in the operator's words."
            ),
            "routing:no-special-metadata": "A skill with nothing but a description is found.",
            "routing:configured-threshold": "Skills are loaded above a configurable threshold.",
        },
    ),
    *required(
        "own",
        {
            "routing:any-message": "No message is too odd, too long or too short to be answered.",
            "routing:injection": "A message cannot talk its way to what is kept from the model.",
            "routing:no-skills": "Without skills the answer is none.",
            "routing:route-text": "route tells a person what is loaded and why.",
            "routing:route-stdin": "A message may come from standard input.",
            "routing:same-everywhere": "The library and the terminal give the same answer.",
            "routing:quick-commands": "Commands that do not route load neither model nor numpy.",
            "routing:settings-checked": "A setting that makes no sense is said and ignored.",
            "routing:rerank-fails": "A reranker that fails is told; the answer stands without it.",
            "routing:hidden": "What the model may not choose is loaded only when it is called.",
        },
    ),
    *required(
        "own",
        {
            "edges:answer": "Every surface routes a message to the same skill, or to none.",
            "edges:withheld": "What fits and cannot be used is named alike, with the reason.",
            "edges:tools": "Finding, loading and reading say the same to every model.",
            "edges:settings": "What no setting takes is refused in the same words everywhere.",
            "edges:usage": "Every surface counts an answer once, and fails none over it.",
        },
    ),
)
