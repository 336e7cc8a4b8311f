// xlwings Lite without Excel: main.py in Pyodide, called through xlwings' own code. A request comes on stdin, the
// answer goes to stdout, both as JSON:
//   {script, xlwings: an archive of the package, calls: [[function, args]...], clock: rounds} ->
//   {functions: names in Excel, results: [value or {raises}...], ms: {function: [...]}}
// The arguments are what Office.js hands over: ranges as rows, null for what is left out.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// by default Node prints the line that failed, which is the whole of Pyodide
process.on("uncaughtException", (error) => { console.error(error.message); process.exit(1); });

const require = createRequire(process.env.LLM_CAPACITY_NODE + "/");
const { loadPyodide } = await import(pathToFileURL(require.resolve("pyodide/pyodide.mjs")));
const request = JSON.parse(readFileSync(0, "utf8"));

const env = { HOME: "/home/pyodide", XLWINGS_ON_SERVER: "true", XLWINGS_LICENSE_KEY: process.env.XLWINGS_LICENSE_KEY ?? "" };
const python = await loadPyodide({ env, stdout: () => {}, stderr: () => {} });
globalThis.fetch = () => { throw new Error("the network is off"); };
python.unpackArchive(new Uint8Array(readFileSync(request.xlwings)), "zip");
python.globals.set("source", request.script);
await python.runPythonAsync(`
import types
import xlwings as xw
import xlwings.server

main = types.ModuleType("main")
exec(compile(source, "main.py", "exec"), main.__dict__)

@xw.func
@xw.arg("x", ndim=2, err_to_str=True)
def IDENTITY(x):
    return x

main.IDENTITY = IDENTITY

async def call(data):
    try:
        return await xlwings.server.custom_functions_call(data.to_py(), main)
    except Exception as error:
        return {"raises": repr(error)}
`);
const call = python.globals.get("call");
const body = ([name, args]) => ({
  client: "Office.js", func_name: name, args, caller_address: "[Book1.xlsx]Sheet1!A1", session_id: "1",
  version: python.runPython("xw.__version__"), runtime: "1.4", culture_info_name: "en-US", date_format: "m/d/yyyy",
});
const plain = (x) => (x?.toJs ? x.toJs({ dict_converter: Object.fromEntries }) : x);
const results = [];
for (const one of request.calls) results.push(plain(await call(body(one))));
const ms = {};
for (let round = 0; round < (request.clock ?? 0); round++) {
  for (const one of request.calls) {
    const began = performance.now();
    plain(await call(body(one)));
    (ms[one[0]] ??= []).push(performance.now() - began);
  }
}
const functions = plain(python.runPython("[f['name'] for f in xlwings.server.custom_functions_meta(main)['functions']]"));
console.log(JSON.stringify({ functions: functions.filter((name) => name !== "IDENTITY"), results, ms }));
