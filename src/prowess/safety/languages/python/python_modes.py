"""Constants of the standard library that file modes are written with."""

import stat

MODES: dict[str, int] = {
    f"stat.{name}": value
    for name, value in vars(stat).items()
    if name.startswith("S_I") and isinstance(value, int)
}
