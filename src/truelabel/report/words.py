"""The summary of a run, in words."""

from __future__ import annotations

from typing import Any

from truelabel.report.class_noise import ClassNoise
from truelabel.report.data_facts import DataFacts
from truelabel.report.run_folder import RunFolder
from truelabel.report.run_tables import Person

FEW = 5
"""Labels below which nobody is called the best or the worst."""

LOW_SKILL = 0.5


def summary(run: RunFolder, facts: DataFacts, suspects: int | None) -> list[str]:
    """What a reader should know first, a sentence or two each."""
    what, who, said = ("images", "readers", "masks") if run.is_masks else ("examples", "annotators", "labels")
    lines = [
        f"{number(facts.examples, what)} with {number(facts.labels, said)} in {number(len(run.classes), 'classes')} "
        f"by {number(len(run.people), who)}, learned by {run.method}."
    ]
    if suspects is not None:
        lines.append(_suspected(run, facts, suspects))
    trusted = [person for person in run.people if person.labels >= FEW]
    if len(trusted) > 1:
        # By the near end of the interval: who gave five labels may be anything.
        best, worst = max(trusted, key=_surely_at_least), min(trusted, key=_surely_at_most)
        lines.append(f"Most reliable is {_described(best)}, least reliable {_described(worst)}.")
    elif len(trusted) == 1:
        lines.append(f"All labels come from one source, right {trusted[0].skill:.0%} of the time by the estimate.")
    held_out = held_out_agreement(run.history)
    if held_out is not None:
        lines.append(
            f"The model agrees with {held_out:.1%} of the labels that were held out. These are noisy too, so this is "
            "no accuracy: a perfect model would disagree with the wrong ones."
        )
    return lines


def _surely_at_least(person: Person) -> float:
    return person.skill if person.low is None else person.low


def _surely_at_most(person: Person) -> float:
    return person.skill if person.high is None else person.high


def first_steps(run: RunFolder, noise: list[ClassNoise], unclear: list[str], suspects: int | None) -> list[str]:
    """What to look at first, most rewarding first."""
    steps = []
    if suspects:
        steps.append(f"Review the suspects below, from the top: {number(suspects, 'labels')} are in doubt.")
    trusted = sorted((p for p in run.people if p.labels >= FEW), key=_surely_at_most)
    weak = [person for person in trusted if person.skill < LOW_SKILL]
    if len(run.people) > 1 and weak:
        share = sum(person.labels for person in weak) / max(1, sum(person.labels for person in run.people))
        names = ", ".join(person.name for person in weak[:3]) + (" and others" if len(weak) > 3 else "")
        steps.append(f"Talk to {names}: more often wrong than right, with {share:.0%} of all labels.")
    worst = next((row for row in noise if row.labels and row.wrong is not None), None)
    if worst is not None and worst.wrong is not None and worst.wrong >= 0.1:
        instead = f"; many of them are {worst.really[0]}" if worst.really else ""
        steps.append(f"Look at labels that say {worst.name}: {worst.wrong:.0%} are probably wrong{instead}.")
    if unclear:
        steps.append(f"Have some examples of {_listed(unclear)} labelled by somebody whom you trust; see the warning.")
    return steps or ["Nothing stands out: the labels look sound to this method."]


def held_out_agreement(history: dict[str, Any]) -> float | None:
    """Share of held-out labels that the chosen epoch predicts; None if nothing was held out."""
    rows, best = history.get("rows") or [], history.get("best_epoch")
    if not isinstance(best, int) or best >= len(rows):
        return None
    value = rows[best].get("valid_accuracy")
    return None if value is None else float(value)


def number(count: int, what: str) -> str:
    """A count with its noun.

    Example:
        >>> number(1200, "labels"), number(1, "classes")
        ('1,200 labels', '1 class')
    """
    one = {"classes": "class"}.get(what, what.removesuffix("s"))
    return f"{count:,} {one if count == 1 else what}"


def _suspected(run: RunFolder, facts: DataFacts, suspects: int) -> str:
    if run.is_masks:
        return f"{number(suspects, 'regions')} of masks {'is' if suspects == 1 else 'are'} in doubt."
    share = suspects / facts.labels if facts.labels else 0
    rate = run.quality.get("noise_rate")
    estimate = f" By the estimate {float(rate):.1%} of all labels are wrong." if isinstance(rate, int | float) else ""
    verb = "is" if suspects == 1 else "are"
    return f"{number(suspects, 'labels')} ({share:.1%}) {verb} suspected to be wrong.{estimate}"


def _described(person: Person) -> str:
    ends = "" if person.low is None or person.high is None else f", between {person.low:.0%} and {person.high:.0%}"
    return f"{person.name} ({person.skill:.0%}{ends})"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
