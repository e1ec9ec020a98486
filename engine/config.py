"""What can be trained: the settings of one training run, validated without torch.

This module is shared with `sweeper`, which checks a spec against it long before a rank starts.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from engine.budget import Budget

# Models by name: True where they are made for pictures, False for the single neuron's numbers.
MODELS: dict[str, bool] = {
    "alexnet-cifar": True,
    "alexnet": True,
    "resnet-20": True,
    "resnet-32": True,
    "resnet-44": True,
    "resnet-56": True,
    "resnet-50": True,
    "vgg11": True,
    "vgg13": True,
    "vgg16": True,
    "vgg19": True,
    "vgg11-plain": True,
    "vgg13-plain": True,
    "vgg16-plain": True,
    "vgg19-plain": True,
    "googlenet": True,
    "mlp": True,
    "neuron": False,
}
# The same for data sets.
DATA: dict[str, bool] = {
    "fashion-mnist": True,
    "cifar10": True,
    "digits": True,
    "synthetic": True,
    "synthetic-224": True,
    "step-function": False,
}
# The number of classes of those that have some; their loss is the cross-entropy.
CLASSES: dict[str, int] = {
    "fashion-mnist": 10,
    "cifar10": 10,
    "digits": 10,
    "synthetic": 10,
    "synthetic-224": 10,
}
# Models with batch normalisation: its statistics are those of a worker's share of a batch.
BATCH_NORMALISED = tuple(
    name for name in MODELS if name.startswith(("resnet", "googlenet")) or re.fullmatch(r"vgg\d+", name)
)
# Models that draw at random in training, which parts of their layers to leave out.
_DROPPING_OUT = ("alexnet", "googlenet", *(name for name in MODELS if name.startswith("vgg")))
# Samples that built-in data sets have for training.
SAMPLES: dict[str, int] = {
    "fashion-mnist": 60_000,
    "cifar10": 50_000,
    "digits": 1_497,
    "synthetic": 10_240,
    "synthetic-224": 1_024,
    "step-function": 10_240,
}
_FACTORY = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
DEFAULT_BATCH_SIZE = 128
# Models whose layers can be split among workers.
SPLITTABLE = tuple(name for name in MODELS if name == "alexnet" or name.startswith(("resnet", "vgg")))
DEFAULT_IMAGES = 61_440
# Fields of which a run has one: how long it trains, how many images a step has.
BUDGETS = ("images", "epochs", "steps")
BATCH_SIZES = ("batch_size", "global_batch_size")
# Fields whose value neither decides whether others are right, nor what a run needs or how long it trains.
INDEPENDENT = ("learning_rate", "momentum", "weight_decay", "points", "evaluate_every", "checkpoint_every", "seed")
# Fields in which trials may differ and still learn by one network and one recorded step, one after another.
OF_A_RUN = (*INDEPENDENT, *BUDGETS, "schedule")


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("expected a number, not true or false")
    return value


Number = BeforeValidator(_no_boolean)
PositiveInt = Annotated[int, Number, Field(gt=0, lt=2**63)]  # what a database's integer holds
PositiveFloat = Annotated[float, Number, Field(gt=0, allow_inf_nan=False)]


Overlap = Literal["auto", "on", "off"]
Algorithm = Literal["auto", "ring", "tree"]
OVERLAPPING = ("auto", "all-reduce", "nccl")  # methods of exchange that can send gradients while others are computed
BY_NCCL = ("auto", "nccl")  # methods of exchange that are NCCL's, or can be
SEVERAL_WORKERS = "workers above 1"  # what an exchange needs to have an effect


class ExchangeConfig(BaseModel):
    """How ranks combine what they learned: by which method, and every how many steps.

    `every` above 1 is for averaging weights: between two averages each rank goes on from its own. `start` says which
    weights ranks begin with: "shared" are rank 0's, "own" are drawn by each rank from the seed and its number, also for
    averaging weights only. `overlap` sends gradients in buckets while those of earlier layers are computed: "auto" does
    where they are more than one bucket. `algorithm` is what NCCL sums by, which picks one for each message size where
    it is "auto".
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: Literal["auto", "parameter-server", "all-reduce", "ring", "hierarchical", "reduce-broadcast", "nccl"] = (
        "auto"
    )
    average: Literal["gradients", "weights"] = "gradients"
    every: PositiveInt = 1
    start: Literal["shared", "own"] = "shared"
    overlap: Overlap = "auto"
    algorithm: Algorithm = "auto"

    @property
    def weights_differ(self) -> bool:
        """Whether ranks ever compute losses with different weights."""
        return self.every > 1 or self.start == "own"

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if self.every > 1 and self.average == "gradients":
            raise ValueError(f"every is {self.every}, and gradients are averaged at each step: use average: weights")
        if self.start == "own" and self.average == "gradients":
            raise ValueError("start is own, and averaged gradients fit one set of weights only: use average: weights")
        if self.overlap == "on" and self.average == "weights":
            raise ValueError("overlap is on, and weights change when all gradients are there: use average: gradients")
        if self.overlap == "on" and self.method not in OVERLAPPING:
            able = " or ".join(OVERLAPPING)
            raise ValueError(f"overlap is on, and {self.method} sends gradients when all are there: use method {able}")
        if self.algorithm != "auto" and self.method not in BY_NCCL:
            raise ValueError(
                f"algorithm is {self.algorithm}, which is NCCL's, and method {self.method}: use method nccl"
            )
        return self


