"""How likely each setting is the best of its group, though its area was measured once or a few times.

An area is a draw: run again, the same setting has another one. Here the logarithm of a setting's area is a smooth
function of its parameters, a Gaussian process with a Matérn kernel (Rasmussen and Williams 2006, chapters 2 and 5),
plus what is the setting's own, and each trial adds noise to it. The size of the noise follows from how far seeds of one
setting lie apart and how rough areas are beside those of their neighbours, both in one likelihood. It may grow with the
area (after Kersting et al. 2007, Most likely heteroscedastic Gaussian process regression). The minimum loss is modelled
in the same way, and so is the chance that a run comes to the threshold.

A group is modelled by itself. Trials of the same global batch, rate and seed with other worker counts say nothing of
the noise, since they see the same images from the same weights: on one recorded sweep their areas over images lie 0.1 %
apart, those of two seeds 1.6 %. Where a group has several worker counts, they are taken for independent all the same,
and its chances are too high. A trial that is derived from another of its group is left out.

A setting that comes to the threshold in a share q of its runs is tried 1/q times on average until it does. So what
is compared is the expected area divided by q. Draws from the posterior then tell how often a setting has the smallest
such area, and how much larger its area is than the smallest.

scikit-learn and SciPy are imported only when it is asked for.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from sweeper.ranking import Candidate, Group
from sweeper.ranking.next_seeds import Prospect
from sweeper.ranking.noise import USUAL_NOISE
from sweeper.ranking.settings import setting_key, without_seed
from sweeper.spec.repeats import LEVEL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

T = TypeVar("T")

SMALL_REGRET = 0.005  # further seeds are worth while until the expected regret is below, unless said otherwise
MOST_SEEDS = 10  # that are thought of for that
_FEWEST = 6  # trials, from which the model is told
_MOST = 300  # trials: the time grows with the third power
_LEARNT = 120  # trials that hyperparameters are learnt from, evenly among the others: this takes most of the time
_FARTHEST = 3.0  # times the smallest area of a group: trials beyond say little about the best
_NEAREST, _SIZE = 12, 100.0  # trials of a group that are looked at all the same, up to so many times as far
_DRAWS = 4000
_FAR = 1.0  # of the logarithm of a cost above the smallest one's, from where on a setting is none of the best
_NEVER = 1e-3  # the least share of runs that come to the threshold, by which an area is divided
# What is known of noise before any trial: 3 % of an area, give or take a factor of 3 (a standard deviation of its
# logarithm); of the length over which areas change: 1.5 standard deviations of a parameter, a factor of 2.7.
# Of what is a setting's own, which only repeats can tell from noise: 1 %.
USUAL_OWN, _SPREAD = 0.01, 1.1
USUAL_LENGTH, _LENGTH_SPREAD = 1.5, 1.0
_KINDS = 12  # values other than numbers; texts that differ from setting to setting, as names do, tell nothing
_JITTER = 1e-10
_SAME = 1e-4  # a length within which only a setting itself lies
_SEVERAL = 16
_LEAST_NOISE = 1e-6  # a variance in units of the standardised values: rows that are all alike have none
_STEP = 0.05  # of a hyperparameter's logarithm, between two slopes
_LEAST_CURVATURE = 0.25  # a standard deviation of two
_ALONE = Lock()


@dataclass(frozen=True)
class Noise:
    """How much areas like the recommended one vary by chance, as a share (one standard deviation).

    `trials` counts those that tell it, `repeats` those among them that repeat a setting with another seed.
    """

    share: float
    trials: int
    repeats: int


@dataclass(frozen=True)
class Belief:
    """What is believed of one setting.

    `area` is what its area is expected to be, and `interval` holds it with a chance of 95 %. `qualifies` is the share
    of its runs that come to the threshold. `probability` is the chance that it is the best of its group, and `regret`
    how much larger than the best one's its area is expected to be, as a share; both after areas are divided by
    `qualifies`.
    """

    setting: Candidate
    area: float
    interval: tuple[float, float]
    qualifies: float
    probability: float
    regret: float


@dataclass(frozen=True)
class Beliefs:
    """Those of a group's qualified settings that may be the best, with the smallest expected regret first.

    `more_seeds` is how many more of each of `not_ruled_out` would bring the expected regret to a small one: 0 where it
    is there already, None where `MOST_SEEDS` do not suffice.
    """

    settings: tuple[Belief, ...]
    noise: Noise
    more_seeds: int | None

    @property
    def recommended(self) -> Belief:
        """The one with the smallest expected regret."""
        return self.settings[0]

    @cached_property
    def not_ruled_out(self) -> tuple[Belief, ...]:
        """The fewest settings that hold the best with a chance of 95 %, likeliest first; the recommended is one."""
        found, chance = [], 0.0
        for one in sorted(self.settings, key=lambda one: -one.probability):
            if chance >= LEVEL:
                break
            found.append(one)
            chance += one.probability
        return tuple(found if self.recommended in found else [*found, self.recommended])


def beliefs(group: Group, threshold: float | None, small_regret: float = SMALL_REGRET) -> Beliefs | None:
    """What is believed of the qualified settings of a group; `more_seeds` would bring the regret to a small one.

    None where no trial qualifies, and where the trials do not allow a model: fewer than six, or areas or minimum losses
    that are not above zero. The same trials give the same answer: draws have a fixed seed.
    """
    return _modelled(group, threshold, lambda draws, settings, noise: draws.beliefs(settings, noise, small_regret))


def outlook(group: Group, threshold: float | None) -> tuple[Beliefs, Prospect] | None:
    """The same, and what further seeds would tell; `more_seeds` are not looked for.

    The prospect is of the first of the settings, in their order: of all that may be the best.
    """
    return _modelled(group, threshold, lambda draws, settings, noise: draws.outlook(settings, noise))


def _modelled(group: Group, threshold: float | None, asked: Callable[[_Draws, list[Candidate], Noise], T]) -> T | None:
    if group.winner is None:
        return None
    rows = _rows(group, group.winner)
    if _unfit(rows):
        return None
    with one_thread():
        found = _told(group, group.winner, rows, threshold)
        return None if found is None else asked(*found)


@contextmanager
def one_thread() -> Iterator[None]:
    """Matrices are small here, and trials may be running on the other cores."""
    import sklearn.gaussian_process
    import sklearn.linear_model  # noqa: F401 - limits hold for libraries that are there already
    from threadpoolctl import threadpool_limits

    # Limits are the process's, and two who set them restore each other's.
    with _ALONE, threadpool_limits(1):
        yield


def unfit(group: Group) -> str:
    """Why `beliefs` says nothing of a group with a winner, in words."""
    assert group.winner is not None
    return _unfit(_rows(group, group.winner)) or "the winner's curve is derived from another trial of its group"


def _unfit(rows: Sequence[Candidate]) -> str:
    """Why these trials allow no model; empty where they do."""
    if len(rows) < _FEWEST:
        return f"fewer than {_FEWEST} complete trials of a group are too few to tell chance from merit"
    if any(not _can_be_modelled(one) for one in rows):
        return "an area or a loss is not above zero, and cannot be modelled by its logarithm"
    return ""


def _told(
    group: Group, winner: Candidate, rows: Sequence[Candidate], threshold: float | None
) -> tuple[_Draws, list[Candidate], Noise] | None:
    """Draws of the settings that may win, these themselves, and how many trials told it."""
    import numpy as np

    keys = [setting_key(one.parameters) for one in rows]
    settings = {key: without_seed(one.parameters) for key, one in zip(keys, rows, strict=True)}
    place = {key: number for number, key in enumerate(settings)}
    if setting_key(winner.parameters) not in place:  # it is derived from another, or one of very many
        return None
    of_row = np.array([place[key] for key in keys])
    inputs = inputs_of(list(settings.values()))
    areas = _Surface(inputs, of_row, np.log([_number(one.area) for one in rows]))
    losses = None
    if threshold is not None:
        losses = _Surface(inputs, of_row, np.log([_number(one.minimum_loss) for one in rows]))
    ranked = {setting_key(one.parameters): one for one in reversed(group.ranking)}
    competing = [key for key in settings if key in ranked]
    places = np.array([place[key] for key in competing])
    limit = math.log(threshold) if threshold is not None else math.inf
    told = Noise(0.0, len(rows), len(rows) - len(settings))
    return _Draws(areas, losses, places, limit), [ranked[key] for key in competing], told


def _rows(group: Group, winner: Candidate) -> list[Candidate]:
    """The trials that the model sees, in the order of their areas: those near the winner's, up to a number."""
    trials = [trial for member in group.members for trial in member.trials if trial.complete and trial.finite]
    ids = {trial.trial for trial in trials}
    drawn_anew = [trial for trial in trials if trial.derived_from not in ids]
    known = [trial for trial in drawn_anew if trial.area is not None and trial.minimum_loss is not None]
    limit = _FARTHEST * max(abs(_number(trial.area)) for trial in winner.trials)
    found = sorted((one for one in known if _number(one.area) <= _SIZE * limit), key=lambda one: _number(one.area))
    near = sum(_number(trial.area) <= limit for trial in found)
    found = found[: max(near, _NEAREST)]
    if len(found) > _MOST:
        middle = _number(winner.area)
        found = sorted(found, key=lambda one: abs(_number(one.area) - middle))[:_MOST]
        found.sort(key=lambda one: _number(one.area))
    return found


