"""An install of one client, as the others see it: who may install hears of it and can look."""

import json
from pathlib import Path

from tests.integration.house_world import NO_PROGRAM, House, inhabited, visited
from tests.integration.install_world import Server


def test_those_who_may_install_hear_of_an_install_and_see_how_it_ended(tmp_path: Path) -> None:
    house, server = House(tmp_path), Server()
    entry = {"id": "get", "kind": "download", "bins": [NO_PROGRAM]}
    entry |= {"url": server.serve("/tool", b"#!/bin/sh\n" * 9_000)}
    needs = {"openclaw": {"requires": {"bins": [NO_PROGRAM]}, "install": [entry]}}
    house.skill("needy", metadata=needs)
    house.configure(skills={"install": {"privateHosts": [server.host]}})

    try:
        with (
            inhabited(house),
            visited(house) as peer,
            visited(house) as other,
            visited(house, scopes=["operator.read"]) as reader,
        ):
            done = peer.call("skills.install", {"name": "needy", "installId": "get"})
            found = other.call("skills.installs", {})
            refused = reader.call("skills.installs", {})
    finally:
        server.close()

    assert done["ok"], json.dumps(done)
    (install,) = found["payload"]["installs"]
    assert (install["skill"], install["state"]) == ("needy", "done")
    assert (install["received"], install["total"]) == (90_000, 90_000)
    told = [one["payload"] for one in other.events if one["event"] == "skills.install.state"]
    about = {"skill": "needy", "installId": "get"}
    assert told == [{**about, "state": "running"}, {**about, "state": "done"}]
    assert refused["error"]["code"] == "FORBIDDEN"
    assert not [one for one in reader.events if one["event"].startswith("skills.install")]
