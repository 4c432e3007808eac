"""Requests and answers in bytes: the one module that knows the library that encodes them, kafka-python's protocol.

The library is an extra (`wire`), loaded when a codec is first made.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final, NamedTuple

from spec.vocabulary import Api

HEAD: Final = struct.Struct(">hhi")
"""Where every request begins: api key, version, correlation id."""

LENGTH: Final = struct.Struct(">h")
CORRELATION: Final = struct.Struct(">i")
NO_TAGS: Final = b"\x00"

UUID: Final = "uuid"
"""The type of ids, which are none rather than null."""

OLDEST: Final[Mapping[str, int]] = MappingProxyType(
    dict.fromkeys((Api.DELETE_TOPICS, Api.DESCRIBE_CONFIGS, Api.OFFSET_FOR_LEADER_EPOCH, Api.WRITE_TXN_MARKERS), 0)
)
"""Versions before those that the library names, which it reads all the same: their fields are still in its schemas."""

_MODULES: Final = ("admin", "consumer", "metadata", "producer")
_DAMAGE: Final = (ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError, struct.error)
"""What the library raises on bytes that are no message."""


class WireLibraryMissing(Exception):
    """The library of the wire protocol is not installed."""

    def __init__(self) -> None:
        """Say what installs it."""
        super().__init__("the wire protocol needs kafka-python: pip install kafka-python")


class MalformedRequest(Exception):
    """The bytes of a frame are no request of the version that they name."""


class RequestHeader(NamedTuple):
    """What comes before every request.

    Attributes:
        api_key: number of the api; one that is not known is kept.
        api: its name, empty if it is not known.
        version: of the request.
        correlation: that the answer repeats.
        client_id: as the client calls itself, empty if it does not.
    """

    api_key: int
    api: str
    version: int
    correlation: int
    client_id: str


@cache
def messages(kind: str) -> Mapping[str, Any]:
    """The library's classes of requests or responses, by the name of the api.

    Raises:
        WireLibraryMissing: it is not installed.
    """
    try:
        base = import_module("kafka.protocol.api_message").ApiMessage
        for module in _MODULES:
            import_module(f"kafka.protocol.{module}")
    except ImportError:
        raise WireLibraryMissing from None
    known = {found.json["name"]: found for found in _below(base) if found.json and found.json["type"] == kind}
    return {name.removesuffix(kind.title()): found for name, found in known.items()}


def _below(base: Any) -> Iterator[Any]:
    """The direct subclasses first: the versions of a class that a client of the library has made come after it."""
    for found in base.__subclasses__():
        if found._class_version is None:
            yield found
            yield from _below(found)


@cache
def _by_key() -> Mapping[int, str]:
    return {int(found.API_KEY): name for name, found in messages("request").items()}


@cache
def key_of(api: str) -> int:
    """The number of an api that the library has."""
    return int(messages("request")[api].API_KEY)


def known_versions(api: str) -> tuple[int, int] | None:
    """The oldest and the newest version of a request that can be read; None if none can."""
    found = messages("request").get(api)
    if found is None:
        return None
    oldest, _, newest = str(found.json["validVersions"]).partition("-")
    return OLDEST.get(api, int(oldest)), int(newest or oldest)


def decode_header(frame: bytes) -> tuple[RequestHeader, int]:
    """The header of a request, and where its body begins if the version is one that can be read.

    Args:
        frame: without its length.

    Raises:
        MalformedRequest: it ends before its header does.
    """
    try:
        api_key, version, correlation = HEAD.unpack_from(frame, 0)
        api = _by_key().get(api_key, "")
        if not api:
            return RequestHeader(api_key, "", version, correlation, ""), HEAD.size
        (length,) = LENGTH.unpack_from(frame, HEAD.size)
        start = HEAD.size + LENGTH.size
        end = start + max(length, 0)
        if length < -1 or end > len(frame):
            raise MalformedRequest(f"the client id has {length} bytes, the request {len(frame)}")
        client_id = frame[start:end].decode()
        if messages("request")[api].flexible_version_q(version):
            end = _after_tags(frame, end)
    except (struct.error, UnicodeDecodeError, IndexError) as damage:
        raise MalformedRequest(f"{len(frame)} bytes are no header of a request: {damage}") from damage
    return RequestHeader(api_key, api, version, correlation, client_id), end


def _after_tags(frame: bytes, position: int) -> int:
    """The position behind the tagged fields of a header, none of which is known."""
    count, position = _unsigned(frame, position)
    for _ in range(count):
        _, position = _unsigned(frame, position)
        size, position = _unsigned(frame, position)
        position += size
        if position > len(frame):
            raise IndexError("a tagged field ends after its request")
    return position


def _unsigned(frame: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = frame[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 28:
            raise IndexError("a number of more than five bytes")


def decode_request(header: RequestHeader, frame: bytes, position: int) -> Any:
    """The body of a request: its fields are attributes, by the names of Kafka's schemas in snake case.

    Args:
        header: of the request, of a version that can be read.
        frame: without its length.
        position: where the body begins.

    Raises:
        MalformedRequest: the bytes are no such request.
    """
    found = decode_body("request", header.api, header.version, frame, position)
    _require_present(messages("request")[header.api], header.version, found)
    return found


def decode_body(kind: str, api: str, version: int, data: bytes, position: int = 0) -> Any:
    """The body of a message; what comes after it is passed over, as Kafka does (librdkafka leaves bytes there).

    Args:
        kind: `request` or `response`.
        api: its name.
        version: of the message.
        data: bytes up to the end of the frame.
        position: where it begins.

    Raises:
        MalformedRequest: the bytes are no such message.
    """
    message = messages(kind)[api]
    flexible = message.flexible_version_q(version)
    try:
        decode = message._struct.compiled_decode_from(
            version, compact=flexible, tagged=flexible, data_class=message[None]
        )
        found, end = decode(memoryview(data), position)
    except _DAMAGE as damage:
        raise MalformedRequest(f"no {message.json['name']} of version {version}: {damage}") from damage
    if end > len(data):
        raise MalformedRequest(f"{message.json['name']} of version {version} ends at {end}, the frame at {len(data)}")
    return found


def _require_present(made_of: Any, version: int, found: Any) -> None:
    """The library reads null everywhere; Kafka only where the schema allows it.

    Raises:
        MalformedRequest: a field is null that cannot be.
    """
    for name, nullable, several, inner in _required_fields(made_of, version):
        value = getattr(found, name)
        if value is None:
            if not nullable:
                raise MalformedRequest(f"{name} is null")
        elif inner is not None:
            for each in value:
                _require_present(inner, version, each)
        elif several and None in value:
            raise MalformedRequest(f"{name} has a null in it")


@cache
def _required_fields(made_of: Any, version: int) -> tuple[tuple[str, bool, bool, Any], ...]:
    """The fields that must be given, ids aside: whether null will do, whether it is an array, of which structures."""
    return tuple(
        (
            field.name,
            field.nullable_for_version_q(version),
            field.is_array(),
            field.data_class if field.is_struct_array() else None,
        )
        for field in made_of._struct.fields.values()
        if field._tag is None and field.type_str != UUID and field.for_version_q(version)
    )


def encode_request(header: RequestHeader, fields: Mapping[str, Any]) -> bytes:
    """A request in bytes, without the length of its frame.

    Args:
        header: that it begins with.
        fields: its body, by name; what is not given is as the schema says.
    """
    message = messages("request")[header.api]
    client_id = header.client_id.encode()
    head = HEAD.pack(header.api_key, header.version, header.correlation) + LENGTH.pack(len(client_id)) + client_id
    tags = NO_TAGS if message.flexible_version_q(header.version) else b""
    return head + tags + encode_body("request", header.api, header.version, fields)


def encode_response(api: str, version: int, correlation: int, fields: Mapping[str, Any]) -> bytes:
    """An answer in bytes, without the length of its frame; the header of ApiVersions never has tags.

    Args:
        api: name of the request that is answered.
        version: of the request.
        correlation: of the request.
        fields: the body by name; structures are mappings, arrays are sequences, ids of topics are hexadecimal.
    """
    message = messages("response")[api]
    tags = NO_TAGS if api != Api.API_VERSIONS and message.flexible_version_q(version) else b""
    return CORRELATION.pack(correlation) + tags + encode_body("response", api, version, fields)


def response_body(api: str, version: int, frame: bytes) -> int:
    """Where the body of an answer begins, behind correlation id and tagged fields.

    Args:
        api: name of the request that is answered.
        version: of that request.
        frame: without its length.

    Raises:
        MalformedRequest: it ends before its header does.
    """
    flexible = api != Api.API_VERSIONS and messages("response")[api].flexible_version_q(version)
    try:
        return _after_tags(frame, CORRELATION.size) if flexible else CORRELATION.size
    except IndexError as damage:
        raise MalformedRequest(f"{len(frame)} bytes are no header of an answer: {damage}") from damage


def decode_response(api: str, version: int, frame: bytes) -> tuple[int, Any]:
    """The correlation id and the body of an answer.

    Args:
        api: name of the request that is answered.
        version: of that request.
        frame: without its length.

    Raises:
        MalformedRequest: the bytes are no such answer.
    """
    try:
        (correlation,) = CORRELATION.unpack_from(frame, 0)
    except struct.error as damage:
        raise MalformedRequest(f"{len(frame)} bytes are no header of an answer: {damage}") from damage
    return correlation, decode_body("response", api, version, frame, response_body(api, version, frame))


def encode_again(message: Any) -> bytes:
    """A decoded body in bytes, with what was changed in it; tagged fields that the schema lacks are left out."""
    message._header = None  # which a decoded message lacks, and the library looks for
    return bytes(message.encode(version=message.version))


def encode_body(kind: str, api: str, version: int, fields: Mapping[str, Any]) -> bytes:
    """The body of a message in bytes.

    Args:
        kind: `request` or `response`.
        api: its name.
        version: of the message.
        fields: by name; structures are mappings, arrays are sequences, ids of topics are hexadecimal.
    """
    message = messages(kind)[api]
    flexible = message.flexible_version_q(version)
    encode = message._struct.compiled_encode_into(version, compact=flexible, tagged=flexible)
    with _buffers().acquire() as out:
        encode(_built(_structure(message, version), fields), out)
        return bytes(out.result())


@cache
def _buffers() -> Any:
    """The library's buffers that messages are encoded into."""
    return import_module("kafka.protocol.schemas.fields.codecs.encode_buffer").EncodeBufferPool