def _can_be_modelled(trial: Candidate) -> bool:
    return _number(trial.area) > 0 and _number(trial.minimum_loss) > 0


def _number(value: float | None) -> float:
    assert value is not None
    return value


def inputs_of(settings: Sequence[Mapping[str, Any]]) -> Array:
    """A row for each setting: its parameters as numbers, each column with a standard deviation of one.

    Positive numbers that span a factor of three or more count by their logarithms. Where only some settings have a
    number, the others get the mean, and a column says which. What is no number has a column for each of its values,
    or none where these are many. Parameters that are the same everywhere have none.
    """
    import numpy as np

    names = dict.fromkeys(name for one in settings for name in one)
    columns = [column for name in names for column in _columns([one.get(name) for one in settings])]
    varying = [one for one in columns if np.isfinite(one).all() and len(np.unique(one)) > 1 and one.std() > 0]
    standard = [(one - one.mean()) / one.std() for one in varying]
    return np.stack(standard, axis=1) if standard else np.zeros((len(settings), 1))


def _columns(values: Sequence[Any]) -> list[Array]:
    import numpy as np

    known = [value for value in values if value is not None]
    if known and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        numbers = np.array([math.nan if value is None else _as_float(value) for value in values])
        lacking = np.isnan(numbers)
        present = numbers[~lacking]
        if len(present) and present.min() > 0 and present.max() >= 3 * present.min():
            numbers = np.log(numbers)
        if len(present):
            numbers[lacking] = numbers[~lacking].mean()
        return [numbers, lacking.astype(float)]
    texts = [repr(value) for value in values]
    kinds = list(dict.fromkeys(texts))
    if len(kinds) > _KINDS:
        return []
    return [np.array([text == kind for text in texts], dtype=float) for kind in kinds[1:]]


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond what a float holds
        return math.inf


