"""Every setting, with its type, its default and what it does.

The reference page is made from this table; `config set` warns of keys that are not in it.
"""

from typing import NamedTuple


class Setting(NamedTuple):
    """A row of the settings reference."""

    key: str
    kind: str
    default: str
    meaning: str


SETTINGS = (
    Setting(
        "skills.specMode",
        "legacy, mixed or strict",
        "mixed",
        "How strictly skill files are read. `agent.skillsSpecMode` is read too.",
    ),
    Setting(
        "agent.skillsSpecMode",
        "legacy, mixed or strict",
        "mixed",
        "The OpenPocket spelling of `skills.specMode`, used when that one is absent.",
    ),
    Setting(
        "skills.load.extraDirs",
        "list of folders",
        "[]",
        "More folders to search, lowest precedence; `~` is expanded, later ones win.",
    ),
    Setting(
        "skills.load.harnessDirs",
        "true, false or list of harness names",
        "true",
        "Whether folders of other harnesses (`.claude/skills`, `.cursor/skills`, ...) are read.",
    ),
    Setting(
        "skills.load.precedence",
        "openclaw or openpocket",
        "openclaw",
        "`openclaw`: the highest source wins. `openpocket`: bundled, then managed, then workspace.",
    ),
    Setting(
        "skills.load.allowSymlinkTargets",
        "list of folders",
        "[]",
        "Folders outside a root that links in workspace, project and extra roots may lead to.",
    ),
    Setting(
        "skills.load.watch",
        "true or false",
        "true",
        "Whether a long-running process watches the skill folders for changes.",
    ),
    Setting(
        "skills.load.watchDebounceMs",
        "integer, at least 0",
        "250",
        "How long the watcher waits for a burst of changes to end.",
    ),
    Setting(
        "skills.limits.maxCandidatesPerRoot",
        "integer, at least 1",
        "300",
        "How many folders of one root are looked at.",
    ),
    Setting(
        "skills.limits.maxSkillsLoadedPerSource",
        "integer, at least 1",
        "200",
        "How many valid skills one root may contribute.",
    ),
    Setting(
        "skills.limits.maxSkillsInPrompt",
        "integer, at least 0",
        "150",
        "How many skills the prompt block lists at most.",
    ),
    Setting(
        "skills.limits.maxSkillsPromptChars",
        "integer, at least 0",
        "18000",
        "How many characters the prompt block takes at most.",
    ),
    Setting(
        "skills.limits.maxSkillFileBytes",
        "integer, at least 1",
        "256000",
        "How large a skill file may be.",
    ),
    Setting(
        "skills.allowBundled",
        "list of names or skill keys",
        "absent: all",
        "Which bundled skills may be used. An empty list restricts nothing.",
    ),
    Setting(
        "skills.pinned",
        "list of names or skill keys",
        "[]",
        "Skills that are the last to be dropped when the prompt block is over its budget.",
    ),
    Setting(
        "skills.entries.<skillKey>.enabled",
        "true or false",
        "true",
        "`false` switches the skill off for every agent.",
    ),
    Setting(
        "skills.entries.<skillKey>.apiKey",
        "string or secret reference",
        "absent",
        "The secret for the skill's `primaryEnv`. Never shown.",
    ),
    Setting(
        "skills.entries.<skillKey>.env",
        "map of strings or secret references",
        "{}",
        "Environment variables of the skill; a name in it counts as set. Values are never shown.",
    ),
    Setting(
        "skills.entries.<skillKey>.allowEnv",
        "list of names",
        "[]",
        "Variables of your own accounts (`GITHUB_TOKEN`, ...) that the skill may have; audited.",
    ),
    Setting(
        "skills.entries.<skillKey>.config",
        "any map",
        "{}",
        "Free settings that the skill's own instructions refer to.",
    ),
    Setting(
        "skills.nodes",
        "list of {name, platforms, bins}",
        "[]",
        "Remote machines whose platform and programs count towards requirements.",
    ),
    Setting(
        "skills.install.preferBrew",
        "true or false",
        "true",
        "Offer Homebrew first where it is available.",
    ),
    Setting(
        "skills.install.nodeManager",
        "npm, pnpm, yarn or bun",
        "npm",
        "The program that install options for Node packages name.",
    ),
    Setting(
        "skills.install.privateHosts",
        "list of `host` or `host:port`",
        "[]",
        "Hosts of your own network that downloads of skills may come from, also over http.",
    ),
    Setting(
        "skills.routing.encoder",
        "bundled, none, a folder or an address",
        "bundled",
        "What turns texts into vectors: the bundled model, nothing (words alone route), a folder "
        "with an ONNX or sentence-transformers model, or an OpenAI-compatible endpoint.",
    ),
    Setting(
        "skills.routing.encoderModel",
        "string",
        "absent",
        "The name of the model behind the encoder's endpoint.",
    ),
    Setting(
        "skills.routing.encoderKeyEnv",
        "name of a variable",
        "absent",
        "The environment variable that holds the key for the encoder's endpoint.",
    ),
    Setting(
        "skills.routing.maxSkills",
        "integer, at least 0",
        "3",
        "How many skills one message loads or offers at most.",
    ),
    Setting(
        "skills.routing.loadThreshold",
        "number between 0 and 1",
        "0.5, or what was calibrated",
        "From which score on a skill is loaded.",
    ),
    Setting(
        "skills.routing.offerThreshold",
        "number between 0 and 1",
        "0.2, or what was calibrated",
        "From which score on a skill is offered to the agent.",
    ),
    Setting(
        "skills.routing.rerank",
        "off or a folder",
        "off",
        "A folder with an ONNX cross-encoder that judges the best ten skills again. Off, because "
        "the one we trained did not pay for its size and its time.",
    ),
    Setting(
        "skills.model.endpoint",
        "address",
        "absent",
        "The OpenAI-compatible endpoint of your own language model, for `examples generate`.",
    ),
    Setting("skills.model.name", "string", "absent", "The name of that model."),
    Setting(
        "skills.model.keyEnv",
        "name of a variable",
        "absent",
        "The environment variable that holds its key.",
    ),
    Setting(
        "skills.safety.egress",
        "object: VARIABLE to list of hosts",
        "{}",
        "Which hosts the value of a variable may be sent to, each by its exact name: the scanner "
        "then only notes it.",
    ),
    Setting(
        "skills.safety.review",
        "true or false",
        "false",
        "Whether your language model is asked about a skill, too. It may raise a verdict, never "
        "lower one, and it reads the skill's text.",
    ),
    Setting(
        "agents.list",
        "list of agents",
        "one agent, main",
        "Agents with `id`, and optionally `name`, `default`, `workspace`, `skills` and "
        "`skillsLimits.maxSkillsPromptChars`. `agents.entries.<id>` is read too.",
    ),
    Setting(
        "agents.list[].skills",
        "list of names or skill keys",
        "absent: the defaults",
        "Which skills the agent may use. Replaces the defaults; `[]` allows none.",
    ),
    Setting(
        "agents.defaults.skills",
        "list of names or skill keys",
        "absent: all",
        "Which skills an agent without a list of its own may use.",
    ),
    Setting(
        "agents.defaults.workspace",
        "folder",
        "the current folder",
        "The workspace of agents that name none.",
    ),
    Setting(
        "agents.entries.<id>",
        "an agent without its id",
        "absent",
        "Another way to write an agent; the keys are those of `agents.list[]`.",
    ),
    Setting(
        "agents.list[].skillsLimits.maxSkillsPromptChars",
        "integer, at least 0",
        "skills.limits.maxSkillsPromptChars",
        "The agent's own budget for its prompt block.",
    ),
    Setting(
        "agents.defaults.skillsLimits.maxSkillsPromptChars",
        "integer, at least 0",
        "skills.limits.maxSkillsPromptChars",
        "The budget of agents that have none of their own.",
    ),
    Setting(
        "plugins.load.paths", "list of folders", "[]", "Plugin folders that may contribute skills."
    ),
    Setting(
        "plugins.entries.<id>.enabled",
        "true or false",
        "true",
        "`false` switches a plugin, and so its skills, off.",
    ),
    Setting(
        "plugins.entries.skill-workshop.enabled",
        "true or false",
        "false",
        "Whether skills are learned from work at all.",
    ),
    Setting(
        "plugins.entries.skill-workshop.config.enabled",
        "true or false",
        "true",
        "Switches learning off while the entry stays on.",
    ),
    Setting(
        "plugins.entries.skill-workshop.config.autoCapture",
        "true or false",
        "true",
        "Whether turns are looked at for corrections, without being asked to.",
    ),
    Setting(
        "plugins.entries.skill-workshop.config.approvalPolicy",
        "pending or auto",
        "pending",
        "`pending`: proposals wait for a person. `auto`: safe ones are applied at once.",
    ),
    Setting(
        "plugins.entries.skill-workshop.config.reviewMode",
        "off, heuristic, llm or hybrid",
        "hybrid",
        "What looks at a turn: nothing, phrases, a language model, or both.",
    ),
    Setting(
        "plugins.entries.skill-workshop.config.reviewInterval",
        "integer, 1 to 200",
        "15",
        "After how many turns the language model looks.",
    ),
    Setting(
        "plugins.entries.skill-workshop.config.reviewMinToolCalls",
        "integer, 1 to 500",
        "8",
        "After how many tool calls the language model looks.",
    ),
    Setting(
        "plugins.entries.skill-workshop.config.reviewTimeoutMs",
        "integer, 5000 to 180000",
        "45000",
        "How long the language model may take.",
    ),
    Setting(
        "plugins.entries.skill-workshop.config.reviewModel",
        "PROVIDER:NAME",
        "absent",
        "The language model that reviews turns; by default the one of `skills.model`.",
    ),
    Setting(
        "plugins.entries.skill-workshop.config.reviewCommand",
        "list of words",
        "[]",
        "A program that reviews turns instead: it reads the prompt and prints the reply.",
    ),
    Setting(
        "plugins.entries.skill-workshop.config.maxPending",
        "integer, 1 to 200",
        "50",
        "How many proposals wait at most in a workspace; the oldest go first.",
    ),
    Setting(
        "plugins.entries.skill-workshop.config.maxSkillBytes",
        "integer, 1024 to 200000",
        "40000",
        "How large a file of a learned skill may become.",
    ),
    Setting(
        "experience.enabled",
        "true or false",
        "true",
        "Whether `prowess experience build` makes drafts and lessons of traces.",
    ),
    Setting(
        "agent.autoArtifactsEnabled",
        "true or false",
        "true",
        "The OpenPocket spelling of `experience.enabled`, used when that one is absent.",
    ),
    Setting(
        "gateway.auth.token",
        "text",
        "absent",
        "What clients of the gateway must know; `PROWESS_GATEWAY_TOKEN` stands over it.",
    ),
    Setting(
        "gateway.allowedHosts",
        "list of host names",
        "[]",
        "Names under which the gateway may be reached, beside this machine's own.",
    ),
    Setting(
        "gateway.controlUi.allowedOrigins",
        "list of origins",
        "[]",
        "Web pages that may connect to the gateway, beside its own.",
    ),
)
