"""Names that other packages may import of Reap: `from reap.api import ReapError, catalog`.

Each name is that of a class, a function, a value or a module, which documents itself and is typed. Nothing is
imported before it is asked for, so that a command's `--help` answers at once. All else in `reap` may change
in any version. What is here changes with the minor version alone, and the changelog says so.
"""

from typing import TYPE_CHECKING, Any

from reap.base import extensions

if TYPE_CHECKING:
    from reap import __version__ as __version__
    from reap.allocators import apt as apt
    from reap.allocators import catalog as catalog
    from reap.allocators import knobs as knobs
    from reap.allocators import packages as packages
    from reap.allocators.records import DEFAULT as _DEFAULT_ALLOCATOR
    from reap.allocators.records import OWN as _OWN_ALLOCATORS
    from reap.allocators.records import Allocator as Allocator
    from reap.base import installation as installation
    from reap.base import units as units
    from reap.base.errors import ExitCode as ExitCode
    from reap.base.errors import ReapError as ReapError
    from reap.base.files import digest_of as digest_of
    from reap.base.files import unused as unused
    from reap.base.files import write_safely as write_safely
    from reap.base.records import Estimate as Estimate
    from reap.base.records import Record as Record
    from reap.base.records import decode as decode
    from reap.base.records import exactly as exactly
    from reap.base.text import did_you_mean as did_you_mean
    from reap.base.text import printable as printable
    from reap.base.text import shortened as shortened
    from reap.commandline import groups as _option_groups
    from reap.commandline import reporting as reporting
    from reap.commandline.experiments import Terminal as _TerminalListener
    from reap.commandline.groups import Group as Group
    from reap.commandline.progress import Bar as _ProgressBar
    from reap.commandline.tables import Sheet as Sheet
    from reap.commandline.tables import write_page as write_page
    from reap.compare import run as _comparison
    from reap.compare.levels import run as _levels_run
    from reap.compare.levels import words as _levels_words
    from reap.compare.levels.records import Arm as Arm
    from reap.compare.levels.records import Fragmented as Fragmented
    from reap.compare.phrases import interval as _interval_in_words
    from reap.drag.exact import launch as _drag_launch
    from reap.drag.exact import valgrind as valgrind
    from reap.drag.exact.analyse import profile as _drag_profile
    from reap.drag.exact.read import read_all as _read_drag
    from reap.drag.exact.records import DragLevel as DragLevel
    from reap.drag.exact.records import DragProcess as DragProcess
    from reap.drag.exact.reserve import without_reserve as without_reserve
    from reap.draw import html as html
    from reap.experiment import statistics as statistics
    from reap.experiment.budget import MOST_ROUNDS as MOST_ROUNDS
    from reap.experiment.budget import SIMULATED as SIMULATED
    from reap.experiment.budget import Cost as Cost
    from reap.experiment.folder import Folder as Folder
    from reap.experiment.folder import append_line as append_line
    from reap.experiment.folder import read_lines as read_lines
    from reap.experiment.folder import read_runs as read_runs
    from reap.experiment.records import Asked as _AskedExperiment
    from reap.experiment.records import Comparison as Comparison
    from reap.experiment.records import Run as Run
    from reap.experiment.runner import InterruptedRunError as InterruptedRunError
    from reap.experiment.runner import Listener as Listener
    from reap.experiment.runner import Runner as Runner
    from reap.experiment.sequential import WORTH as WORTH
    from reap.experiment.spec import SEED as SEED
    from reap.experiment.spec import Spec as Spec
    from reap.experiment.specify import AskedFragment as AskedFragment
    from reap.experiment.specify import Conditions as Conditions
    from reap.experiment.specify import Workload as Workload
    from reap.experiment.specify import specify as specify
    from reap.launch import program as program
    from reap.launch import spawn as spawn
    from reap.launch.host import machine as machine
    from reap.launch.host import memory as _host_memory
    from reap.launch.host.rows import machine_rows as machine_rows
    from reap.launch.litter import level as level
    from reap.launch.litter.level import LEVELS as LEVELS
    from reap.launch.records import Launch as Launch
    from reap.launch.records import Machine as Machine
    from reap.launch.records import Outcome as Outcome
    from reap.launch.tools import syscalls as syscalls
    from reap.recording import read as _recording_read
    from reap.recording import record as _recording_record
    from reap.recording.analyse import sizes as _recording_sizes
    from reap.recording.analyse.profile import profile as _recording_profile
    from reap.recording.analyse.size_profile import SizeProfile as SizeProfile
    from reap.recording.records import Share as _AllocatorShare
    from reap.recording.records import Totals as Totals
    from reap.rss import watch as _residence_watch
    from reap.rss.page import render as _residence_page
    from reap.rss.records import NAMES as _RESIDENCE_NAMES
    from reap.rss.records import Parts as _ResidenceParts
    from reap.rss.records import Residence as Residence
    from reap.rss.run import Log as _ResidenceLog
    from reap.rss.terminal import remedy_words as remedy_words
    from reap.run import several as several
    from reap.show import words as _recording_words
    from reap.sweep import places as _sweep_places
    from reap.sweep import worker as _sweep_worker
    from reap.sweep.folder import ended_rounds as ended_rounds
    from reap.sweep.records import Program as _SweepProgram
    from reap.sweep.records import SweepCell as SweepCell
    from reap.sweep.run import run_rounds as run_rounds

    # Under another name than its own, a name is given to others by an assignment.
    AllocatorShare = _AllocatorShare
    AskedExperiment = _AskedExperiment
    DEFAULT_ALLOCATOR = _DEFAULT_ALLOCATOR
    OWN_ALLOCATORS = _OWN_ALLOCATORS
    ProgressBar = _ProgressBar
    RESIDENCE_NAMES = _RESIDENCE_NAMES
    ResidenceLog = _ResidenceLog
    ResidenceParts = _ResidenceParts
    SweepProgram = _SweepProgram
    TerminalListener = _TerminalListener
    comparison = _comparison
    drag_launch = _drag_launch
    drag_profile = _drag_profile
    host_memory = _host_memory
    interval_in_words = _interval_in_words
    levels_run = _levels_run
    levels_words = _levels_words
    option_groups = _option_groups
    read_drag = _read_drag
    recording_profile = _recording_profile
    recording_read = _recording_read
    recording_record = _recording_record
    recording_sizes = _recording_sizes
    recording_words = _recording_words
    residence_page = _residence_page
    residence_watch = _residence_watch
    sweep_places = _sweep_places
    sweep_worker = _sweep_worker