class _Surface:
    """A logarithm as a smooth function of the parameters with noise: its posterior at each setting.

    Rows are in the order of their areas. It is a mixture of one posterior for each of several hyperparameters, since a
    few dozen trials do not settle these.
    """

    def __init__(self, inputs: Array, of_row: Array, values: Array) -> None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor

        middle, scale = float(values.mean()), float(values.std()) or 1.0
        targets = (values - middle) / scale
        likely = _Hyperparameters(scale, several=len(values) <= _LEARNT)
        process = GaussianProcessRegressor(_kernel(inputs.shape[1]), alpha=_JITTER, optimizer=likely.found)
        every = math.ceil(len(values) / _LEARNT)  # rows are ordered by area
        with warnings.catch_warnings():
            # Of a hyperparameter at its bound, or a search that ends early: the prior says what is usual.
            warnings.simplefilter("ignore", ConvergenceWarning)
            process.fit(inputs[of_row[::every]], targets[::every])
            kernels = [process.kernel_.clone_with_theta(theta) for theta in likely.thetas]
            self._parts = [_Posterior(kernel, inputs, of_row, targets, middle, scale) for kernel in kernels]
        self._weights = likely.weights

    def draws(self, random: np.random.Generator, places: Array, number: int) -> tuple[Array, Array]:
        """Values at these places, and the noise's variance there, a row for each draw."""
        import numpy as np

        counts = random.multinomial(number, self._weights)
        drawn = [part.draws(random, places, count) for part, count in zip(self._parts, counts, strict=True) if count]
        order = random.permutation(number)
        values, noise = (np.concatenate(some)[order] for some in zip(*drawn, strict=True))
        return values, noise


