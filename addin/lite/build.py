"""Puts the script into a workbook as xlwings Lite keeps it there: as a property of its web extension.

The format is not documented; it was read from files that xlwings Lite had saved. So main.py is also written beside
the workbook, for pasting into the add-in's editor. openpyxl drops these parts: this is the very last step.
"""

import io
import json
import uuid
import zipfile
from pathlib import Path
from typing import Final

from lxml import etree
from lxml.builder import ElementMaker

from capacity.registry import FUNCTIONS
from capacity.spelling import stored_name
from capacity.writing import write_all

from .script import main_py

# xlwings Lite in Microsoft's store, and the versions of it and of Pyodide that wrote the files seen
_STORE_ID: Final = "WA200008175"
_ADDIN_VERSION: Final = "1.0.0.103"
_PYODIDE_VERSION: Final = "314.0.7"
_REQUIREMENTS: Final = "xlwings\n"

_OFFICE: Final = "http://schemas.microsoft.com/office"
_WE: Final = f"{_OFFICE}/webextensions/webextension/2010/11"
_PANES: Final = f"{_OFFICE}/webextensions/taskpanes/2010/11"
_RELATION: Final = f"{_OFFICE}/2011/relationships"
_DRAWING: Final = "http://schemas.openxmlformats.org/drawingml/2006/main"
_R: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_CONTENT: Final = "application/vnd.ms-office"
_CUSTOM_FUNCTIONS: Final = "{D87F86FE-615C-45B5-9D79-34F1136793EB}"  # extension: has custom functions
_FUNCTION_NAMES: Final = "{7C84B067-C214-45C3-A712-C9D94CD141B2}"  # extension: their stored names
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the same sources give the same bytes


def build(path: str | Path, workbook_path: str | Path, models: str | Path | None = None) -> tuple[Path, Path]:
    """Write the workbook with the script inside, and main.py beside it; returns both paths.

    Arguments:
        path: the .xlsx file to write; it may be workbook_path itself
        workbook_path: the finished workbook, with formulas spelled for "lite"
        models: a team's own file, so that MODEL and PLAN know its models
    """
    path = Path(path)
    script = main_py(Path(models).read_text("utf-8-sig") if models else "")
    with zipfile.ZipFile(workbook_path) as zipped:
        parts = {name: zipped.read(name) for name in zipped.namelist()}
    parts |= _extension(script)
    parts["[Content_Types].xml"] = _with_types(parts["[Content_Types].xml"])
    parts["_rels/.rels"] = _with_relation(
        parts["_rels/.rels"], f"{_RELATION}/webextensiontaskpanes", "xl/webextensions/taskpanes.xml"
    )
    packed, beside = io.BytesIO(), path.with_name("main.py")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in parts.items():
            zipped.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    write_all({path: packed.getvalue(), beside: script.encode()})
    return path, beside


def _extension(script: str) -> dict[str, bytes]:
    """The parts of the package that hold the script and open the add-in's pane."""
    no_relations = f'<Relationships xmlns="{_PACKAGE}/relationships"/>'.encode()
    return {
        "xl/webextensions/webextension1.xml": _xml(_webextension(script)),
        "xl/webextensions/taskpanes.xml": _xml(_panes()),
        "xl/webextensions/_rels/taskpanes.xml.rels": _with_relation(
            no_relations, f"{_RELATION}/webextension", "webextension1.xml"
        ),
    }


def _webextension(script: str) -> etree._Element:
    we = ElementMaker(namespace=_WE, nsmap={"we": _WE, "r": _R})
    a = ElementMaker(namespace=_DRAWING, nsmap={"a": _DRAWING})
    properties = {
        "main.py": script,
        "requirements.txt": _REQUIREMENTS,
        "pyodideVersion": _PYODIDE_VERSION,
        "addinVersion": _ADDIN_VERSION,
    }
    reference = {"version": "1.0.0.0", "storeType": "OMEX"}
    names = [we.customFunctionIds(stored_name(name, "lite")) for name in FUNCTIONS]
    return we.webextension(
        we.reference(id=_STORE_ID.lower(), store="en-US", **reference),
        we.alternateReferences(we.reference(id=_STORE_ID, store=_STORE_ID, **reference)),
        we.properties(*(we.property(name=name, value=json.dumps(value)) for name, value in properties.items())),
        we.bindings(),
        we.snapshot(),
        we.extLst(
            a.ext(we.containsCustomFunctions(), uri=_CUSTOM_FUNCTIONS),
            a.ext(we.customFunctionIdList(*names), uri=_FUNCTION_NAMES),
        ),
        id=f"{{{str(uuid.uuid5(uuid.NAMESPACE_OID, script)).upper()}}}",
    )


def _panes() -> etree._Element:
    pane = ElementMaker(namespace=_PANES, nsmap={"wetp": _PANES, "r": _R})
    reference = pane.webextensionref({f"{{{_R}}}id": "rId1"})
    return pane.taskpanes(pane.taskpane(reference, dockstate="right", visibility="1", width="438", row="3"))


def _with_types(content_types: bytes) -> bytes:
    tree = etree.fromstring(content_types)
    for part, kind in (("taskpanes", "webextensiontaskpanes"), ("webextension1", "webextension")):
        etree.SubElement(
            tree,
            f"{{{_PACKAGE}/content-types}}Override",
            PartName=f"/xl/webextensions/{part}.xml",
            ContentType=f"{_CONTENT}.{kind}+xml",
        )
    return _xml(tree)


def _with_relation(relations: bytes, kind: str, target: str) -> bytes:
    """A part's relations with one more, under an id that is still free."""
    tree = etree.fromstring(relations)
    taken = {r.get("Id") for r in tree}
    free = next(f"rId{i}" for i in range(1, len(tree) + 2) if f"rId{i}" not in taken)
    etree.SubElement(tree, f"{{{_PACKAGE}/relationships}}Relationship", Id=free, Type=kind, Target=target)
    return _xml(tree)


def _xml(tree: etree._Element) -> bytes:
    return etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=True)
