"""Exact counts of a model's parameters and memory from its Hugging Face config.json, one family of models at a time.

    config.py       reads fields, with a sentence for whatever is wrong with one
    parts.py        what layers are made of; attention.py, recurrent.py, feedforward.py: one function for each part
    family.py       the families by model_type; dense.py, sparse.py, hybrid.py: one function for each family
    weights.py      bytes of weights by format, and as a config's own quantization stores them
    facts.py        everything summed up

Shapes and defaults are those of the modelling code that the checkpoints name; totals agree with the hub's counts.
"""

from . import dense, hybrid, sparse  # each enters its families
from .facts import ModelFacts, model_facts
from .family import FAMILIES

__all__ = ["FAMILIES", "ModelFacts", "dense", "hybrid", "model_facts", "sparse"]