@dataclass(frozen=True, slots=True)
class _Structure:
    """A structure in one version.

    Attributes:
        names: of its fields, in all versions.
        defaults: of the fields of this version.
        inner: the structures among its fields, and whether a field holds several.
    """

    names: frozenset[str]
    defaults: Mapping[str, Any]
    inner: tuple[tuple[str, "_Structure", bool], ...]


@cache
def _structure(made_of: Any, version: int) -> _Structure:
    fields = {name: field for name, field in made_of._struct.fields.items() if field.for_version_q(version)}
    inner = tuple(
        (name, _structure(field.data_class, version), field.is_struct_array())
        for name, field in fields.items()
        if field.is_struct_array() or field.is_struct()
    )
    return _Structure(frozenset(made_of._struct.fields), {name: field.default for name, field in fields.items()}, inner)


def _built(structure: _Structure, fields: Mapping[str, Any]) -> SimpleNamespace:
    """What the library encodes: an attribute for each field; those that the version does not have are not looked at.

    Raises:
        KeyError: there is no such field.
    """
    if not fields.keys() <= structure.names:
        raise KeyError(*(fields.keys() - structure.names))
    values = {**structure.defaults, **fields}
    for name, inner, several in structure.inner:
        value = values[name]
        if value is not None:
            values[name] = [_built(inner, each) for each in value] if several else _built(inner, value)
    return SimpleNamespace(**values)


def fields_of(message: Any) -> dict[str, Any]:
    """The body of a decoded message by the names of its fields, structures too; bytes stay as they are."""
    version = message.version
    return {
        name: _plain(getattr(message, name))
        for name, field in message._struct.fields.items()
        if field.for_version_q(version)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return fields_of(value) if hasattr(value, "_struct") else value
