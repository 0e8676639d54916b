"""Who hears about each epoch: a bar in the terminal, a CSV file, TensorBoard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truelabel.training.history import History

Listener = Callable[[History], None]


@contextmanager
def progress_bar(title: str, epochs: int, done: int, show: bool) -> Iterator[Listener]:
    """A bar that moves once an epoch and shows its loss and validation accuracy."""
    from rich.console import Console

    console = Console(stderr=True)
    if not show or not console.is_terminal:
        yield lambda history: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task(title, total=epochs, completed=done, note="")

        def listen(history: History) -> None:
            row = history.rows[-1]
            note = f"loss {row['train_loss']:.3f}"
            if "valid_accuracy" in row:
                note += f"  noisy validation {row['valid_accuracy']:.1%}"
            progress.update(task, completed=len(history.rows), note=note)

        yield listen


def csv_log(path: Path) -> Listener:
    """All rows so far in a CSV file, so that a resumed run continues it without a seam."""
    return lambda history: history.write_csv(path)


@contextmanager
def tensorboard_log(folder: Path, done: int, wanted: bool) -> Iterator[Listener]:
    """Scalars for TensorBoard; a resumed run drops what it will write again."""
    if not wanted:
        yield lambda history: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError("TensorBoard logging needs the extra: pip install 'truelabel[track]'") from error
    writer: Any = SummaryWriter(str(folder), purge_step=done)

    def listen(history: History) -> None:
        for name, value in history.rows[-1].items():
            writer.add_scalar(name, value, len(history.rows) - 1)

    try:
        yield listen
    finally:
        writer.close()
