"""Fits spread over executors: the same bits whatever runs them, nothing done twice, nothing lost with a worker."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import pickle
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import neural_compiler as nc
import numpy as np
import pytest
from neural_compiler import spread
from neural_compiler.spread import executors, plain, tasks
from neural_compiler.spread.studies import with_values

DECAY = "(param a 1) (param k 1 :min 0) (* a (exp (- (* k t))))"
RNG = np.random.default_rng(3)
T = np.linspace(0, 4, 40)


def table(k: float) -> dict[str, Any]:
    return {"t": T, "y": 3 * np.exp(-k * T) + 0.05 * RNG.normal(size=T.size)}


TASKS = [{"model": DECAY, "data": table(k), "starts": 2} for k in (0.2, 0.5, 0.9, 1.4, 2.0)]


def bits(found: list[nc.FitResult]) -> list[bytes]:
    return [np.array([*one.params.values(), *one.covariance.ravel(), one.loglik]).tobytes() for one in found]


@pytest.fixture(scope="module")
def alone() -> list[bytes]:
    return bits([nc.fit(**task) for task in TASKS])


class Counted(Executor):
    """Runs work at once and counts it."""

    def __init__(self) -> None:
        self.count = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.count += 1
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_bits_do_not_depend_on_the_workers(workers: int, alone: list[bytes]) -> None:
    if workers == 0:
        assert bits(spread.fit_many(TASKS)) == alone
        return
    with ProcessPoolExecutor(workers) as pool:
        assert bits(spread.fit_many(TASKS, executor=pool)) == alone
    with ThreadPoolExecutor(workers) as pool:
        assert bits(spread.fit_many(TASKS, executor=pool)) == alone


class Fatal(ProcessPoolExecutor):
    """The second piece of work ends its process, the first time."""

    submitted = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        Fatal.submitted += 1
        return super().submit(os._exit, 1) if Fatal.submitted == 2 else super().submit(fn, *args, **kwargs)


def test_a_lost_worker_loses_nothing(alone: list[bytes]) -> None:
    Fatal.submitted = 0
    assert bits(spread.fit_many(TASKS, executor=lambda: Fatal(2))) == alone
    assert Fatal.submitted > len(TASKS)


def test_a_pool_that_broke_says_what_to_do(tmp_path: pathlib.Path, alone: list[bytes]) -> None:
    Fatal.submitted = 0
    with Fatal(1) as pool, pytest.raises(RuntimeError, match="a function that makes one"):
        spread.fit_many(TASKS, executor=pool, folder=tmp_path)
    assert bits(spread.fit_many(TASKS, folder=tmp_path)) == alone


def test_work_that_always_ends_its_worker_is_given_up() -> None:
    with pytest.raises(RuntimeError, match="lost with its worker 5 times"):
        list(executors.results(os._exit, [1], lambda: ProcessPoolExecutor(1)))


def test_engines_name_their_losses() -> None:
    class KilledWorker(Exception):
        """As Dask's."""

    first = [KilledWorker("gone"), KilledWorker("gone")]

    class Losing(Counted):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            if first:
                future: Future[Any] = Future()
                future.set_exception(first.pop())
                return future
            return super().submit(fn, *args, **kwargs)

    assert sorted(executors.results(abs, [-1, -2, -3], Losing())) == [(0, 1), (1, 2), (2, 3)]
    assert not executors.lost(ValueError())


