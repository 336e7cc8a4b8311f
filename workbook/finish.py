"""The last step of every build: put the calculated results into the file, so that every reader shows numbers.

openpyxl writes formulas without results; previews, Protected View, pandas and machines without the add-in would show
blanks. It also writes texts inline and the children of a font in another order than the schema has them, which Excel
rewrites on the first save. Saving the file with openpyxl again undoes all of this.
"""

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lxml import etree

from capacity.call import ExcelError
from capacity.spelling import host as host_named
from capacity.spelling import spell

from .package import MAIN, RELATIONS, Cell, Package, q, sheet_parts

_FONT_ORDER: Final = (
    *("b", "i", "strike", "condense", "extend", "outline", "shadow", "u", "vertAlign"),
    *("sz", "color", "name", "family", "charset", "scheme"),
)
_FORMULA, _VALUE, _INLINE = q("f"), q("v"), q("is")  # within a cell
# elements whose text is a formula: in cells, conditional formats, validations, defined names, columns of tables
_FORMULAS: Final = ("f", "formula", "formula1", "formula2", "definedName", "calculatedColumnFormula")
_WITH_FORMULAS: Final = ("xl/workbook.xml", "xl/worksheets/", "xl/tables/")
_CALC_ENGINE: Final = "191029"  # Excel's calculation engine since 2019: an older number makes it recalculate on opening


def finish(package: Package, values: Mapping[Cell, Any], alt_texts: Sequence[str] = (), host: str = "desktop") -> bytes:
    """The finished file: each formula cell's cached value filled in, formulas spelled as the host stores them.

    alt_texts are the charts' in order of sheets.
    """
    parts = dict(package.parts)
    texts: dict[str, int] = {}
    for sheet, part in sheet_parts(parts).items():
        tree = etree.fromstring(parts[part])
        for formula in tree.iter(_FORMULA):
            cell = formula.getparent()
            _fill(cell, formula.getnext(), values[sheet, cell.get("r")])
        for inline in list(tree.iter(_INLINE)):
            _share(inline, texts)
        parts[part] = _serialize(tree)
    _add_shared_strings(parts, texts)
    _describe_charts(parts, alt_texts)
    parts["docProps/core.xml"] = _modified_when_created(parts["docProps/core.xml"])
    parts["xl/styles.xml"] = _order_fonts(parts["xl/styles.xml"])
    parts["xl/workbook.xml"] = _trust_results(parts["xl/workbook.xml"])
    if host_named(host).prefix:
        _spell(parts, host)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in parts.items():
            zipped.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _fill(cell: Any, result: Any, value: Any) -> None:
    """Put a value into the element for a cell's result; None: it has none yet."""
    kind, text = _encode(value)
    if kind:
        cell.set("t", kind)
    else:
        cell.attrib.pop("t", None)
    if result is None:
        result = etree.SubElement(cell, _VALUE)
    result.text = text or None


def _encode(value: Any) -> tuple[str, str]:
    """Cell type and text of a result, as SpreadsheetML spells them."""
    if isinstance(value, bool):
        return "b", str(int(value))
    if isinstance(value, ExcelError):
        return "e", value.code
    if isinstance(value, str):
        return "str", value
    if isinstance(value, int | float):
        return "", str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
    raise TypeError(f"a formula gave {value!r}, which no cell can hold")


def _share(inline: Any, texts: dict[str, int]) -> None:
    """Move an inline text into the table of shared strings."""
    text = "".join(inline.itertext())
    inline.getparent().set("t", "s")
    inline.clear()
    inline.tag, inline.text = _VALUE, str(texts.setdefault(text, len(texts)))


def _add_shared_strings(parts: dict[str, bytes], texts: Mapping[str, int]) -> None:
    """Add the table of shared strings to the package: the part, its content type and its relation."""
    root = etree.Element(q("sst"), nsmap={None: MAIN}, uniqueCount=str(len(texts)))
    for text in texts:
        t = etree.SubElement(etree.SubElement(root, q("si")), q("t"))
        t.text = text
        if text != text.strip():
            t.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    parts["xl/sharedStrings.xml"] = _serialize(root)
    types = etree.fromstring(parts["[Content_Types].xml"])
    etree.SubElement(
        types,
        f"{{{types.nsmap[None]}}}Override",
        PartName="/xl/sharedStrings.xml",
        ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml",
    )
    parts["[Content_Types].xml"] = _serialize(types)
    relations = etree.fromstring(parts["xl/_rels/workbook.xml.rels"])
    etree.SubElement(
        relations,
        f"{{{relations.nsmap[None]}}}Relationship",
        Id="rIdSharedStrings",
        Type=f"{RELATIONS}/sharedStrings",
        Target="sharedStrings.xml",
    )
    parts["xl/_rels/workbook.xml.rels"] = _serialize(relations)


def _describe_charts(parts: dict[str, bytes], alt_texts: Sequence[str]) -> None:
    """Give each chart its alternative text; openpyxl has no way to set it."""
    remaining = list(alt_texts)
    for part in sorted(p for p in parts if p.startswith("xl/drawings/drawing")):
        tree = etree.fromstring(parts[part])
        for frame in tree.iter("{*}graphicFrame"):
            frame.find(".//{*}cNvPr").set("descr", remaining.pop(0))
        parts[part] = _serialize(tree)


def _modified_when_created(core_xml: bytes) -> bytes:
    """The build's date in place of openpyxl's clock, so that a build can be repeated to the byte."""
    tree = etree.fromstring(core_xml)
    tree.find("{*}modified").text = tree.find("{*}created").text
    return _serialize(tree)


def _order_fonts(styles_xml: bytes) -> bytes:
    """Children of every font in the order of the schema."""
    tree = etree.fromstring(styles_xml)
    for font in tree.iter(q("font")):
        font[:] = sorted(font, key=lambda child: _FONT_ORDER.index(etree.QName(child).localname))
    return _serialize(tree)


def _trust_results(workbook_xml: bytes) -> bytes:
    """The results are in the file: Excel need not calculate it on opening."""
    tree = etree.fromstring(workbook_xml)
    calc = tree.find(q("calcPr"))
    calc.attrib.clear()
    calc.set("calcId", _CALC_ENGINE)
    return _serialize(tree)


def _spell(parts: dict[str, bytes], host: str) -> None:
    """Every stored formula in the host's spelling; texts that show a formula stay as a user types it."""
    for part in [p for p in parts if p.startswith(_WITH_FORMULAS)]:
        if part.endswith(".xml"):
            tree = etree.fromstring(parts[part])
            for formula in tree.iter(*map(q, _FORMULAS)):
                formula.text = formula.text and spell(formula.text, host)
            parts[part] = _serialize(tree)


def _serialize(tree: Any) -> bytes:
    data: bytes = etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=True)
    return data
