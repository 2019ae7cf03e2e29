"""The methods about the gateway itself, and those that other clients need before they start."""

from prowess.gateway.calls import (
    ClientScope,
    Code,
    Json,
    Method,
    RpcCall,
    RpcError,
    collect_methods,
    rpc,
)
from prowess.gateway.methods import params as given
from prowess.gateway.methods.services import Services

MAIN_SESSION = "main"


def snapshot(services: Services) -> Json:
    """Return what a client is told when it connects."""
    return {
        "health": health(services),
        "sessionDefaults": {
            "defaultAgentId": services.skills.settings.default_agent.id,
            "mainKey": MAIN_SESSION,
        },
    }


def health(services: Services) -> Json:
    """Say that it works, and for which agents."""
    settings = services.skills.settings
    default = settings.default_agent
    return {
        "ok": True,
        "defaultAgentId": default.id,
        "agents": [
            {"agentId": one.id, "name": one.name, "isDefault": one.id == default.id}
            for one in settings.agents
        ],
    }


class SystemMethods:
    """The answers, over one set of services."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @rpc("health", ClientScope.READ)
    def health(self, call: RpcCall) -> Json:
        """Whether the gateway works, and for which agents."""
        del call
        uptime = self._services.now() - self._services.started_at
        return {**health(self._services), "uptimeMs": max(0, round(uptime * 1000))}

    @rpc("status", ClientScope.READ)
    def status(self, call: RpcCall) -> Json:
        """How many skills are ready, and what waits."""
        services = self._services
        del call
        report = services.skills.status()
        waiting = services.workshop().list("pending") if services.workshop().enabled else ()
        return {
            "version": services.version,
            "agentId": report.agent_id,
            "skills": {
                "total": len(report.skills),
                "ready": sum(row.usable for row in report.skills),
            },
            "proposals": {"pending": len(waiting), "enabled": services.workshop().enabled},
            "nodes": services.nodes.listed(),
        }

    @rpc("agents.list", ClientScope.READ)
    def agents(self, call: RpcCall) -> Json:
        """The agents of the config."""
        skills = self._services.skills
        del call
        default = skills.settings.default_agent
        return {
            "defaultId": default.id,
            "mainKey": MAIN_SESSION,
            "scope": "per-sender",
            "agents": [
                {
                    "id": one.id,
                    "name": one.name,
                    "isDefault": one.id == default.id,
                    "workspace": skills.workspace(one.id).folder,
                    "skills": None if one.skills is None else list(one.skills),
                }
                for one in skills.settings.agents
            ],
        }

    @rpc("models.list", ClientScope.READ, given.LenientParams)
    def models(self, call: RpcCall) -> Json:
        """The language model that reviews."""
        del call
        model = self._services.skills.settings.skills.model
        name = model.name if model.endpoint else ""
        return {"models": [{"id": name, "name": name, "provider": "endpoint"}] if name else []}

    @rpc("sessions.list", ClientScope.READ, given.LenientParams)
    def sessions(self, call: RpcCall) -> Json:
        """The conversations that are kept."""
        del call
        found = [dict(one) for one in self._services.sessions()]
        return {"sessions": found, "count": len(found)}

    @rpc("exec.approvals.get", ClientScope.READ, given.LenientParams)
    def approvals(self, call: RpcCall) -> Json:
        """No approvals: always empty."""
        del call
        return {"path": "", "exists": False, "hash": "", "file": {"version": 1, "agents": {}}}

    @rpc("cron.list", ClientScope.READ, given.LenientParams)
    def cron(self, call: RpcCall) -> Json:
        """No scheduled jobs: always empty."""
        del call
        return {"jobs": []}

    @rpc("node.bins", ClientScope.NODE, given.NodeBinsParams)
    def node_bins(self, call: RpcCall) -> Json:
        """Tell which programs this machine lends; they count until it leaves."""
        asked, client = call.params, call.client
        if not client.stays:
            message = "node.bins is for WebSockets: over HTTP nobody is told when a machine leaves"
            raise RpcError(Code.INVALID_REQUEST, message)
        platform = asked.platform or client.platform
        if not self._services.nodes.report(client.id, client.name, platform, asked.bins):
            raise RpcError(Code.UNAVAILABLE, "too many machines lend programs: close some first")
        return {"ok": True, "bins": len(set(asked.bins))}


def system_methods(services: Services) -> tuple[Method, ...]:
    """Return the methods that answer for the process."""
    return collect_methods(SystemMethods(services))
