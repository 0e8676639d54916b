"""Who does the runs: this process, several of this machine, or a cluster of Ray."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, cast

from truelabel.checks import check_amount, check_whole
from truelabel.experiments.plan import Planned, longest_last
from truelabel.experiments.reached import Reached
from truelabel.experiments.records import Records
from truelabel.experiments.work import Ended, Site, failure, work
from truelabel.training import Engine
from truelabel.training.memory import keep_freed_memory

WHY_DIED = "as it does if memory is short, or if a script calls this outside of `if __name__ == '__main__':`"
PATIENCE = 60.0
"""Seconds that the daemon by which processes share a GPU has to end."""

LISTEN_EVERY = 1.0
"""Seconds after which a cluster is asked again where its runs are."""

Tell = Callable[[Planned, Reached], None]
"""Told, about once a second, where a run is that has begun."""


def nobody(run: Planned, reached: Reached) -> None:
    """Is told, and does nothing."""


class Pool(Protocol):
    """Does runs and tells of each as it ends, in any order; what is not begun at ``end`` is left.

    Attributes:
        workers: how many at once.
        on_this_machine: whether this machine does them.
    """

    @property
    def workers(self) -> int: ...

    @property
    def on_this_machine(self) -> bool: ...

    def run(
        self, planned: Sequence[Planned], site: Site, end: float | None, tell: Tell = nobody
    ) -> Iterator[tuple[Planned, Ended]]: ...


@dataclass(frozen=True)
class Here:
    """One run after another, in this process."""

    workers = 1
    on_this_machine = True

    def run(
        self, planned: Sequence[Planned], site: Site, end: float | None, tell: Tell = nobody
    ) -> Iterator[tuple[Planned, Ended]]:
        """See :class:`Pool`."""
        Engine(device=site.device).check()
        for run in planned:
            if _over(end):
                return
            teller = _Patient(partial(tell, run))
            yield run, work(run, site, _left(end), teller)
            teller.complain()


class _Patient:
    """Keeps what goes wrong in telling until the run is over, which has not failed for it."""

    def __init__(self, tell: Callable[[Reached], None]) -> None:
        self.tell = tell
        self.error: Exception | None = None

    def __call__(self, reached: Reached) -> None:
        if self.error is None:
            try:
                self.tell(reached)
            except Exception as error:
                self.error = error

    def complain(self) -> None:
        if self.error is not None:
            raise self.error


@dataclass(frozen=True)
class Processes:
    """Several runs at once, each worker a process of its own: if one dies, its run has failed and the rest goes on.

    A script that uses it does so under ``if __name__ == "__main__":``, for every worker imports the script anew.
    On one GPU they share it best under NVIDIA's MPS daemon, which is started if it is there and not running.

    Args:
        workers: how many at once.
    """

    workers: int
    on_this_machine = True

    def __post_init__(self) -> None:
        check_whole("workers", self.workers)

    def run(
        self, planned: Sequence[Planned], site: Site, end: float | None, tell: Tell = nobody
    ) -> Iterator[tuple[Planned, Ended]]:
        """See :class:`Pool`."""
        Engine(device=site.device).check()
        site = replace(site, threads=1)
        waiting = longest_last(planned)
        busy: dict[Connection, tuple[Any, Planned]] = {}
        idle: list[tuple[Connection, Any]] = []
        # Workers end before the daemon, which waits for whoever still uses the GPU.
        with _shared_gpu(site):
            try:
                while busy or (waiting and not _over(end)):
                    while waiting and len(busy) < self.workers and not _over(end):
                        line, process = idle.pop() if idle else _start(self.workers)
                        # If it died while it had nothing to do, that shows when it is asked for an answer.
                        with contextlib.suppress(OSError):
                            line.send((waiting[-1], site, _left(end)))
                        busy[line] = process, waiting.pop()
                    for line in cast(list[Connection], wait(list(busy))):
                        process, run = busy[line]
                        try:
                            heard: Reached | Ended = line.recv()
                        except (EOFError, OSError):
                            process.join()
                            heard = _died(run, site, process.exitcode)
                        else:
                            if isinstance(heard, Reached):
                                tell(run, heard)
                                continue
                            idle.append((line, process))
                        del busy[line]
                        yield run, heard
            finally:
                for line, process in [*idle, *((line, process) for line, (process, _) in busy.items())]:
                    line.close()
                    process.terminate()
                    process.join()


@dataclass(frozen=True)
class Ray:
    """Runs as tasks of a Ray cluster, the one that is running or a new one on this machine.

    Checkpoints and data are where the workers find them; records come back to this process, which writes them.

    Args:
        workers: runs at once at most.
        gpus: of each run; a share of one lets several have it.
    """

    workers: int
    gpus: float = 0.0
    on_this_machine = False

    def __post_init__(self) -> None:
        check_whole("workers", self.workers)
        check_amount("gpus", self.gpus)

    def run(
        self, planned: Sequence[Planned], site: Site, end: float | None, tell: Tell = nobody
    ) -> Iterator[tuple[Planned, Ended]]:
        """See :class:`Pool`."""
        try:
            import ray
        except ImportError as error:
            raise ImportError("runs on a cluster need the extra: pip install 'truelabel[ray]'") from error
        if not ray.is_initialized():
            ray.init(log_to_driver=False)
        from ray.util.queue import Queue

        there = replace(site, results=None)
        task: Any = ray.remote(num_cpus=1, num_gpus=self.gpus, max_retries=0)(work)
        news: Any = Queue(actor_options={"num_cpus": 0})
        waiting, running = longest_last(planned), dict[Any, Planned]()
        while running or (waiting and not _over(end)):
            while waiting and len(running) < self.workers and not _over(end):
                run = waiting.pop()
                if _recorded(run, site):
                    yield run, Ended("elsewhere")
                else:
                    running[task.remote(run, there, _left(end), _ByQueue(news, run.id))] = run
            if not running:
                continue
            finished, _ = ray.wait(list(running), timeout=LISTEN_EVERY)
            going = {run.id: run for run in running.values()}
            heard: list[tuple[str, Reached]] = []
            with contextlib.suppress(ray.exceptions.RayError):  # its machine may be gone; runs do not need it
                heard = news.get_nowait_batch(news.qsize())
            for name, reached in heard:
                if name in going:  # what comes late is no news
                    tell(going[name], reached)
            for reference in finished:
                run = running.pop(reference)
                try:
                    ended = ray.get(reference)
                except ray.exceptions.RayError as error:
                    ended = Ended("failed", failure(run, site, " ".join(str(error).split())[:500]))
                if ended.record is not None and site.results is not None:
                    new = Records(site.results).append_new(ended.record)
                    ended = ended if new else Ended("elsewhere")
                yield run, ended
        with contextlib.suppress(ray.exceptions.RayError):
            news.shutdown()


@dataclass(frozen=True)
class _ByQueue:
    """Tells whoever asked for a run where it is, from another machine."""

    queue: Any
    run: str

    def __call__(self, reached: Reached) -> None:
        import ray

        with contextlib.suppress(ray.exceptions.RayError):  # whoever asked is gone; the run goes on
            self.queue.put_nowait((self.run, reached))


def _start(workers: int) -> tuple[Connection, Any]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, workers), daemon=True)
    with _deaf_to_interrupts():
        process.start()
    theirs.close()
    return ours, process


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started in here leave Ctrl-C to their parent, which ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(line: Connection, workers: int) -> None:
    """Do runs until nobody asks for more, as one of so many workers."""
    keep_freed_memory()
    # torch.compile would start a process a core in every worker.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
    while True:
        try:
            run, site, seconds = line.recv()
        except (EOFError, OSError):
            return
        ended = work(run, site, seconds, partial(_send, line))
        if not _send(line, ended):
            return


def _send(line: Connection, answer: Reached | Ended) -> bool:
    """Whether anybody is still there; what was done is written down anyway."""
    try:
        line.send(answer)
    except OSError:
        return False
    return True


def _recorded(run: Planned, site: Site) -> bool:
    """Whether another call has done the run meanwhile."""
    return site.results is not None and run.id in Records(site.results).finished()


def _died(run: Planned, site: Site, code: int | None) -> Ended:
    """A process that ended on its own could not write down what became of its run."""
    record = failure(run, site, f"the process died with exit code {code}, {WHY_DIED}")
    if site.results is not None and not Records(site.results).append_new(record):
        return Ended("elsewhere")
    return Ended("failed", record)


def _over(end: float | None) -> bool:
    return end is not None and time.monotonic() >= end


def _left(end: float | None) -> float | None:
    return None if end is None else max(0.0, end - time.monotonic())


@contextlib.contextmanager
def _shared_gpu(site: Site) -> Iterator[None]:
    """NVIDIA's daemon by which processes share a GPU without taking turns, for as long as it is needed."""
    import torch

    daemon = shutil.which("nvidia-cuda-mps-control")
    if site.device not in ("auto", "cuda") or daemon is None or not torch.cuda.device_count():
        yield
        return
    # It fails if one is running, which then is somebody else's to end.
    started = subprocess.run([daemon, "-d"], check=False, capture_output=True).returncode == 0
    try:
        yield
    finally:
        if started:
            try:
                subprocess.run([daemon], input="quit\n", text=True, check=False, capture_output=True, timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                warnings.warn(f"{daemon} did not end: somebody else uses the GPU; end it with 'quit'", stacklevel=2)