class _Posterior:
    """That of one set of hyperparameters."""

    def __init__(self, kernel: Any, inputs: Array, of_row: Array, targets: Array, middle: float, scale: float) -> None:
        import numpy as np

        covariance = kernel.k1(inputs)
        among_rows, to_rows = covariance[np.ix_(of_row, of_row)], covariance[:, of_row]
        size = _noise_by_size(among_rows, targets, float(kernel.k2.noise_level))
        # Rasmussen and Williams, equations 2.23 and 2.24, at the settings.
        gain = np.linalg.solve(among_rows + np.diag(size), to_rows.T).T
        self._mean = gain @ targets * scale + middle
        self._covariance = (covariance - gain @ to_rows.T) * scale**2
        self._noise = np.zeros(len(inputs))
        self._noise[of_row] = size * scale**2  # the rows of a setting have the same

    def draws(self, random: np.random.Generator, places: Array, number: int) -> tuple[Array, Array]:
        """See `_Surface.draws`."""
        import numpy as np

        values = drawn(random, self._mean[places], self._covariance[np.ix_(places, places)], number)
        return values, np.tile(self._noise[places], (number, 1))


def drawn(random: np.random.Generator, means: Array, covariance: Array, number: int) -> Array:
    """So many draws from a normal distribution, a row each."""
    import numpy as np

    covariance = covariance + _JITTER * np.eye(len(means))
    return random.multivariate_normal(means, covariance, number, check_valid="ignore", method="eigh")


def _kernel(columns: int) -> Any:
    """Hyperparameters: the smooth part's variance and lengths, the variance of settings' own parts, and the noise's."""
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

    smooth = ConstantKernel(1.0, (1e-2, 1e3)) * Matern([USUAL_LENGTH] * columns, [(0.2, 30.0)] * columns, nu=2.5)
    own = ConstantKernel(1e-3, (1e-8, 1.0)) * RBF(_SAME, "fixed")
    return smooth + own + WhiteKernel(1e-2, (1e-8, 1.0))


class _Hyperparameters:
    """The likely ones of a process, in the units of standardised values: `thetas` with their `weights`.

    The prior says what is usual. With `several` they are draws around the most likely ones, by the curvature of the
    density there (Laplace's approximation), each weighted by its density over that of the draw.
    """

    def __init__(self, scale: float, *, several: bool) -> None:
        self._usual = 2 * math.log(USUAL_OWN / scale), 2 * math.log(USUAL_NOISE / scale)
        self._several = several
        self.thetas: list[Array] = []
        self.weights: Sequence[float] = ()

    def found(self, objective: Any, start: Array, bounds: Array) -> tuple[Array, float]:
        """Find them; what scikit-learn takes as an optimizer, which gets the most likely ones."""
        import numpy as np
        from scipy.optimize import minimize

        def penalised(theta: Array) -> tuple[float, Array]:
            value, gradient = objective(theta)
            penalty, slope = self._penalty(theta)
            return value + penalty, gradient + slope

        begin = start.copy()
        begin[-2:] = np.clip(self._usual, bounds[-2:, 0], bounds[-2:, 1])
        best = minimize(penalised, begin, jac=True, bounds=bounds, method="L-BFGS-B")
        self.thetas, self.weights = [best.x], [1.0]
        if self._several:
            self._spread(penalised, best.x, bounds)
        return best.x, best.fun

    def _penalty(self, theta: Array) -> tuple[float, Array]:
        """The negative logarithm of the prior's density, and its gradient."""
        import numpy as np

        off = (theta[1:-2] - math.log(USUAL_LENGTH)) / _LENGTH_SPREAD
        far = (theta[-2:] - self._usual) / (2 * _SPREAD)
        return 0.5 * float(off @ off + far @ far), np.concatenate([[0.0], off / _LENGTH_SPREAD, far / (2 * _SPREAD)])

    def _spread(self, penalised: Any, best: Array, bounds: Array) -> None:
        import numpy as np
        from scipy.stats import qmc

        steps = _STEP * np.eye(len(best))
        slopes = [penalised(best + step)[1] - penalised(best - step)[1] for step in steps]
        curvature = np.array(slopes) / (2 * _STEP)
        values, axes = np.linalg.eigh((curvature + curvature.T) / 2)
        root = axes / np.sqrt(np.maximum(values, _LEAST_CURVATURE))
        normal = qmc.MultivariateNormalQMC(np.zeros(len(best)), rng=0).random(_SEVERAL)
        tried = [(best + root @ one, one) for one in normal]
        inside = [(theta, one) for theta, one in tried if ((theta >= bounds[:, 0]) & (theta <= bounds[:, 1])).all()]
        lost = np.array([penalised(theta)[0] - 0.5 * float(one @ one) for theta, one in inside])
        if not np.isfinite(lost).any():  # the most likely ones stay
            return
        self.thetas = [theta for theta, _ in inside]
        weights = np.exp(lost[np.isfinite(lost)].min() - lost)
        self.weights = list(weights / weights.sum())


