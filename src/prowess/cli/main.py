"""The `prowess` command: hooks take a lane of their own, all other commands the terminal's.

Coding agents wait for `prowess hook` at every prompt, so nothing is imported here that it does not
need; the terminal (`prowess.cli.terminal`) is loaded for the others. `prowess mcp` answers its
first requests meanwhile.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # The same name again says that it is meant for others.
    from prowess.cli.terminal import app as app  # noqa: PLC0414

# name -> module beside this one, one-line help, in the order of `prowess --help`. Names and no
# imports: thirty-five functions would say the same at length. A test loads every row.
COMMANDS = {
    "list": ("list", "Show every skill and whether it is ready."),
    "show": ("list", "Show all there is to know about one skill."),
    "check": ("list", "Summarise what is ready, what is missing and what is broken."),
    "why": ("list", "Say why a skill is, or is not, visible to the agent."),
    "validate": ("validate", "Check skill files against the standard, and repair what can be."),
    "add": ("sharing.commands", "Add skills from a folder, repository, archive or registry."),
    "remove": ("sharing.commands", "Remove skills that were added, to the trash."),
    "outdated": ("sharing.commands", "Say which skills have something newer at their source."),
    "update": ("sharing.commands", "Update added skills, and keep what you edited."),
    "verify": ("sharing.commands", "Compare every file of added skills with the lock."),
    "policy": ("sharing.exchange", "Say which rule of which policy decides about a skill."),
    "audit": ("sharing.exchange", "Show and check the log of decisions about skills."),
    "lock": ("sharing.exchange", "Read and write the locks of other tools."),
    "publish": ("sharing.exchange", "Put skills into a web site for others to add."),
    "search": ("sharing.commands", "Search a registry for skills."),
    "hub": ("sharing.hub", "Run a registry of skills of your own."),
    "scan": ("scan.command", "Look for what could harm you in skills before an agent reads them."),
    "fresh": ("proof.fresh", "Say which lines of skills no longer fit the project."),
    "new": ("proof.new", "Write a skill that passes the standard, with tests of its messages."),
    "test": ("proof.test", "Test skills: files, scanner, freshness, messages and budgets."),
    "improve": ("proof.fresh", "Say what descriptions lack, and propose sentences that help."),
    "prove": ("proof.test", "Say whether an agent does better with a skill than without it."),
    "install": ("runs.install", "Install the programs that a skill needs."),
    "load": ("validate", "Copy bundled skills into the workspace for editing."),
    "prompt": ("runs.run", "Print the block that tells the agent about its skills."),
    "snapshot": ("runs.run", "Print what the agent may use, versioned and hashed."),
    "route": ("route", "Say which skills a message needs, and why, or that it needs none."),
    "why-not": ("route", "Say why a skill was not loaded for a message."),
    "commands": ("runs.run", "List the slash commands that skills give."),
    "invoke": ("runs.run", "Show what a slash command would do, without doing it."),
    "run": ("runs.run", "Run a command with the environment and the skills prompt of a run."),
    "sync": ("runs.install", "Copy skills into a sandbox, or bring them back to the lock."),
    "eval": ("evaluate", "Measure how well messages find the right skills."),
    "examples": ("route", "Teach routing how people ask for a skill."),
    "chat": ("runs.chat", "Talk to an agent that reads your skills and asks before it acts."),
    "sessions": ("learning.sessions", "Show what skills did in sessions, and which were missed."),
    "workshop": ("workshop", "Review what was learned, and turn it into skills."),
    "serve": ("serve", "Run the gateway for every client, in one process."),
    "db": ("serve", "Make, move and check the database of a fleet of gateways."),
    "experience": ("learning.experience", "Learn from what agents did: drafts and lessons."),
    "plugins": ("config", "Show plugins, and whether they are on."),
    "qa": ("learning.qa", "Run scenarios that show that learning works, end to end."),
    "connect": ("harness.connect", "Let a coding agent ask Prowess, over hooks and MCP."),
    "doctor": ("harness.connect", "Check every connection and our own parts, and say what to do."),
    "hook": ("harness.connect", "Answer a hook of a coding agent; `prowess connect` registers it."),
    "mcp": ("serve", "Serve skills to an MCP client over standard input and output."),
    "lsp": ("serve", "Serve an editor: findings, explanations and fixes while you write."),
    "export": ("harness.sharing", "Build a portable copy of a skill, or a bill of materials."),
    "budget": ("harness.sharing", "Say which descriptions a harness will show, cut or drop."),
    "migrate": ("harness.migrate", "Take over settings, skills and proposals of OpenClaw."),
    "enable": ("config", "Switch a skill on for every agent."),
    "disable": ("config", "Switch a skill off for every agent."),
    "trust": ("config", "Give a project's skill what was configured for one of your own."),
    "config": ("config", "Read and write the configuration."),
    "completion": ("config", "Print the shell completion script."),
}
_HOOK, _MCP = ["hook"], ["mcp"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code; a hook ends the process by itself."""
    args = list(sys.argv[1:] if argv is None else argv)
    if args == _HOOK:
        from prowess.cli.harness import hook_lane

        if argv is None:
            # A process of its own, which this ends.
            hook_lane.run_and_leave()
        return hook_lane.run()
    if argv is None and args[:1] == _MCP:
        from prowess.cli.harness import mcp_lane

        if mcp_lane.is_wanted(args):
            with mcp_lane.greet(args[1:]):
                return _run(args)
    return _run(args)


def _run(args: Sequence[str]) -> int:
    from prowess.cli.terminal import run

    return run(args)


# Whatever the name stands for: the type checker takes the import above instead.
def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Load the terminal for whoever asks for its commands."""
    if name == "app":
        from prowess.cli.terminal import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
