"""The tasks of Label Studio's JSON export, and what people handed in for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from truelabel.data.exchange.entries import ExchangeError, Paths, as_list, as_object, entry, read_json, several
from truelabel.data.exchange.names import picture_name, plain_name
from truelabel.data.folder import ENDINGS


class Finished(NamedTuple):
    """An annotation that somebody handed in: where it stands, what of, by whom, and its results."""

    where: str
    example: str | int
    annotator: str
    results: list[dict[str, Any]]


def finished_tasks(paths: Paths, example: str | None) -> Iterator[Finished]:
    """Annotations of all tasks in all files."""
    for file in several(paths):
        for number, value in enumerate(as_list(read_json(file), file.name), 1):
            where = f"task {number} of {file.name}"
            task = as_object(value, where)
            if "annotations" not in task and "completions" not in task:
                if "predictions" in task:
                    raise ExchangeError(
                        f"{where} has predictions only, which nobody has looked at: annotate it in Label Studio, "
                        "and export the project as JSON"
                    )
                raise ExchangeError(f"{where} has no 'annotations': export the project as JSON, not JSON-MIN or CSV")
            given = task.get("annotations", task.get("completions"))
            name = _example(task, example, where)
            for count, one in enumerate(as_list(given or [], f"'annotations' of {where}"), 1):
                place = f"annotation {count} of {where}"
                annotation = as_object(one, place)
                if annotation.get("was_cancelled"):
                    continue
                results = as_list(annotation.get("result") or [], f"'result' of {place}")
                objects = [as_object(result, f"a result of {place}") for result in results]
                yield Finished(place, name, _annotator(annotation.get("completed_by"), place), objects)


def _example(task: dict[str, Any], field: str | None, where: str) -> str | int:
    data = as_object(task.get("data") or {}, f"'data' of {where}")
    if field is not None:
        value = entry(data, field, f"'data' of {where}")
    elif data.get("example") is not None:
        value = data["example"]
    else:
        pictures = (v for v in data.values() if isinstance(v, str) and v.lower().endswith(tuple(ENDINGS)))
        value = next(pictures, None)
        if value is None:
            return plain_name(entry(task, "id", where), where)
    if isinstance(value, str) and value.lower().endswith(tuple(ENDINGS)):
        return picture_name(value, where)
    return plain_name(value, where)


def _annotator(value: Any, where: str) -> str:
    """Who did it: an id, or a person with an address."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("email", "username", "id") if value.get(key) is not None), None)
    return "unknown" if value is None else str(plain_name(value, where))


def value_of(result: dict[str, Any]) -> dict[str, Any]:
    """What a result says; nothing if it is damaged."""
    value = result.get("value")
    return value if isinstance(value, dict) else {}
