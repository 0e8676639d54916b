"""The papers' tables as data, and what runs them."""

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.carry_out import carry_out
from truelabel.experiments.catalogue import PAPERS, find_tables
from truelabel.experiments.material import MATERIALS, Material, load_material
from truelabel.experiments.plan import Shard, narrowed
from truelabel.experiments.pool import Here, Processes, Ray
from truelabel.experiments.reached import Reached
from truelabel.experiments.records import Records
from truelabel.experiments.runner import Progress, Report, UnderWay, reproduce, site_for
from truelabel.experiments.scale import SCALES, Variation, varied_table
from truelabel.experiments.setting import Setting
from truelabel.experiments.summary import Entry, summarise
from truelabel.experiments.table import Cell, Metric, Paper, Published, Table, printed
from truelabel.experiments.work import Site

__all__ = [
    "MATERIALS",
    "PAPERS",
    "SCALES",
    "Calculation",
    "Cell",
    "Entry",
    "Here",
    "Material",
    "Metric",
    "Paper",
    "Processes",
    "Progress",
    "Published",
    "Ray",
    "Reached",
    "Records",
    "Report",
    "Setting",
    "Shard",
    "Site",
    "Table",
    "UnderWay",
    "Variation",
    "carry_out",
    "find_tables",
    "load_material",
    "narrowed",
    "printed",
    "reproduce",
    "site_for",
    "summarise",
    "varied_table",
]
