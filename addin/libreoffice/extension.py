"""Writes the .oxt: the interface of all functions, their names and texts, the component, and the code it needs."""

import io
import zipfile
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final

from lxml import etree
from lxml.builder import ElementMaker

import capacity
from capacity.registry import FUNCTIONS, Function
from capacity.spelling import EXTENSION, LIBREOFFICE
from capacity.writing import write_all

from .. import bundle

INTERFACE: Final = "org.llmcapacity.Functions"
SERVICE: Final = "org.llmcapacity.AddIn"  # component.py implements both
EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the same sources give the same bytes

_MANIFEST: Final = "http://openoffice.org/2001/manifest"
_DESCRIPTION: Final = "http://openoffice.org/extensions/description/2006"
_DEPENDENCY: Final = "http://libreoffice.org/extensions/description/2011"
_REGISTRY: Final = "http://openoffice.org/2001/registry"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_LANG: Final = {"{http://www.w3.org/XML/1998/namespace}lang": "en-US"}


def build(path: str | Path) -> Path:
    """Write the LibreOffice extension; `unopkg add PATH` installs it."""
    return pack({**declarations(FUNCTIONS.values()), **_code()}, Path(path))


def pack(files: Mapping[str, bytes], path: Path) -> Path:
    """Write an extension of these files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as oxt:
        for name, content in sorted(files.items()):
            oxt.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
    write_all({path: packed.getvalue()})
    return path


def declarations(functions: Collection[Function]) -> dict[str, bytes]:
    """What tells LibreOffice of the extension and of its functions: all files but the code."""
    return {
        "META-INF/manifest.xml": _xml(_manifest()),
        "description.xml": _xml(_description()),
        "description.txt": _about().encode(),
        "LICENSE": _license(),
        "CalcAddIns.xcu": _xml(_names(functions)),
        "functions.idl": _interface(functions).encode(),
    }


def _code() -> dict[str, bytes]:
    component = Path(__file__).with_name("component.py").read_bytes()
    return {"component.py": component, **{f"pythonpath/{n}": code for n, code in bundle.files("capacity.call")}}


def _interface(functions: Iterable[Function]) -> str:
    """The functions in UNO's interface language; LibreOffice reads the text, so that no compiler is needed."""
    *modules, name = INTERFACE.split(".")
    head = "".join(f"module {m} {{ " for m in modules)
    methods = "".join(f"    {_declaration(f)};\n" for f in functions)
    return f"{head}interface {name} {{\n{methods}}};{' };' * len(modules)}\n"


def _declaration(function: Function) -> str:
    """What may be a text comes alone, what may be rows in rows, and numbers too.

    `any` is what may be left out, be a range or be an error.
    """
    args = [f"[in] any {_uno(name)}" for name in function.args]
    if function.vararg:
        args.append(f"[in] sequence<any> {_uno(function.vararg)}")
    # the blank between the brackets is needed: `>>` is a token of the language
    returns = "any" if function.comes_alone else "sequence< sequence<any> >"
    return f"{returns} {function.name}({', '.join(args)})"


def _uno(argument: str) -> str:
    """An argument's name in the interface language, which allows underscores in upper case only."""
    return argument.upper()


def _names(functions: Iterable[Function]) -> etree._Element:
    """CalcAddIns.xcu: what formulas and the function wizard call the functions and their arguments."""
    e = ElementMaker(nsmap={"oor": _REGISTRY})
    oor = f"{{{_REGISTRY}}}"

    def node(name: str, *children: Any) -> etree._Element:
        return e.node(*children, {f"{oor}name": name, f"{oor}op": "replace"})

    def text(name: str, value: str, attributes: dict[str, str] = _LANG) -> etree._Element:
        return e.prop(e.value(value, attributes), {f"{oor}name": name})

    def entry(f: Function) -> etree._Element:
        names = [*f.args, *([f.vararg] if f.vararg else [])]
        shown = [node(_uno(n), text("DisplayName", n), text("Description", f.help(n))) for n in names]
        return node(
            f.name,
            text("DisplayName", f.name),
            text("Description", f"{f.doc} [{f.unit}]"),
            text("Category", "Add-In", {}),
            text("CompatibilityName", f.name),
            e.node(*shown, {f"{oor}name": "Parameters"}),
        )

    listed = e.node(*map(entry, functions), {f"{oor}name": "AddInFunctions"})
    component = etree.Element(f"{oor}component-data", nsmap={"oor": _REGISTRY})
    component.set(f"{oor}name", "CalcAddIns")
    component.set(f"{oor}package", "org.openoffice.Office")
    component.append(e.node(node(SERVICE, listed), {f"{oor}name": "AddInInfo"}))
    return component


def _manifest() -> etree._Element:
    e = ElementMaker(namespace=_MANIFEST, nsmap={"manifest": _MANIFEST})
    kinds = {
        "functions.idl": "application/vnd.sun.star.uno-typelibrary;type=RDB",
        "CalcAddIns.xcu": "application/vnd.sun.star.configuration-data",
        "component.py": "application/vnd.sun.star.uno-component;type=Python",
    }
    full_path, media_type = f"{{{_MANIFEST}}}full-path", f"{{{_MANIFEST}}}media-type"
    return e.manifest(*(e("file-entry", {full_path: path, media_type: kind}) for path, kind in kinds.items()))


def _description() -> etree._Element:
    prefixes = {None: _DESCRIPTION, "d": _DESCRIPTION, "xlink": _XLINK, "lo": _DEPENDENCY}
    e = ElementMaker(namespace=_DESCRIPTION, nsmap=prefixes)
    minimum = etree.Element(f"{{{_DEPENDENCY}}}LibreOffice-minimal-version", nsmap={"d": _DESCRIPTION})
    minimum.set("value", LIBREOFFICE)
    minimum.set(f"{{{_DESCRIPTION}}}name", f"LibreOffice {LIBREOFFICE}")  # shown where it is too old
    return e.description(
        e.identifier(value=EXTENSION),
        e.version(value=capacity.__version__),
        e.dependencies(minimum),
        e("display-name", e.name("LLM capacity", lang="en")),
        e("extension-description", e.src({f"{{{_XLINK}}}href": "description.txt", "lang": "en"})),
    )


def _about() -> str:
    about = distribution("llm-capacity").metadata
    return f"{about['Summary']}.\nLicense: {about['License-Expression']}, see the file LICENSE in this extension.\n"


def _license() -> bytes:
    files = distribution("llm-capacity").files or []
    return next(f for f in files if f.name == "LICENSE").read_binary()


def _xml(root: etree._Element) -> bytes:
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
