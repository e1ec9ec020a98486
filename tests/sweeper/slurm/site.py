"""A SLURM of our own: munged, slurmctld and two nodes on this machine, in a folder and on ports of their own."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.processes import eventually

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "salloc", "srun", "squeue", "scancel", "scontrol", "sinfo")
PACKAGES = "slurmctld slurmd slurm-client munge"
NODES = ("n1", "n2")
PARTITION = "main"
CORES = 2  # of each node
GPUS = ("/dev/null", "/dev/zero")  # of each node: SLURM takes any device for one
_SYSTEM = "/usr/sbin:/sbin"  # where the daemons are, which the paths of users often leave out
_CONFIGURATION = """
ClusterName=sweeper-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/spool-%n
SlurmdLogFile={folder}/%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
GresTypes=gpu
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1
ReturnToService=2
MpiDefault=none
KillWait=20
NodeName={nodes} NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports[1]},{ports[2]}] CPUs={cores} Gres=gpu:{gpus} \
    State=UNKNOWN
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=0
PartitionName=patient Nodes=ALL MaxTime=60 State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=60
PartitionName=urgent Nodes=ALL MaxTime=60 State=UP PriorityTier=10 PreemptMode=OFF
"""


def what_is_missing() -> str:
    """Why no SLURM can be started here; empty if one can."""
    path = f"{os.environ.get('PATH', '')}:{_SYSTEM}"
    if missing := [program for program in PROGRAMS if shutil.which(program, path=path) is None]:
        return f"{', '.join(missing)} not found: apt-get install {PACKAGES}"
    return "" if os.geteuid() == 0 else "a SLURM of several nodes on one machine needs root"


class SlurmSite:
    """A running SLURM; `environment` leads its commands to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PATH": f"{os.environ.get('PATH', '')}:{_SYSTEM}",
            "SLURM_CONF": str(folder / "slurm.conf"),
        }

    def call(self, *command: str, folder: Path | None = None, extra: Mapping[str, str] | None = None) -> str:
        """What a command of SLURM's answers; raises CalledProcessError where it fails."""
        environment = {**self.environment, **(extra or {})}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise AssertionError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def idle(self) -> bool:
        """Whether all nodes are up and do nothing."""
        done = subprocess.run(
            ["sinfo", "-h", "-N", "-p", PARTITION, "-o", "%T"], env=self.environment, capture_output=True, text=True
        )
        return done.stdout.split() == ["idle"] * len(NODES)

    def state(self, job: str) -> str:
        """A job's state in SLURM's words, for example RUNNING."""
        return self.field(job, "JobState")

    def field(self, job: str, name: str) -> str:
        """A field of a job, as scontrol calls it."""
        fields = self.call("scontrol", "show", "job", job, "--oneliner").split()
        return next(field.removeprefix(f"{name}=") for field in fields if field.startswith(f"{name}="))

    @contextmanager
    def allocation(self, nodes: int = 1, cpus: int = CORES, gpus: int = 0) -> Iterator[dict[str, str]]:
        """An allocation with so much on each node; the variables that processes in it have."""
        asked = [f"--nodes={nodes}", "--ntasks-per-node=1", f"--cpus-per-task={cpus}", f"--gpus-per-node={gpus}"]
        said = self.call("salloc", "--no-shell", "--quiet", *asked, "--job-name=held", "--time=30")
        job = self.call("squeue", "-h", "-n", "held", "-t", "RUNNING", "-o", "%i").split()[-1]
        assert not said, said
        try:
            yield {**{name: self.environment[name] for name in ("PATH", "SLURM_CONF")}, "SLURM_JOB_ID": job}
        finally:
            self.call("scancel", job)

    def clear(self) -> None:
        """End all jobs, and wait for the nodes to be free."""
        self.call("scancel", "--user=root")
        assert eventually(self.idle, 90)


@contextmanager
def running_slurm() -> Iterator[SlurmSite]:
    """A SLURM for as long as the block lasts; nothing of it is left."""
    # Others must be able to reach munged's socket, whose path must be short.
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sweeper-slurm-")))
        site = SlurmSite(folder)
        _write_configuration(folder)
        stack.enter_context(_daemon(site, "munged", *_munge_options(folder)))
        assert eventually((folder / "munge.socket").exists)
        stack.enter_context(_daemon(site, "slurmctld", "-D"))
        for node in NODES:
            stack.enter_context(_daemon(site, "slurmd", "-D", "-N", node, name=node))
        assert eventually(site.idle, 60), _logs(folder)
        yield site
        site.clear()


def _write_configuration(folder: Path) -> None:
    folder.chmod(0o755)
    (folder / "state").mkdir()
    (folder / "munge.key").write_bytes(secrets.token_bytes(128))
    (folder / "munge.key").chmod(0o400)
    host = socket.gethostname().partition(".")[0]
    written = _CONFIGURATION.format(
        host=host, folder=folder, ports=_free_ports(3), nodes=",".join(NODES), cores=CORES, gpus=len(GPUS)
    )
    (folder / "slurm.conf").write_text(written)
    (folder / "gres.conf").write_text("".join(f"NodeName={','.join(NODES)} Name=gpu File={gpu}\n" for gpu in GPUS))
    (folder / "cgroup.conf").write_text("CgroupMountpoint=/sys/fs/cgroup\n")


def _munge_options(folder: Path) -> list[str]:
    files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    return ["--foreground", "--force", *(f"--{option}={folder}/munge.{ending}" for option, ending in files.items())]


@contextmanager
def _daemon(site: SlurmSite, *command: str, name: str = "") -> Iterator[None]:
    with (site.folder / f"{name or command[0]}.out").open("w") as out:
        process = subprocess.Popen(command, env=site.environment, stdout=out, stderr=out, start_new_session=True)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return sorted(each.getsockname()[1] for each in sockets)


def _logs(folder: Path) -> str:
    files = [*folder.glob("*.log"), *folder.glob("*.out")]
    return "\n".join(file.read_text(errors="replace")[-2000:] for file in files)