def _noise_by_size(covariance: Array, targets: Array, noise: float) -> Array:
    """The noise's variance at each row: how it depends on the values is told by the residuals of leaving each row out.

    These are of Rasmussen and Williams, equations 5.10 to 5.12.
    """
    import numpy as np
    from sklearn.linear_model import GammaRegressor

    identity = np.eye(len(targets))
    fitted = covariance @ np.linalg.solve(covariance + noise * identity, targets)
    above = (fitted - fitted.min())[:, None]
    squares = np.maximum(_left_out(covariance + noise * identity, targets), 1e-3)
    factors = GammaRegressor(alpha=0.1).fit(above, squares).predict(above)
    size = noise * np.clip(factors / np.exp(np.log(factors).mean()), 0.1, 30.0)
    size *= _left_out(covariance + np.diag(size), targets).mean()
    return np.asarray(np.maximum(size, _LEAST_NOISE))


def _left_out(covariance: Array, targets: Array) -> Array:
    """Squares of the residuals of leaving each row out, as multiples of their variances."""
    import numpy as np

    inverse = np.linalg.inv(covariance)
    return np.asarray((inverse @ targets) ** 2 / np.diag(inverse))


@dataclass(frozen=True)
class _Drawn:
    """Draws of the logarithms of settings, and the variance of the noise of each: [draws, settings] and as many."""

    values: Array
    noise: Array

    @cached_property
    def mean(self) -> Array:
        """Of each setting's draws."""
        import numpy as np

        return np.asarray(self.values.mean(axis=0))

    @cached_property
    def mean_noise(self) -> Array:
        """Of each setting's variances."""
        import numpy as np

        return np.asarray(self.noise.mean(axis=0))

    @cached_property
    def covariance(self) -> Array:
        """Of the settings over the draws."""
        import numpy as np

        return np.atleast_2d(np.cov(self.values, rowvar=False))

    def after(self, seeds: int, rivals: Array, errors: Array) -> tuple[Array, Array]:
        """What would be believed, in each draw, once the rivals have so many more seeds: means and variances.

        `errors` are standard normal draws of the seeds' noise: [draws, rivals].
        """
        import numpy as np

        covariance = self.covariance
        size = self.mean_noise[rivals] / seeds
        among_rivals = covariance[np.ix_(rivals, rivals)] + np.diag(size)
        gain = np.linalg.solve(among_rivals, covariance[rivals]).T
        seen = self.values[:, rivals] + errors * np.sqrt(size) - self.mean[rivals]
        left = np.maximum(np.diag(covariance) - (gain * covariance[:, rivals]).sum(axis=1), 0.0)
        return self.mean + seen @ gain.T, left


