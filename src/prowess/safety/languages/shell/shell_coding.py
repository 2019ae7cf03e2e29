"""Commands that encode, decode, pack and unpack text."""

from collections.abc import Callable
from itertools import pairwise

from prowess.safety.facts import Act
from prowess.safety.languages.shell.shell_decode import decode_base, decode_hex, translate
from prowess.safety.languages.shell.shell_options import options
from prowess.safety.languages.shell.shell_writes import write_file
from prowess.safety.languages.shell.state import EMPTY, Call, Value, unknown
from prowess.safety.languages.shell.text import files_or_input, rewritten, table


def _decoded(call: Call, data: Value, encoding: str, text: str | None) -> Value:
    call.tell(Act.DECODE, encoding, "", data.labels)
    if text is None or not data.known:
        return unknown("decoded", *data.labels, source=data.source)
    start = data.pieces[0][0] if data.pieces else call.shell.start
    return Value(
        text, data.labels | {"decoded"}, data.source, known=True,
        pieces=((start, len(text), False),), steps=(*data.steps, encoding),
    )  # fmt: skip


def _base64(call: Call) -> Value:
    given = options(call.args, "iwbo", frozenset(("--wrap", "--break", "--input", "--output")))
    data = files_or_input(call, given.values("-i", "--input") or given.operands)
    if not given.has("-d", "-D", "--decode"):
        return unknown(*data.labels, source=data.source)
    return _decoded(
        call, data, call.name, decode_base(data.text, call.name) if data.known else None
    )


def _openssl(call: Call) -> Value:
    verb = call.texts[0] if call.args else ""
    if verb == "s_client":
        from_host = next((b.text for a, b in pairwise(call.args) if a.text == "-connect"), "")
        _tell_connection(call, from_host)
        return unknown("remote", source=from_host)
    texts = call.texts
    data = call.incoming
    if "-in" in texts[:-1]:
        data = call.read(call.args[texts.index("-in") + 1])
    if verb not in ("base64", "enc") and not verb.startswith(("aes", "des", "bf")):
        return unknown()
    if "-d" not in texts:
        return _to_file(call, unknown(*data.labels, source=data.source), "-out")
    plain = verb == "base64" or (("-base64" in texts or "-a" in texts) and len(texts) <= _PLAIN_ENC)
    text = decode_base(data.text, "base64") if plain and data.known else None
    return _to_file(call, _decoded(call, data, "base64" if plain else "cipher", text), "-out")


def _to_file(call: Call, output: Value, *flags: str) -> Value:
    """Write the output to the file that an option names, if one does."""
    for flag, path in pairwise(call.args):
        if flag.text in flags:
            write_file(call.shell, path, output)
            return EMPTY
    return output


_PLAIN_ENC = 5


def _tell_connection(call: Call, host: str) -> None:
    call.tell(Act.FETCH, host)
    if call.incoming.labels:
        call.tell(Act.SEND, host, "tcp", call.incoming.labels)


def _xxd(call: Call) -> Value:
    given = options(call.args, "lscgo")
    data = files_or_input(call, given.operands)
    if not any(text.startswith(("-r", "-pr", "-ps -r")) for text in call.texts):
        return unknown(*data.labels, source=data.source)
    return _decoded(call, data, "hex", decode_hex(data.text) if data.known else None)


def _rev(call: Call) -> Value:
    data = files_or_input(call, options(call.args).operands)
    if not data.known or not data.text:
        return unknown(*data.labels, source=data.source)
    return _decoded(call, data, "reversed", "\n".join(line[::-1] for line in data.text.split("\n")))


def _tr(call: Call) -> Value:
    data = call.incoming
    given = options(call.args)
    if given.has("-s", "-c", "-C") or not data.known or not data.text or not given.operands:
        return unknown(*data.labels, source=data.source)
    sets = [value.text for value in given.operands[:2]]
    if given.has("-d"):
        return rewritten(data, translate(data.text, sets[0], None))
    text = translate(data.text, sets[0], sets[1]) if len(sets) > 1 else data.text
    return _decoded(call, data, "characters", text) if text != data.text else data


def _unpacker(call: Call) -> Value:
    """`gunzip`, `xz -d`, `uudecode`: what comes out was packed."""
    given = options(call.args, "oSr", frozenset(("--output", "--recipient", "--passphrase")))
    data = files_or_input(call, given.operands)
    if call.name in _PACKERS and not given.has(
        "-d", "--decompress", "--decode", "--decrypt", "--uncompress"
    ):
        packed = unknown(*data.labels, source=data.source)
        if given.operands and not given.has("-c", "--stdout") and call.name in _ENDINGS:
            call.shell.store(given.operands[0].text + _ENDINGS[call.name], packed)
            return EMPTY
        return _to_file(call, packed, "-o", "--output")
    call.tell(Act.DECODE, call.name, "", data.labels)
    unpacked = unknown("decoded", *data.labels, source=data.source)
    if given.operands and not given.has("-c", "--stdout") and call.name in _ENDINGS:
        call.shell.store(given.operands[0].text.removesuffix(_ENDINGS[call.name]), unpacked)
    return _to_file(call, unpacked, "-o", "--output")


_ENDINGS = {
    "gzip": ".gz",
    "bzip2": ".bz2",
    "xz": ".xz",
    "zstd": ".zst",
    "pigz": ".gz",
    "gunzip": ".gz",
}
_PACKERS = frozenset(("gzip", "bzip2", "xz", "zstd", "lz4", "gpg", "lzma", "brotli", "age", "pigz"))


HANDLERS: dict[str, Callable[[Call], Value]] = {
    **table(_base64, "base64 base32 gbase64"),
    **table(
        _unpacker,
        "gunzip zcat gzcat bunzip2 bzcat unxz xzcat unzstd zstdcat uncompress uudecode gzip bzip2",
        "xz zstd lz4 gpg lzma brotli age funzip pigz ascii2binary",
    ),
    "openssl": _openssl,
    "xxd": _xxd,
    "rev": _rev,
    "tr": _tr,
}
