"""Where the policies of one workspace lie; to look whether there are any costs next to nothing."""

import os
from collections.abc import Mapping
from typing import NamedTuple

# As `prowess.sharing.policy` has it, which takes time to load.
_FILE, VARIABLE = "prowess-policy.yml", "PROWESS_POLICY"
_SYSTEM = "/etc/prowess"


class PolicyPlaces(NamedTuple):
    """Where the policies of one workspace lie."""

    environ: Mapping[str, str]
    state: str
    workspace: str

    def files(self) -> tuple[tuple[str, str], ...]:
        """Return the level and path of every policy file that there is, the highest first."""
        named = self.environ.get(VARIABLE, "")
        places = (
            ("organisation", os.path.join(_SYSTEM, _FILE)),
            *((("organisation", named),) if named else ()),
            ("team", os.path.join(self.state, _FILE)),
            ("project", os.path.join(self.workspace, _FILE)),
        )
        # One that was named and is not there is no policy that can be read.
        return tuple(pair for pair in places if pair[1] == named or os.path.lexists(pair[1]))

    def stamp(self) -> object:
        """Return what is another one once a policy file, a proof, or the day, is."""
        files = self.files()
        if not files:
            return ()
        # Late: most workspaces have none.
        from datetime import UTC, datetime

        from prowess.host.files.handles import stamp_file
        from prowess.host.files.state_files import PROOFS_FILE

        # Waivers end with a day.
        today = str(datetime.now(UTC).date())
        # What was shown of skills may be asked for.
        paths = (*(path for _, path in files), os.path.join(self.state, PROOFS_FILE))
        return (today, *(repr(stamp_file(path)) for path in paths))