class _Draws:
    """Draws from the posterior for the settings at these places; `limit` is the threshold's logarithm."""

    def __init__(self, areas: _Surface, losses: _Surface | None, places: Array, limit: float) -> None:
        import numpy as np

        self._random, self._limit = np.random.default_rng(0), limit
        self._logarithms = _Drawn(*areas.draws(self._random, places, _DRAWS))
        self._minima = _Drawn(*losses.draws(self._random, places, _DRAWS)) if losses else None
        # Of a logarithm with noise: the mean, not the median.
        self._areas = np.exp(self._logarithms.values + self._logarithms.noise / 2)
        self._qualify = np.ones_like(self._areas)
        if self._minima:
            self._qualify = self._share(self._minima.values, self._minima.noise)
        self._costs = self._areas / np.maximum(self._qualify, _NEVER)
        self._least = self._costs.min(axis=1)

    def _share(self, minima: Array, variance: Array) -> Array:
        """Of runs that come to the threshold."""
        import numpy as np
        from scipy.special import ndtr

        return np.asarray(ndtr((self._limit - minima) / np.sqrt(variance)))

    def beliefs(self, settings: Sequence[Candidate], noise: Noise, small_regret: float) -> Beliefs:
        """Of all settings, in the order of the places."""
        import numpy as np

        order, first = self._first(settings, noise)
        if first.recommended.regret <= small_regret:
            return first
        numbers = {id(one): at for at, one in zip(order, first.settings, strict=True)}
        rivals = np.array([numbers[id(one)] for one in first.not_ruled_out])
        return replace(first, more_seeds=self._more_seeds(rivals, small_regret))

    def outlook(self, settings: Sequence[Candidate], noise: Noise) -> tuple[Beliefs, Prospect]:
        """The same, and the prospect of those settings that may be the best."""
        import numpy as np

        order, found = self._first(settings, noise)
        last = max(at for at, one in enumerate(found.settings) if one.probability)
        chosen = order[: last + 1]
        # What is far from the best may be anywhere: how far does not matter, and no normal distribution has such tails.
        costs = np.log(self._costs[:, chosen] / self._least.mean()).clip(max=_FAR)
        shown = [self._logarithms, *([self._minima] if self._minima else [])]
        values = np.concatenate([costs, *(one.values[:, chosen] for one in shown)], axis=1)
        seeds_noise = np.stack([one.mean_noise[chosen] for one in shown])
        return found, Prospect(values.mean(axis=0), np.cov(values, rowvar=False), seeds_noise)

    def _first(self, settings: Sequence[Candidate], noise: Noise) -> tuple[list[int], Beliefs]:
        """What is believed, the smallest expected regret first, and the places in that order; without `more_seeds`."""
        import numpy as np

        chances = np.bincount(self._costs.argmin(axis=1), minlength=len(settings)) / _DRAWS
        regrets = (self._costs / self._least[:, None]).mean(axis=0) - 1
        low, high = np.quantile(self._areas, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0)
        found = [
            Belief(
                setting=one,
                area=float(self._areas[:, at].mean()),
                interval=(float(low[at]), float(high[at])),
                qualifies=float(self._qualify[:, at].mean()),
                probability=float(chances[at]),
                regret=float(regrets[at]),
            )
            for at, one in enumerate(settings)
        ]
        order = sorted(range(len(found)), key=lambda at: found[at].regret)
        told = replace(noise, share=float(np.sqrt(self._logarithms.mean_noise[order[0]])))
        return order, Beliefs(tuple(found[at] for at in order), told, 0)

    def _more_seeds(self, rivals: Array, small_regret: float) -> int | None:
        """How many more seeds of each rival would bring the expected regret to a small one."""
        import numpy as np

        errors = self._random.standard_normal((2, _DRAWS, len(rivals)))
        for seeds in range(1, MOST_SEEDS + 1):
            believed, _ = self._logarithms.after(seeds, rivals, errors[0])
            believed = believed + self._logarithms.mean_noise / 2
            if self._minima:
                minima, left = self._minima.after(seeds, rivals, errors[1])
                shares = self._share(minima, left + self._minima.mean_noise)
                believed = believed - np.log(np.maximum(shares, _NEVER))
            costs = self._costs[np.arange(_DRAWS), believed.argmin(axis=1)]
            if (costs / self._least).mean() - 1 <= small_regret:
                return seeds
        return None
