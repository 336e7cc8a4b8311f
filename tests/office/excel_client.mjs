// Excel without Excel: loads xlwings' own JavaScript from a running server and calls functions through it, as the
// custom-functions runtime does. A request comes on stdin, the answer goes to stdout, both as JSON:
//   {address, calls: [[function, args]...]} -> {associated: [id...], meta: [id...], results: [{value} or {error}...]}
// Each result also says how many requests were sent. The arguments are ranges as rows, null for what is left out.
import { webcrypto as crypto } from "node:crypto";
import { readFileSync } from "node:fs";
import vm from "node:vm";

const { address, calls } = JSON.parse(readFileSync(0, "utf8"));
const get = async (path) => (await fetch(`${address}/xlwings/${path}`)).text();
const code = await get("custom-functions-code.js");
const meta = JSON.parse(await get("custom-functions-meta.json"));

let posts = 0;
async function post(url, body, { headers }) {
  posts += 1;
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  let data = text;
  try { data = JSON.parse(text); } catch { /* a refusal is plain text */ }
  if (response.ok) return { data };
  throw Object.assign(new Error(response.statusText), {
    response: { status: response.status, statusText: response.statusText, data },
  });
}

const functions = {};
const page = {
  console: { log() {}, info() {}, error() {} }, crypto, setTimeout, window: { location: { origin: address } },
  config: { onWasm: false, customFunctionsMaxRetries: 3, customFunctionsRetryCodes: [500, 502, 503, 504], requestTimeout: 60 },
  Office: { onReady: async (then) => then?.({}), context: { requirements: { isSetSupported: () => true } } },
  Excel: { RequestContext: class { workbook = { name: "Book1.xlsx", load() {} }; async sync() {} } },
  CustomFunctions: {
    associate: (id, f) => { functions[id] = f; },
    Error: class extends Error { constructor(cellError, message) { super(message); this.cellError = cellError; } },
    ErrorCode: { invalidValue: "#VALUE!" },
  },
  xlwings: { getCultureInfoName: async () => "en-US", getDateFormat: async () => "m/d/yyyy" },
  xwRequest: { post },
};
page.globalThis = page;
vm.createContext(page);
vm.runInContext(code, page);

const results = [];
for (const [name, args] of calls) {
  posts = 0;
  try {
    results.push({ value: await functions[name](...args, { address: "Sheet1!B2" }), posts });
  } catch (error) {
    results.push({ error: error.message, shown: error.cellError, posts });
  }
}
console.log(JSON.stringify({ associated: Object.keys(functions), meta: meta.functions.map((f) => f.id), results }));