class ParallelConfig(BaseModel):
    """How ranks divide a step beside sharing its images out: `channels` ranks share images, and each layer.

    Each of them computes some channels and filters of every layer, by `algorithm` (`engine.channel_parallel`): "auto"
    picks one for each layer. With one channel, ranks share images out only, and all have the whole network.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    channels: PositiveInt = 1
    algorithm: Literal["auto", "stationary-x", "stationary-y", "stationary-w"] = "auto"


Part = Annotated[float, Number, Field(ge=0, lt=1)]


class ScheduleConfig(BaseModel):
    """How the learning rate changes over a run; `engine.schedule` has the formulas."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["constant", "step", "cosine"] = "constant"
    warm_up: Part = 0.0
    milestones: tuple[Part, ...] = (0.5, 0.75)
    factor: Annotated[float, Number, Field(gt=0, le=1)] = 0.1
    linear_scaling: bool = False

    @field_validator("milestones")
    @classmethod
    def _rising(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if list(value) != sorted(set(value)):
            raise ValueError("milestones must rise")
        return value


class AugmentationConfig(BaseModel):
    """What is done to pictures before a step, anew each time they are seen; `engine.augmentation` does it.

    `flip` mirrors left and right at random. `shift` moves by up to so many pixels in each direction. `cutout` blanks a
    square of so many pixels' side. With `instances` above 1 each sample is computed so many times in a step, each time
    augmented differently (Hoffer et al., Augment your batch, 2020). `batch` says what then counts as an image, in batch
    sizes, budgets and curves: "samples", or every one of the "instances", as earlier versions had it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    flip: bool = False
    shift: Annotated[int, Number, Field(ge=0, le=1024)] = 0
    cutout: Annotated[int, Number, Field(ge=0, le=1024)] = 0
    instances: PositiveInt = 1
    batch: Literal["samples", "instances"] = "samples"

    @property
    def copies(self) -> int:
        """How often that which counts as an image is computed."""
        return self.instances if self.batch == "samples" else 1

    @property
    def changes_pictures(self) -> bool:
        """Whether anything is done to a picture itself."""
        return self.flip or self.shift > 0 or self.cutout > 0


def _kind_of_points(value: Any) -> str:
    return "kind[word]" if value == "all" else "kind[number]"


def _number_of_points(value: Any) -> Any:
    if isinstance(value, str) and not value.strip().isdecimal():
        raise ValueError("is not a number of points; give a whole number, or all")
    return value


Points = Annotated[
    Annotated[PositiveInt, BeforeValidator(_number_of_points), Tag("kind[number]")]
    | Annotated[Literal["all"], Tag("kind[word]")],
    Discriminator(_kind_of_points),
]


def _method_alone(value: Any) -> Any:
    return {"method": value} if isinstance(value, str) else value


def _kind_alone(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


class TrainingConfig(BaseModel):
    """Settings of one training run; together with a worker count and a machine they determine its curve.

    `model` and `data` are names, or `package.module:factory` for the user's own (`engine.factories` says how they are
    called). `batch_size` counts images per worker and step, `global_batch_size` images of all workers together; a run
    has one of the two (128 per worker where neither is given). `fc` says by which operators the fully connected layers
    compute: the project's own or torch's. A run has one of `images`, seen in all, `epochs`, passes over the data set
    (also parts of one), and `steps`, done by each worker; 61,440 images where none is given. The last step is smaller
    where the images do not divide.
    `precision` is how products are computed, weights being float32: "tf32" is float32 where the device has no tf32,
    "bf16" casts by autocast, "auto" is bf16 where the processor multiplies in it. `exchange` may be its method alone,
    `schedule` its kind. `points` is the number of loss points aimed at; a point covers at least one step, and exactly
    one where "all" are asked for.
    `parallel` splits layers among workers, of whom `parallel.channels` then have one batch of `batch_size` together.
    `evaluate_every` and `checkpoint_every` are images between two evaluations on the test set, and between two
    checkpoints; neither is done without. `compile` has torch.compile make the network's kernels. `phases` says how
    finely the time of training is told apart: "detailed" has ranks wait for the slowest before they exchange, and cuts
    a captured step into its parts. Both cost a little time.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = "alexnet-cifar"
    data: str = "fashion-mnist"
    images: PositiveInt | None = None
    epochs: Annotated[float, Number, Field(gt=0, lt=1e9)] | None = None
    steps: PositiveInt | None = None
    batch_size: PositiveInt | None = None
    global_batch_size: PositiveInt | None = None
    learning_rate: PositiveFloat = 0.1
    momentum: Annotated[float, Number, Field(ge=0, lt=1)] = 0.0
    weight_decay: Annotated[float, Number, Field(ge=0, allow_inf_nan=False)] = 0.0
    augmentation: AugmentationConfig = AugmentationConfig()
    schedule: Annotated[ScheduleConfig, BeforeValidator(_kind_alone)] = ScheduleConfig()
    initial_weights: Literal["torch", "uniform"] = "torch"
    fc: Literal["fused", "torch"] = "fused"
    exchange: Annotated[ExchangeConfig, BeforeValidator(_method_alone)] = ExchangeConfig()
    parallel: ParallelConfig = ParallelConfig()
    points: Points = 300
    evaluate_every: PositiveInt | None = None
    checkpoint_every: PositiveInt | None = None
    seed: Annotated[int, Number, Field(ge=0, lt=2**63)] = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["auto", "float32", "tf32", "bf16"] = "tf32"
    compile: bool = False
    phases: Literal["coarse", "detailed"] = "coarse"

    @property
    def splits(self) -> tuple[str, ...]:
        """What it reads of its data set."""
        return ("train", "test") if self.evaluate_every else ("train",)

    @field_validator("model")
    @classmethod
    def _known_model(cls, value: str) -> str:
        return _one_of(value, MODELS)

    @field_validator("data")
    @classmethod
    def _known_data(cls, value: str) -> str:
        return _one_of(value, DATA)

    @model_validator(mode="after")
    def _one_budget(self) -> Self:
        given = [name for name in BUDGETS if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} exclude each other: keep one of them")
        if not given:
            # A default, which is not among the fields that are set: another budget may take its place.
            object.__setattr__(self, "images", DEFAULT_IMAGES)
        return self

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if self.batch_size is not None and self.global_batch_size is not None:
            raise ValueError("batch_size and global_batch_size exclude each other: keep one of them")
        takes = MODELS.get(self.model)  # None for the user's own, of which nothing is known here
        if takes is not None and DATA.get(self.data, takes) != takes:
            fitting = ", ".join(name for name, pictures in DATA.items() if pictures == takes)
            raise ValueError(f"model {self.model} cannot learn data {self.data}: use one of {fitting}")
        if self.augmentation.changes_pictures and not DATA.get(self.data, True):
            raise ValueError(f"augmentation is of pictures, and data {self.data} has none: remove it")
        return self

    @model_validator(mode="after")
    def _layers_can_be_split(self) -> Self:
        if self.parallel.channels == 1:
            return self
        problem = ""
        if self.model in MODELS and self.model not in SPLITTABLE:
            problem = f"model {self.model} cannot be split: use one of {', '.join(SPLITTABLE)}"
        elif self.exchange.average == "weights":
            problem = "exchange.average is weights, of which each worker has others: use gradients"
        elif self.precision == "bf16":
            problem = "precision is bf16, and split layers compute in float32: use float32, tf32 or auto"
        elif self.compile:
            problem = "compile is true, and split layers cannot be compiled: use compile: false"
        if problem:
            raise ValueError(f"parallel.channels is {self.parallel.channels}, and {problem}")
        return self

    def sample_groups(self, workers: int) -> int:
        """Into how many groups `workers` are divided, of which each has a batch of its own.

        Raises:
            ValueError: `parallel.channels` does not divide them.
        """
        channels = self.parallel.channels
        if workers % channels:
            raise ValueError(
                f"workers: {workers} is not a multiple of parallel.channels, {channels}: use multiples of "
                f"{channels}, or list the pairs of both below space.points"
            )
        return workers // channels

    def idle(self, workers: int, *, on_gpus: bool) -> dict[str, str]:
        """Fields, by dotted path, whose values change nothing in a run of so many workers, and what would let them."""
        found: dict[str, str] = {} if on_gpus else {"device": "resources.gpus_per_worker above 0"}
        if self.schedule.kind != "step":
            found |= dict.fromkeys(("schedule.milestones", "schedule.factor"), "schedule.kind: step")
        elif not self.schedule.milestones:
            found["schedule.factor"] = "schedule.milestones"
        if self.augmentation.instances == 1:
            found["augmentation.batch"] = "augmentation.instances above 1"
        if not self._instances_differ:
            found["augmentation.instances"] = "augmentation.flip, shift or cutout"
        if self.exchange.average == "weights" or self.exchange.method not in OVERLAPPING:
            found["exchange.overlap"] = f"averaged gradients and exchange.method {' or '.join(OVERLAPPING)}"
        if self.exchange.method not in BY_NCCL:
            found["exchange.algorithm"] = "exchange.method nccl"
        elif not on_gpus:
            found["exchange.algorithm"] = "resources.gpus_per_worker above 0"
        if workers == self.parallel.channels:
            needs = SEVERAL_WORKERS if workers == 1 else "more workers than parallel.channels"
            found["schedule.linear_scaling"] = needs
        if workers == 1:
            alone = (f"exchange.{name}" for name in ExchangeConfig.model_fields)
            found |= dict.fromkeys(alone, SEVERAL_WORKERS)
        if self.parallel.channels == 1:
            found["parallel.algorithm"] = "parallel.channels above 1"
        else:  # each layer sums up its own gradients, and is torch's
            ways = ("fc", "exchange.method", "exchange.overlap", "exchange.algorithm")
            found |= dict.fromkeys(ways, "parallel.channels 1")
        if not MODELS.get(self.model, False):
            found["fc"] = "a model with fully connected layers of the engine's own"
        return found

    @property
    def _instances_differ(self) -> bool:
        """Whether it matters how many instances of a sample are computed; of the user's own models nobody knows."""
        draws = self.model not in MODELS or self.model in _DROPPING_OUT
        return self.augmentation.changes_pictures or draws or self.augmentation.batch == "instances"

    @property
    def own_batch(self) -> int:
        """Images of a worker in a step, or of workers that share images, where `global_batch_size` is not given."""
        return self.batch_size or DEFAULT_BATCH_SIZE

    def global_batch(self, workers: int) -> int:
        """Images of one full step of `workers` workers; raises as `sample_groups` does."""
        if self.global_batch_size is not None:
            return self.global_batch_size
        return self.sample_groups(workers) * self.own_batch

    def budget(self, workers: int, samples: int) -> Budget:
        """How long a run of `workers` workers trains on a data set of so many `samples`.

        The images of `epochs` are rounded, to one at least.
        """
        batch = self.global_batch(workers)
        if self.steps is not None:
            images = self.steps * batch
        elif self.epochs is not None:
            images = max(1, round(self.epochs * self.images_per_epoch(samples)))
        else:
            images = self.images or DEFAULT_IMAGES
        return Budget(images, batch, self.points)

    def images_per_epoch(self, samples: int) -> int:
        """Images of a pass over a data set of so many `samples`; where instances count, it has all of them."""
        return samples * (self.augmentation.instances // self.augmentation.copies)

    def known_budget(self, workers: int) -> Budget | None:
        """The same before the data set is loaded; None for epochs of the user's own data, whose size is not known."""
        samples = SAMPLES.get(self.data)
        return None if samples is None and self.epochs is not None else self.budget(workers, samples or 0)


def _one_of(value: str, known: dict[str, bool]) -> str:
    if value not in known and not is_factory(value):
        raise ValueError(f"unknown name; known are {', '.join(known)}, or package.module:factory of your own")
    return value


def is_factory(name: str) -> bool:
    """Whether a model's or data set's name is a `package.module:factory` of the user's own."""
    return _FACTORY.fullmatch(name) is not None
