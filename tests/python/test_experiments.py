"""The helpers of the experiments: what the tables and checks rest on, each against something worked out otherwise.

The experiments themselves run in `make experiments-check`."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments import NAMES
from experiments.__main__ import experiment
from experiments.common import expected, figures, jobs
from experiments.common.cli import main
from experiments.common.dynamics import WholeWindow
from experiments.common.nets import HandCoded, compiled, count, mlp
from experiments.common.ode import Windows, integrate, rk4_window_program
from experiments.common.second_order import LeastSquares, global_fit, refine
from experiments.common.tables import Table, cell, percent, sci
from experiments.common.training import Settings, train
from experiments.feynman.equations import EQUATIONS, PRINTED
from experiments.feynman.runs import Sampler, widened
from experiments.heat.problem import ALPHA, DT, Modes, grid, laplacian
from experiments.lotka_volterra import models as lotka_volterra


def test_runge_kutta_is_of_fourth_order() -> None:
    """Halving the step divides the error by sixteen, on an equation with a known solution."""
    errors = []
    for steps in (20, 40):
        found = integrate(lambda t, u: -u, torch.ones(1, dtype=torch.float64), steps, 2 / steps)
        errors.append(abs(found[-1].item() - math.exp(-2)))
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.1)


def test_the_equations_keep_what_they_must() -> None:
    """The true Lotka-Volterra trajectory keeps its constant of motion."""
    x, y = lotka_volterra.SYSTEM.clean(5).double().unbind(-1)
    kept = 0.25 * x - 0.5 * torch.log(x) + 0.5 * y - torch.log(y)
    assert (kept - kept[0]).abs().max() < 1e-3


def test_a_window_as_one_program_is_the_integration_by_hand() -> None:
    """Only sums and products, correctly rounded on both sides: the same bits."""
    system = lotka_volterra.SYSTEM
    model = WholeWindow(lotka_volterra.PROGRAMS, lotka_volterra.TRUE, system)
    start = system.clean()[:8]
    by_hand = integrate(lotka_volterra.truth, start, system.length, system.step)
    assert torch.equal(model(start).detach(), by_hand[1:])


def test_a_window_program_knows_the_time() -> None:
    text = rk4_window_program({"u": "(* 2 t)"}, 3, 0.5, time=True)
    found = compiled(text, {}, "native", ["u", "t"], torch.float64)(
        torch.tensor(1.0, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64)
    )
    assert found.tolist() == [3.25, 6.0, 9.25]  # 1 + ((2 + h)^2 - 4): Runge-Kutta is exact for polynomials.


def test_windows_are_pieces_of_the_observations() -> None:
    observed = torch.arange(60.0).reshape(30, 2)
    times, start, target = Windows(observed, 0.1, 5, 7, seed=1).draw()
    assert target.shape == (8, 5, 2)
    assert torch.equal(target[0], start)
    assert torch.equal(target[1:] - target[:-1], torch.full((7, 5, 2), 2.0))
    assert torch.allclose(times, start[:, 0] / 2 * 0.1)


@pytest.mark.parametrize(
    ("sizes", "numbers"),
    [
        ((1, 64, 64, 64, 64, 1), 12_673),
        ((4, 64, 64, 64, 64, 1), 12_865),
        ((2, 64, 64, 64, 2), 8_642),
        ((3, 64, 64, 64, 2), 8_706),
        ((10, 64, 64, 64, 10), 9_674),
        ((5, 64, 64, 64, 3), 8_899),
        ((1, 32, 32, 1), 1_153),
    ],
)
def test_networks_have_the_sizes_the_paper_prints(sizes: tuple[int, ...], numbers: int) -> None:
    assert count(mlp(sizes, "tanh")) == numbers


def test_a_digest_tells_one_bit() -> None:
    def run(start: float) -> str:
        model = HandCoded(lambda k, x: k * x, {"k": start})
        x = torch.linspace(0, 1, 10)
        return train(model, lambda: (model(x=x) - 2 * x).square().mean(), Settings(5, 1e-2)).digest

    assert run(1.0) == run(1.0)
    assert run(1.0) != run(float(np.nextafter(np.float32(1), np.float32(2))))


@pytest.mark.parametrize("equation", [*EQUATIONS, *PRINTED], ids=lambda e: f"{e.name} {'-'.join(e.true)}")
def test_programs_and_hand_written_equations_agree(equation) -> None:  # type: ignore[no-untyped-def]
    inputs, values = Sampler(equation, 1000, 0.0, 3, torch.float64).clean()
    module = compiled(equation.source, equation.true, "native", list(equation.ranges), torch.float64)
    assert torch.allclose(module(**inputs), values, rtol=1e-14, atol=0)
    assert all(low <= x.min() and x.max() <= high for x, (low, high) in zip(inputs.values(), equation.ranges.values()))


def test_five_times_as_wide() -> None:
    assert widened(EQUATIONS[0], 5)["f"] == pytest.approx((5.05 - 5 * 4.95, 5.05 + 5 * 4.95))


def test_second_order_fit_against_linear_regression() -> None:
    draw = torch.Generator().manual_seed(2)
    x = torch.rand(500, generator=draw, dtype=torch.float64)
    y = 3 * x - 1 + 0.1 * torch.randn(500, generator=draw, dtype=torch.float64)
    problem = LeastSquares(compiled("(+ (* a x) b)", {"a": 1.0, "b": 1.0}, "native", ["x"], torch.float64))
    theta = global_fit(problem, ({"x": x[:100]}, y[:100]), 5.0, 10, 2, seed=0)
    theta = refine(problem, theta, lambda: [({"x": x[:300]}, y[:300]), ({"x": x[300:]}, y[300:])])
    assert np.allclose(theta.numpy(), np.polyfit(x.numpy(), y.numpy(), 1), rtol=1e-10)


def test_heat_fades_at_the_rate_of_its_mode() -> None:
    """A mode is an eigenvector of the stepper; the true solution fades a little faster than ten points can tell."""
    modes = Modes(1, 0)
    modes.amplitudes = torch.tensor([[1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    states = modes.trajectories(20)[:, 0].double()
    rate = 1 + DT * ALPHA * (2 * math.cos(math.pi / 9) - 2) * 81
    assert torch.allclose(states[20], states[0] * rate**20, atol=1e-6)
    true = modes.at(grid(torch.float64), torch.tensor([20 * DT]))[0, 0]
    assert 0 < (states[20] - true)[4] < 0.01
    assert torch.equal(laplacian()[0], torch.zeros(10))


def test_cells() -> None:
    assert cell([3e-8, 1e-8, 2e-8], sci, "2.3e-8") == "2.0e-8 [1.0e-8 … 3.0e-8] / 2.3e-8"
    assert cell([0.0067], percent) == "0.67 %"
    assert cell([0.0]) == "0"
    assert cell([None, 1.0]) == "1.0e0, 1 not finite"
    assert cell([]) == "–"
    with pytest.raises(ValueError, match="2 columns"):
        Table("t", ("a", "b")).add("x")


@pytest.mark.parametrize(
    ("rule", "value", "kept"),
    [
        ({"equals": True}, True, True),
        ({"equals": 0}, 1e-300, False),
        ({"at_most": 1}, 2, False),
        ({"at_most": 1}, float("nan"), False),
        ({"at_least": 1}, 1, True),
        ({"near": 10, "relative": 0.1}, 11.5, False),
        ({"near": 10, "relative": 0.1}, 9.5, True),
    ],
)
def test_rules(rule, value, kept) -> None:  # type: ignore[no-untyped-def]
    assert (expected.broken({"number": "n", **rule}, {"n": value}) is None) is kept
    assert expected.broken({"number": "n", **rule}, {}) == "n is missing"


def test_every_experiment_is_held_to_something() -> None:
    known = json.loads(expected.PLACE.read_text())
    assert set(known) == set(NAMES)
    assert all(known[name][mode] for name in NAMES for mode in ("quick", "full"))
    assert [experiment(name).name for name in NAMES] == list(NAMES)


def test_runs_are_kept_and_taken_up_again(tmp_path: Path) -> None:
    calls = []

    def work(seed: int, size: int) -> jobs.Record:
        calls.append(size)
        return {"value": size}

    first, changed = (jobs.Job("t", "row", work, {"size": size}) for size in (1, 2))
    for job in (first, first, changed):
        jobs.run([job], 1, tmp_path, True, "test")
    assert calls == [1, 2]
    assert [r["value"] for r in jobs.known([changed], tmp_path)] == [2]


def test_an_experiment_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--quick", "--jobs", "1", "--rows", "native;torch", "--out", str(tmp_path), "--seed", "0"]
    assert main(experiment("gradient_scaling"), words) == 0
    written = json.loads((tmp_path / "gradient_scaling" / "results.json").read_text())
    assert written["numbers"]["relative"] < 1e-12
    assert {p.name for p in (tmp_path / "gradient_scaling").glob("gradient_scaling.*")} == {"gradient_scaling.png", "gradient_scaling.svg"}
    assert "| depth |" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(experiment("gradient_scaling"), ["--jobs", "0"])


def test_a_single_seed_has_every_table_and_figure(tmp_path: Path) -> None:
    """What does not depend on the seed runs with any: an experiment of seed 3 alone is whole."""
    assert main(experiment("composition"), ["--quick", "--jobs", "1", "--silent", "--out", str(tmp_path), "--seed", "3"]) == 0
    written = json.loads((tmp_path / "composition" / "results.json").read_text())
    assert written["seeds"] == [3] and not written["not_run"]
    assert written["numbers"]["worst_exact_mse"] == 0
    assert {p.suffix for p in (tmp_path / "composition").glob("composition.*")} == {".png", ".svg"}


def test_dots_show_the_spread_and_write_out_what_has_no_place() -> None:
    _, axes = figures.panels(1, 1, "a figure")
    axis = axes[0, 0]
    figures.dots(axis, "errors", ["exact", "far", "seen"], [("", [[0.0, 0.0], [1e30], [1e-3, None, 1e-1, 1e-2]])], ends=(0, 1e20))
    assert [t.get_text() for t in axis.texts] == ["0", "1e+30 →"]
    spread, middle = axis.lines
    assert (list(spread.get_xdata()), list(middle.get_xdata())) == ([1e-3, 1e-1], [1e-2])
    assert spread.get_ydata()[0] == middle.get_ydata()[0] == 2


def test_panels_share_one_legend(tmp_path: Path) -> None:
    figure, axes = figures.panels(1, 2, "a figure")
    for axis in axes[0]:
        figures.curves(axis, "loss", [("compiled", [(0, 1.0), (1, None)]), ("MLP", [(0, 2.0), (1, 1.0)])])
    figures.save(figure, tmp_path, "shared")
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["compiled", "MLP"]
    assert {p.suffix for p in tmp_path.iterdir()} == {".png", ".svg"}