PLACES = {
    # Files, errors, words.
    "ExitCode": "reap.base.errors:ExitCode",
    "ReapError": "reap.base.errors:ReapError",
    "digest_of": "reap.base.files:digest_of",
    "unused": "reap.base.files:unused",
    "write_safely": "reap.base.files:write_safely",
    "installation": "reap.base.installation",
    "Estimate": "reap.base.records:Estimate",
    "Record": "reap.base.records:Record",
    "decode": "reap.base.records:decode",
    "exactly": "reap.base.records:exactly",
    "did_you_mean": "reap.base.text:did_you_mean",
    "printable": "reap.base.text:printable",
    "shortened": "reap.base.text:shortened",
    "units": "reap.base.units",
    "__version__": "reap:__version__",
    # Allocators.
    "apt": "reap.allocators.apt",
    "catalog": "reap.allocators.catalog",
    "knobs": "reap.allocators.knobs",
    "packages": "reap.allocators.packages",
    "Allocator": "reap.allocators.records:Allocator",
    "DEFAULT_ALLOCATOR": "reap.allocators.records:DEFAULT",
    "OWN_ALLOCATORS": "reap.allocators.records:OWN",
    # Programs: how they are started, on which machine.
    "machine": "reap.launch.host.machine",
    "host_memory": "reap.launch.host.memory",
    "machine_rows": "reap.launch.host.rows:machine_rows",
    "level": "reap.launch.litter.level",
    "LEVELS": "reap.launch.litter.level:LEVELS",
    "program": "reap.launch.program",
    "Launch": "reap.launch.records:Launch",
    "Machine": "reap.launch.records:Machine",
    "Outcome": "reap.launch.records:Outcome",
    "spawn": "reap.launch.spawn",
    "syscalls": "reap.launch.tools.syscalls",
    # Recordings.
    "recording_profile": "reap.recording.analyse.profile:profile",
    "SizeProfile": "reap.recording.analyse.size_profile:SizeProfile",
    "recording_sizes": "reap.recording.analyse.sizes",
    "recording_read": "reap.recording.read",
    "recording_record": "reap.recording.record",
    "AllocatorShare": "reap.recording.records:Share",
    "Totals": "reap.recording.records:Totals",
    "recording_words": "reap.show.words",
    # Experiments.
    "Cost": "reap.experiment.budget:Cost",
    "MOST_ROUNDS": "reap.experiment.budget:MOST_ROUNDS",
    "SIMULATED": "reap.experiment.budget:SIMULATED",
    "Folder": "reap.experiment.folder:Folder",
    "append_line": "reap.experiment.folder:append_line",
    "read_lines": "reap.experiment.folder:read_lines",
    "read_runs": "reap.experiment.folder:read_runs",
    "AskedExperiment": "reap.experiment.records:Asked",
    "Comparison": "reap.experiment.records:Comparison",
    "Run": "reap.experiment.records:Run",
    "InterruptedRunError": "reap.experiment.runner:InterruptedRunError",
    "Listener": "reap.experiment.runner:Listener",
    "Runner": "reap.experiment.runner:Runner",
    "WORTH": "reap.experiment.sequential:WORTH",
    "SEED": "reap.experiment.spec:SEED",
    "Spec": "reap.experiment.spec:Spec",
    "AskedFragment": "reap.experiment.specify:AskedFragment",
    "Conditions": "reap.experiment.specify:Conditions",
    "Workload": "reap.experiment.specify:Workload",
    "specify": "reap.experiment.specify:specify",
    "statistics": "reap.experiment.statistics",
    # Comparisons, heaps as they are and fragmented.
    "Arm": "reap.compare.levels.records:Arm",
    "Fragmented": "reap.compare.levels.records:Fragmented",
    "levels_run": "reap.compare.levels.run",
    "levels_words": "reap.compare.levels.words",
    "interval_in_words": "reap.compare.phrases:interval",
    "comparison": "reap.compare.run",
    # Resident memory.
    "residence_page": "reap.rss.page:render",
    "RESIDENCE_NAMES": "reap.rss.records:NAMES",
    "ResidenceParts": "reap.rss.records:Parts",
    "Residence": "reap.rss.records:Residence",
    "ResidenceLog": "reap.rss.run:Log",
    "remedy_words": "reap.rss.terminal:remedy_words",
    "residence_watch": "reap.rss.watch",
    # Drag.
    "drag_profile": "reap.drag.exact.analyse:profile",
    "drag_launch": "reap.drag.exact.launch",
    "read_drag": "reap.drag.exact.read:read_all",
    "DragLevel": "reap.drag.exact.records:DragLevel",
    "DragProcess": "reap.drag.exact.records:DragProcess",
    "without_reserve": "reap.drag.exact.reserve:without_reserve",
    "valgrind": "reap.drag.exact.valgrind",
    # Rounds on other machines.
    "ended_rounds": "reap.sweep.folder:ended_rounds",
    "sweep_places": "reap.sweep.places",
    "SweepProgram": "reap.sweep.records:Program",
    "SweepCell": "reap.sweep.records:SweepCell",
    "run_rounds": "reap.sweep.run:run_rounds",
    "sweep_worker": "reap.sweep.worker",
    # Whole answers.
    "several": "reap.run.several",
    # Pages.
    "html": "reap.draw.html",
    # Commands.
    "TerminalListener": "reap.commandline.experiments:Terminal",
    "option_groups": "reap.commandline.groups",
    "Group": "reap.commandline.groups:Group",
    "ProgressBar": "reap.commandline.progress:Bar",
    "reporting": "reap.commandline.reporting",
    "Sheet": "reap.commandline.tables:Sheet",
    "write_page": "reap.commandline.tables:write_page",
}
"""Place of each name, by its name here: a module, or `module:name`."""

if not TYPE_CHECKING:  # or no name that is missing would be an error

    def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever it names
        """Import what the name stands for."""
        if name not in PLACES:
            raise AttributeError(f"reap.api has no {name}; docs/extending.md says what it has")
        return extensions.load(PLACES[name])
