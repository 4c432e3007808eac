"""DescribeConfigs: the settings of topics and nodes that clients ask for (`AdminManager`, `ConfigHelper`)."""

from collections.abc import Iterable
from typing import Any, Final

from reference.server.configs import Config, broker_configs, topic_configs
from reference.server.errors import ServerError
from reference.server.service import ClientRequest, Fields, Service
from reference.server.topics import is_legal
from reference.wire.versions import is_since
from spec.vocabulary import ErrorCode

TOPIC: Final = 2
BROKER: Final = 4
"""Kinds of resources; a request with another kind is refused as a whole."""

STATIC: Final = 4
DEFAULT: Final = 5
"""Where a value comes from."""

DYNAMIC_SINCE: Final = "2.0"
"""First release of those that are served in which settings may change while a node runs, and that looks for topics."""

EMPTY_IS_ALL_SINCE: Final = "2.7"
"""First release of those that are served in which an empty list of settings asks for all of them."""


def describe_configs(service: Service, call: ClientRequest) -> None:
    """The settings of what is named; a request for anything but topics and nodes is refused as a whole."""
    resources = call.message.resources
    unknown = next((each for each in resources if each.resource_type not in (TOPIC, BROKER)), None)
    if unknown is not None:
        why = f"Unexpected resource type {unknown.resource_type} for resource {unknown.resource_name}"
        call.reply({"results": [_refused(each, ErrorCode.INVALID_REQUEST, why) for each in resources]})
        return
    call.reply({"results": [_described(service, call, each) for each in resources]})


def _refused(request: Any, error: int, why: str | None) -> Fields:
    named = {"resource_type": request.resource_type, "resource_name": request.resource_name}
    return named | {"error_code": int(error), "error_message": why, "configs": []}


def _described(service: Service, call: ClientRequest, request: Any) -> Fields:
    profile, name = service.settings.profile, request.resource_name
    if request.resource_type == TOPIC:
        if not is_legal(name):
            return _refused(request, ServerError.INVALID_TOPIC_EXCEPTION, "no topic can be called so")
        if name not in service.topics.by_name and is_since(profile, DYNAMIC_SINCE):
            return _refused(request, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
        return _answer(service, call, request, topic_configs(service.settings))
    if not name and is_since(profile, DYNAMIC_SINCE):
        return _answer(service, call, request, ())
    if not _is_number(name):
        return _refused(request, ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if int(name) != call.node:
        why = f"Unexpected broker id, expected {call.node}, but received {name}"
        return _refused(request, ErrorCode.INVALID_REQUEST, why)
    return _answer(service, call, request, broker_configs(service.settings, call.node))


def _is_number(name: str) -> bool:
    digits = name.removeprefix("-").removeprefix("+")
    return digits.isascii() and digits.isdecimal() and len(digits) <= 10


def _answer(service: Service, call: ClientRequest, request: Any, configs: Iterable[Config]) -> Fields:
    profile, keys = service.settings.profile, request.configuration_keys
    wants_all = keys is None or (not keys and is_since(profile, EMPTY_IS_ALL_SINCE))
    is_topic, synonyms = request.resource_type == TOPIC, bool(call.message.include_synonyms)
    changes = is_since(profile, DYNAMIC_SINCE)
    listed = [_entry(each, is_topic, synonyms, changes) for each in configs if wants_all or each.name in keys]
    named = {"resource_type": request.resource_type, "resource_name": request.resource_name}
    return named | {"error_code": 0, "error_message": None, "configs": listed}


def _entry(config: Config, is_topic: bool, synonyms: bool, changes: bool) -> Fields:
    source = DEFAULT if config.is_default else STATIC
    known = [(config.value, source)] if config.is_default else [(config.value, STATIC), (config.default, DEFAULT)]
    name = config.synonym or config.name
    return {
        "name": config.name,
        "value": config.value,
        "read_only": not (is_topic or (config.dynamic and changes)),
        "config_source": source,
        "is_default": config.is_default,
        "is_sensitive": False,
        "synonyms": [{"name": name, "value": value, "source": where} for value, where in known] if synonyms else [],
        "config_type": int(config.kind),
        "documentation": None,
    }
