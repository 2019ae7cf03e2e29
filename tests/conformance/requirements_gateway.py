"""The gateway: its process, frames, who gets in, every method, what it pushes, and no secret."""

from .requirement import Requirement, required

GATEWAY: tuple[Requirement, ...] = (
    *required(
        "spec gateway/Process",
        {
            "gateway:address-first": (
                "serve --json prints the address as its first line, at once, also into a pipe."
            ),
            "gateway:banner": "serve tells people its address.",
            "gateway:clean-stop": "SIGTERM ends it with 0, and clients are told.",
            "gateway:instance-lock": (
                "A second instance on the same state is refused; a killed one keeps nothing."
            ),
            "gateway:health": "GET /health says whether it works.",
            "gateway:metrics": "GET /metrics is Prometheus text.",
            "gateway:paths": "WebSockets are served on / and /ws.",
            "gateway:rpc": "POST /rpc is one frame in and one frame out.",
        },
    ),
    *required(
        "spec gateway/Frames",
        {
            "gateway:challenge": "The server speaks first, with a nonce of this connection.",
            "gateway:hello": "The answer to connect has every documented part.",
            "gateway:versions": (
                "The highest common version of 3 and 4 is spoken; without one the client goes."
            ),
            "gateway:requests": "An answer carries the id of its request.",
            "gateway:sequence": "Events are numbered by connection, without a gap.",
            "gateway:not-connected": "Before connect everything else is NOT_CONNECTED.",
            "gateway:token": "Without the token a client is told and turned away.",
            "gateway:malformed": "Malformed frames get a clear error; others do not notice.",
            "gateway:too-large": "A frame over 512 KiB ends the connection, one of 512 KiB not.",
            "gateway:flood": "A flood ends the connection; a burst below 120 is served.",
            "gateway:device": "A device identity is verified when it is sent.",
            "gateway:loopback-without-token": (
                "Without a token it listens on this machine only, and says so."
            ),
            "gateway:origin": "Origin and Host are checked, so that no web page reaches it.",
            "gateway:scopes": "Each method needs one scope, and a refusal names it.",
        },
    ),
    *required(
        "spec gateway/Methods",
        {
            "gateway:closed-params": (
                "Parameters are closed: what is unknown or wrong is refused by its field."
            ),
            "gateway:unknown-method": "A method that does not exist is refused.",
            "gateway:clients-start": "What other clients ask at the start is answered.",
            "gateway:source-scope": "skills.status says the scope of each source.",
            "gateway:install": (
                "skills.install serves the agent that is named and says which workspace."
            ),
            "gateway:route": "skills.route finds the agent's skill for a message, or none.",
            "gateway:why": "skills.why gives the first reason why a skill is not visible.",
            "gateway:prompt": "skills.prompt is the block of the agent.",
            "gateway:validate": "skills.validate finds what is wrong, with code and line.",
            "gateway:usage": "skills.usage tells which skills were used.",
            "gateway:remove": (
                "skills.remove moves a managed or workspace skill into the trash of the state."
            ),
            "gateway:remove-refusals": (
                "Other sources, links, roots and paths are refused; the server derives the root."
            ),
            "gateway:restore": "skills.restore brings it back as it was and replaces nothing.",
            "gateway:proposal-rollback": "skills.proposals.rollback takes a skill back.",
            "gateway:skills-changed": (
                "skills.changed is pushed after a change on disk or in the configuration."
            ),
            "gateway:proposal-pushed": "skills.proposal is pushed for each step.",
            "gateway:config-changed": (
                "config.changed is pushed after a change by a client or by hand."
            ),
            "gateway:presence": "presence is pushed when somebody comes or goes.",
            "gateway:config-file": "The config file is written as a whole, with mode 0600.",
        },
    ),
    *required(
        "spec gateway/Promises",
        {
            "gateway:many-clients": "Many clients are served at once.",
            "gateway:no-secrets": (
                "No secret is in any answer, event, page, metric, log or file but the config."
            ),
            "gateway:token-never-said": "The token is not said.",
        },
    ),
    *required(
        "openclaw 3.2",
        {
            "gateway:status-fields": "skills.status has every field, and no configured value.",
            "gateway:status-filter": "skills.status tells what the agent's filter leaves out.",
        },
    ),
    *required(
        "openclaw 3.3",
        {"gateway:nodes": "What a connected node has counts until it leaves, and it may little."},
    ),
    *required(
        "openclaw 9.1", {"gateway:install-options": "skills.status offers what could be installed."}
    ),
    *required(
        "openclaw 10",
        {"gateway:unknown-agent": "An unknown agent is refused as given, with the field."},
    ),
    *required(
        "openclaw 10.1",
        {
            "gateway:bins": "skills.bins are those of all agents, sorted and once.",
            "gateway:detail": "skills.detail is one skill, or null.",
            "gateway:proposal-list": "The manifest tells enough to decide.",
            "gateway:proposal-apply": "apply writes the skill and says where.",
            "gateway:proposal-hashes": (
                "A decision about another revision is refused with both hashes."
            ),
            "gateway:proposal-decisions": (
                "What was rejected, quarantined or could do harm is never applied."
            ),
            "gateway:proposal-update": "update proposes a change of a skill that exists.",
            "gateway:proposal-unknown": "A proposal that does not exist is refused.",
        },
    ),
    *required(
        "openclaw 10.2",
        {"gateway:install-fails": "A failed install answers with payload and error."},
    ),
    *required(
        "openclaw 10.3",
        {
            "gateway:update-merges": "skills.update changes only what it names, without loss.",
            "gateway:update-keys": "Line ends are removed from keys, and the sentinel keeps.",
            "gateway:update-deletes": "An empty value deletes.",
            "gateway:update-answer": "The answer hides secrets, and the change shows at once.",
        },
    ),
    *required(
        "openclaw 10.4",
        {
            "gateway:config-get": "config.get tells the file and the hash of its bytes.",
            "gateway:config-redacted": "Secrets are replaced by the sentinel.",
            "gateway:config-hash": (
                "A write needs the hash of the file that is there, in the documented words."
            ),
            "gateway:config-set": "config.set replaces the whole configuration.",
            "gateway:config-sentinel": (
                "A sentinel is replaced by the stored secret, and is never written itself."
            ),
            "gateway:config-patch": (
                "config.patch merges objects and lists by id, null deletes, loss is named."
            ),
            "gateway:config-noop": "A patch that changes nothing writes nothing.",
            "gateway:config-agents": "A set that would lose agents is refused.",
            "gateway:config-wrong": "What is no valid configuration is refused, unwritten.",
            "gateway:config-schema": "config.schema tells every setting.",
        },
    ),
    *required(
        "claw3d 3.5",
        {
            "gateway:config-retry": (
                "A client that reads again after a stale hash succeeds, and nothing is lost."
            )
        },
    ),
    *required(
        "openclaw 10.5",
        {
            "gateway:proposal-record": "A proposal has the documented record.",
            "gateway:proposal-events": "Events are numbered, and are read on from a cursor.",
            "gateway:proposal-support-files": "Support files come along and stay in their folders.",
        },
    ),
    *required(
        "own",
        {
            "gateway:agents": "Each agent has its own workspace, skills and proposals.",
            "gateway:port-in-use": "A port that is taken is said in one sentence.",
            "gateway:port-range": "A port that cannot be is wrong usage.",
            "gateway:help": "serve explains itself.",
        },
    ),
)
