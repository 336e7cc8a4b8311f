"""Every example in a docstring of the domain runs, and shows what it says."""

import doctest
import importlib
import pkgutil

import pytest

import capacity
from capacity.registry import FUNCTIONS, Function

MODULES = ["capacity", *(m.name for m in pkgutil.walk_packages(capacity.__path__, "capacity."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in FUNCTIONS.items()])
def test_each_function_has_an_example(spec: Function) -> None:
    """The example stands in the docstring that users see, runs there, and calls the function itself."""
    examples = doctest.DocTestParser().get_examples(spec.public.__doc__ or "")
    assert any(spec.python_name in example.source for example in examples)
    tests = doctest.DocTestFinder(recurse=False).find(spec.public, spec.python_name, globs=vars(capacity).copy())
    results = [doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test) for test in tests]
    assert sum(r.attempted for r in results) > 0
    assert all(r.failed == 0 for r in results)