def test_long_lists_wait_here() -> None:
    outstanding, most = [0], [0]

    class Watched(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            outstanding[0] += 1
            most[0] = max(most[0], outstanding[0])
            return super().submit(fn, *args, **kwargs)

    found = {}
    with Watched(2) as pool:
        for k, value in executors.results(abs, list(range(-1000, 0)), pool):
            outstanding[0] -= 1
            found[k] = value
    assert found == {k: 1000 - k for k in range(1000)}
    assert most[0] <= executors.WINDOW + 2


# Going on where it ended.


def test_finished_tasks_are_not_done_again(tmp_path: pathlib.Path, alone: list[bytes]) -> None:
    first = Counted()
    assert bits(spread.fit_many(TASKS, executor=first, folder=tmp_path)) == alone
    assert first.count == 5 and len(list(tmp_path.iterdir())) == 5
    for file in sorted(tmp_path.iterdir())[:2]:
        file.unlink()
    second = Counted()
    assert bits(spread.fit_many(TASKS, executor=second, folder=tmp_path)) == alone
    assert second.count == 2
    # Without an executor, with threads: the same tasks.
    assert bits(spread.fit_many([{**task, "threads": 2} for task in TASKS], folder=tmp_path)) == alone


def test_what_was_finished_before_an_interruption_is_kept(tmp_path: pathlib.Path) -> None:
    def stop(done: int, of: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spread.fit_many(TASKS, folder=tmp_path, progress=stop)
    rest = Counted()
    spread.fit_many(TASKS, executor=rest, folder=tmp_path)
    assert rest.count == 2


class Trap:
    """Unpickled, it makes a file."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return pathlib.Path.touch, (self._path,)


def test_nothing_in_the_folder_is_run(tmp_path: pathlib.Path, alone: list[bytes]) -> None:
    folder, sprung = tmp_path / "kept", tmp_path / "sprung"
    folder.mkdir()
    trap = pickle.dumps(Trap(sprung))
    for task in TASKS:
        for suffix in ("pickle", "json", "npz", "npy"):
            (folder / f"{tasks.task_hash(task)}.{suffix}").write_bytes(trap)
    done = Counted()
    assert bits(spread.fit_many(TASKS, executor=done, folder=folder)) == alone
    assert done.count == 5 and not sprung.exists()
    # A result whose hash is right, of classes that are none of ours, or of arrays of objects.
    kept = folder / f"{tasks.task_hash(TASKS[0])}.json"
    for body in ('{"Path": ["x"]}', '{"array": ["|O", [1], "AAAAAAAAAAA="]}', '{"FitResult": [["predict", 1]]}', "[" * 9000, "3"):
        kept.write_bytes(forged(kept.name[:-5], body))
        again = Counted()
        assert bits(spread.fit_many(TASKS, executor=again, folder=folder)) == alone and again.count == 1, body


def forged(task: str, body: str) -> bytes:
    head = {"format": plain.FORMAT, "task": task, "sha256": hashlib.sha256(body.encode()).hexdigest()}
    return json.dumps(head).encode() + b"\n" + body.encode() + b"\n"


def test_what_was_changed_is_done_anew(tmp_path: pathlib.Path, alone: list[bytes]) -> None:
    spread.fit_many(TASKS, executor=Counted(), folder=tmp_path)
    files = sorted(tmp_path.iterdir())
    first, second, third, fourth = (file.read_bytes() for file in files[:4])
    files[0].write_bytes(first[:-30])
    files[1].write_bytes(second.replace(b'"cost"', b'"tost"'))
    # A whole result of another task.
    files[2].write_bytes(fourth)
    files[3].write_bytes(fourth + b"\n")
    again = Counted()
    assert bits(spread.fit_many(TASKS, executor=again, folder=tmp_path)) == alone
    assert again.count == 4
    assert [file.read_bytes() for file in files[:4]] == [first, second, third, fourth]


def test_kept_fits_are_the_fits(tmp_path: pathlib.Path) -> None:
    law = "(param k 1 :min 0) (state x 5) (derive x (* (- k) x))"
    times = np.linspace(0, 2, 6)
    doses = {"time": [1.0], "amount": [2.0], "target": ["x"]}
    x = 5 * np.exp(-0.7 * times) + np.where(times > 1, 2 * np.exp(-0.7 * (times - 1)), 0)
    listed: list[dict[str, Any]] = [
        {"model": law, "data": {"t": times, "x": x}, "events": doses},
        {"model": DECAY, "data": {"t": T, "y": T, "more": ["a"] * T.size}, "target": "y", "sigma": np.float64(0.5), "seed": 3},
        {"model": DECAY, "data": {"t": T}},
    ]
    now = spread.fit_many(listed, folder=tmp_path, failures="keep")
    done = Counted()
    before = spread.fit_many(listed, executor=done, folder=tmp_path, failures="keep")
    assert done.count == 0
    for one, kept in zip(now[:2], before):
        assert kept.summary() == one.summary() and kept.source == one.source and type(kept.params["k"]) is type(one.params["k"])
        assert kept.params["k"].ci95 == one.params["k"].ci95 and kept.columns == one.columns
        assert kept.covariance.tobytes() == one.covariance.tobytes() and vars(kept).keys() == vars(one).keys()
    new = {"t": times + 0.1}
    assert np.array_equal(before[0].predict(new)["x"], now[0].predict(new)["x"])
    before[1].save(tmp_path / "saved.scm")
    assert isinstance(before[2], nc.FitError) and str(before[2]) == str(now[2]) and before[2].code == now[2].code


def test_numbers_stay_to_the_bit() -> None:
    numbers = [0.1, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324, np.float64("nan"), np.float32(0.1), np.int64(-3)]
    again = plain._made(json.loads(json.dumps(plain._told(numbers), allow_nan=False)))
    assert [(type(v), np.asarray(v).tobytes()) for v in again] == [(type(v), np.asarray(v).tobytes()) for v in numbers]
    nested = {"a": (1, [True, None, "\x1b\ud800"]), ("k", 2): np.array([["x", "yy"]])}
    again = plain._made(json.loads(json.dumps(plain._told(nested))))
    assert list(again) == list(nested) and again["a"] == nested["a"] and again[("k", 2)].tolist() == [["x", "yy"]]
    with pytest.raises(TypeError, match="cannot be kept"):
        plain._told(object())


def test_leftovers_of_killed_processes_go(tmp_path: pathlib.Path) -> None:
    left, busy = tmp_path / ".fit-left.part", tmp_path / ".fit-busy.part"
    left.write_bytes(b"half a")
    with busy.open("wb") as file:
        tasks._lock(file)
        spread.fit_many(TASKS[:1], folder=tmp_path)
        assert busy.exists() and not left.exists()
    spread.fit_many(TASKS[:1], folder=tmp_path)
    assert [p.suffix for p in tmp_path.iterdir()] == [".json"]


def test_a_pipe_in_the_folder_is_not_waited_for(tmp_path: pathlib.Path, alone: list[bytes]) -> None:
    os.mkfifo(tmp_path / f"{tasks.task_hash(TASKS[0])}.json")
    os.mkfifo(tmp_path / ".fit-pipe.part")
    assert bits(spread.fit_many(TASKS[:1], folder=tmp_path)) == alone[:1]


def test_hashes_tell_tasks_apart() -> None:
    base: dict[str, Any] = {"model": DECAY, "data": {"t": T, "y": T}}
    others = [
        {**base, "model": DECAY + " "},
        {**base, "starts": 3},
        {**base, "data": {"t": T, "y": np.nextafter(T, 9)}},
        {**base, "data": {"t": T, "z": T}},
        {**base, "data": {"t": T.astype(np.float32), "y": T}},
        {**base, "data": {"t": T, "y": np.ma.array(T, mask=T > 3)}},
        {**base, "events": {"time": [1.0], "amount": [2.0]}},
    ]
    found = {tasks.task_hash(task) for task in (base, *others)}
    assert len(found) == len(others) + 1
    assert tasks.task_hash({**base, "threads": 2}) == tasks.task_hash(base)


def test_results_travel(alone: list[bytes]) -> None:
    one = nc.fit(**TASKS[0])
    again = pickle.loads(pickle.dumps(one))
    assert again.summary() == one.summary() and again.params["k"].stderr == one.params["k"].stderr
    assert np.array_equal(again.predict({"t": T}), one.predict({"t": T}))


def test_mistakes() -> None:
    bad = {"model": DECAY, "data": {"t": T}}
    with pytest.raises(nc.FitError):
        spread.fit_many([TASKS[0], bad])
    kept = spread.fit_many([bad, TASKS[0]], failures="keep")
    assert isinstance(kept[0], nc.FitError) and isinstance(kept[1], nc.FitResult)
    with pytest.raises(ValueError, match="budget"):
        spread.fit_many([{**TASKS[0], "budget": 1.0}])
    with pytest.raises(TypeError, match="`data` is missing"):
        spread.fit_many([{"model": DECAY}])
    with pytest.raises(ValueError):
        spread.fit_many([], failures="ignore")


# What is made of many fits.


def test_groups() -> None:
    who = np.repeat(["b", "a", "c"], 40)
    data = {name: np.concatenate([task["data"][name] for task in TASKS[:3]]) for name in ("t", "y")}
    with ProcessPoolExecutor(2) as pool:
        found = spread.fit_groups(DECAY, {**data, "who": who}, "who", executor=pool, starts=2)
    assert list(found) == ["b", "a", "c"]
    assert bits(list(found.values())) == bits([nc.fit(**task) for task in TASKS[:3]])


def test_groups_are_named_by_whatever_a_column_holds() -> None:
    data = {name: np.concatenate([task["data"][name] for task in TASKS[:2]]) for name in ("t", "y")}
    for names in (["b", "a"], [7, 3], [1.5, -2.0], [True, False], ["b", 3], [b"x", b"y"]):
        who = np.empty(80, object)
        who[:] = [names[0]] * 40 + [names[1]] * 40
        found = spread.fit_groups(DECAY, {**data, "who": who}, "who", starts=2)
        assert list(found) == names and bits(list(found.values())) == bits([nc.fit(**task) for task in TASKS[:2]])
    days = np.repeat(np.array(["2024-03-01", "2024-02-01"], "datetime64[D]"), 40)
    assert [str(day) for day in spread.fit_groups(DECAY, {**data, "day": days}, "day")] == ["2024-03-01", "2024-02-01"]


@pytest.mark.parametrize(
    ("data", "group", "code", "words"),
    [
        ({"t": T, "y": T}, "where", "missing-column", "no column `where`; they have t, y"),
        ({"t": T, "y": T}, None, "missing-column", "no column `None`"),
        ({}, "who", "empty-table", "no columns"),
        ({"t": [], "y": [], "who": []}, "who", "empty-table", "no rows"),
        ({"t": T, "y": T[:9], "who": ["a"] * 40}, "who", "ragged-row", "`y` has 9 rows, `t` has 40"),
        ({"t": T, "y": T, "who": ["a"] * 39 + [None]}, "who", "empty-cell", "row 40, column `who`"),
        ({"t": T, "y": T, "who": np.where(T > 3.95, np.nan, 1)}, "who", "empty-cell", "row 40, column `who`"),
        ({"t": T, "y": T, "who": np.ma.array(np.ones(40), mask=T > 3.95)}, "who", "empty-cell", "row 40"),
        ({"t": T, "y": T, "who": "a"}, "who", "bad-value", "`who` is a single value"),
        ({"t": T, "y": T, "who": np.ones((40, 2))}, "who", "bad-value", "several values a row"),
        ({"t": T, "y": T, "who": [[1], [1, 2]] * 20}, "who", "bad-value", "`who` is no array"),
        ({"t": T, "y": T, "who": np.array([{}] * 40, object)}, "who", "bad-value", "dict is no name of a group"),
    ],
)
def test_tables_without_groups_are_told(data: Any, group: Any, code: str, words: str) -> None:
    with pytest.raises(nc.TableError, match=words) as found:
        spread.fit_groups(DECAY, data, group)
    assert found.value.code == code
    if group is not None:
        with pytest.raises(nc.TableError, match=words):
            spread.bootstrap(DECAY, data, 2, group=group)


def test_arguments_of_another_kind_are_told(tmp_path: pathlib.Path) -> None:
    data = {"t": T, "y": T, "who": ["a"] * 40}
    for call, words in (
        (lambda: spread.fit_groups(3, data, "who"), "a model is a text"),  # type: ignore[arg-type]
        (lambda: spread.fit_groups(DECAY, [1, 2], "who"), "a dict of arrays"),
        (lambda: spread.fit_groups(DECAY, data, "who", executor=3), "has `submit`"),
        (lambda: spread.fit_groups(DECAY, data, "who", folder=tmp_path, target=object()), "so that it has a hash"),
        (lambda: spread.fit_many([DECAY]), "by name, as a dict"),  # type: ignore[list-item]
        (lambda: spread.fit_starts(DECAY, data, [3]), "as a dict"),  # type: ignore[list-item]
        (lambda: spread.fit_starts(DECAY, data, [{"k": "fast"}]), "a finite number"),  # type: ignore[dict-item]
        (lambda: spread.profile(DECAY, data, "k", [np.nan]), "a finite number"),
        (lambda: spread.bootstrap(DECAY, data, 0), "whole number from 1"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            call()


def test_starts() -> None:
    data = {"t": T, "y": 2 * np.sin(3 * T + 0.5)}
    wave = "(param w 1 :min 0 :max 10) (* 2 (sin (+ (* w t) 0.5)))"
    found = spread.fit_starts(wave, data, [{"w": w} for w in (0.7, 2.8, 6.0)])
    assert len(found) == 3 and abs(found[0].params["w"] - 3) < 1e-9
    assert [one.cost for one in found] == sorted(one.cost for one in found)
    assert found[-1].cost > 1


def test_a_profile_is_the_likelihood_of_the_others() -> None:
    """For a line through the origin with an offset, the profile is known in closed form."""
    y = 2 * T + 1 + 0.1 * RNG.normal(size=T.size)
    found = spread.profile("(param a 1) (param b 0) (+ (* a t) b)", {"t": T, "y": y}, "a", [1.8, 2.0, 2.2], sigma=0.1)
    for a, one in zip((1.8, 2.0, 2.2), found):
        assert isinstance(one, nc.FitResult) and list(one.params) == ["b"]
        rest = y - a * T
        assert one.params["b"] == pytest.approx(rest.mean(), rel=1e-9)
        expected = -0.5 * np.sum(((rest - rest.mean()) / 0.1) ** 2) - T.size * np.log(0.1 * np.sqrt(2 * np.pi))
        assert one.loglik == pytest.approx(expected, rel=1e-9)


def test_bootstrap_of_a_mean() -> None:
    """The bootstrap distribution of a mean: its standard deviation is that of the data over the root of their number."""
    y = RNG.normal(5, 2, size=400)
    data = {"x": np.ones(400), "y": y}
    found = spread.bootstrap("(param m 1) (* m x)", data, 300, seed=1)
    assert found.failed == 0 and found.samples["m"].shape == (300,)
    # The standard deviation of 300 samples is known to 4 %: four times that.
    assert found.stderr["m"] == pytest.approx(y.std() / 20, rel=0.16)
    draws = np.random.default_rng([1, 7]).integers(400, size=400)
    assert found.samples["m"][7] == pytest.approx(y[draws].mean(), rel=1e-12)
    low, high = found.interval()["m"]
    assert low < found.fitted.params["m"] < high
    with ProcessPoolExecutor(2) as pool:
        again = spread.bootstrap("(param m 1) (* m x)", data, 20, seed=1, executor=pool)
    assert again.samples["m"].tobytes() == found.samples["m"][:20].tobytes()


def test_bootstrap_of_trajectories_draws_groups() -> None:
    law = "(param k 1 :min 0) (state x 5) (derive x (* (- k) x))"
    times = np.linspace(0, 2, 6)
    rates = np.array([0.7, 0.8, 0.9, 1.0])
    x = np.concatenate([5 * np.exp(-k * times) for k in rates])
    data = {"t": np.tile(times, 4), "x": x, "who": np.repeat(np.arange(4), 6)}
    found = spread.bootstrap(law, data, 6, group="who")
    assert found.failed == 0 and np.unique(found.samples["k"]).size > 2
    assert (found.samples["k"] >= 0.7 - 1e-6).all() and (found.samples["k"] <= 1 + 1e-6).all()
    with pytest.raises(ValueError, match="no independent draws"):
        spread.bootstrap(law, {"t": times, "x": x[:6]}, 2)


def test_other_values_in_the_text() -> None:
    assert with_values("(param k 1 :min 0) (* k t)", {"k": 2}) == "(param k 2.0 :min 0) (* k t)"
    assert with_values("(param k 1 :fixed) (* k t)", {"k": 2}, fixed=True) == "(param k 2.0 :fixed) (* k t)"
    for text, name in (("(param k [1 2]) (dot k k)", "k"), ("(* k t)", "k"), ("; (param k 1)\n(param k 1) (* k t)", "k"), (DECAY, "q")):
        with pytest.raises(ValueError, match="no parameter"):
            with_values(text, {name: 2.0})
