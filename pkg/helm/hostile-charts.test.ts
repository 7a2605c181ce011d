/** What a chart, or the values for it, may try on the process that renders it. */
import { expect, test } from "bun:test"
import { seededRandom } from "../clock/random.ts"
import { parseYaml } from "../yaml/yaml.ts"
import { processDependencies } from "./dependencies.ts"
import { goValues, type Dict } from "./functions/convert.ts"
import { loadFiles } from "./load-chart.ts"
import { renderChart } from "./render.ts"
import { setValue } from "./set-values.ts"
import { overlay } from "./values.ts"

const CHART = "apiVersion: v2\nname: c\nversion: 1.0.0\n"

/** Returns what a chart with these files writes. */
async function written(files: Readonly<Record<string, string>>, values: Dict = {}): Promise<string> {
  const read = loadFiles(
    Object.entries({ "Chart.yaml": CHART, ...files }).map(([name, text]) => ({ name, data: Buffer.from(text) })),
  )
  const rendered = await renderChart({
    chart: processDependencies(read, values),
    values,
    release: { name: "rel", namespace: "ns", revision: 1, isUpgrade: false },
    capabilities: { kubeVersion: "v1.36.0", apiVersions: ["v1"] },
    random: seededRandom(1),
    now: () => 0,
  })
  return [...rendered.values()].join("")
}

const PARENT = `${CHART}dependencies: [{name: sub, version: 1.0.0, tags: [__proto__], import-values: [{child: "__proto__", parent: "__proto__"}]}]\n`

test.each([
  ["set", async () => setValue({}, "__proto__.polluted", "yes")],
  ["set, deeper", async () => setValue({}, "a.constructor.prototype.polluted", "yes")],
  ["several values", async () => void overlay({}, goValues(parseYaml("__proto__: {polluted: yes}").value) as Dict)],
  ["merge", () => written({ "templates/a.yaml": '{{ merge (dict) (fromJson `{"__proto__":{"polluted":1}}`) }}' })],
  ["merge of maps", () => written({ "templates/a.yaml": '{{ merge dict (dict "__proto__" (dict "polluted" 1)) }}' })],
  [
    "overwrite",
    () => written({ "templates/a.yaml": '{{ mergeOverwrite dict (dict "__proto__" (dict "polluted" 1)) }}' }),
  ],
  [
    "the values of charts",
    () =>
      written({
        "Chart.yaml": PARENT,
        "values.yaml": "global: {__proto__: {polluted: 1}}\n__proto__: {polluted: 1}\n",
        "charts/sub/Chart.yaml": CHART.replace("name: c", "name: sub"),
        "charts/sub/values.yaml": "global: {__proto__: {polluted: 2}}\n__proto__: {polluted: 1}\n",
        "templates/a.yaml": "{{ .Values }}",
      }),
  ],
  [
    "the name of a chart",
    () =>
      written({
        "charts/x/Chart.yaml": CHART.replace("name: c", "name: __proto__"),
        "values.yaml": "__proto__: {a: 1}",
      }),
  ],
])("keys such as __proto__ in %s change nothing but the map that they are in", async (_, work) => {
  await work()
  expect(Object.keys(Object.prototype)).toEqual([])
  expect("polluted" in {}).toBe(false)
})

test("a key called __proto__ is one as any other", async () => {
  const template = '{{ $d := dict "__proto__" 1 }}{{ get $d "__proto__" }} {{ set dict "__proto__" 2 }} {{ .Values }}'
  expect(await written({ "templates/a.yaml": template }, JSON.parse('{"__proto__":"x"}') as Dict)).toBe(
    "1 map[__proto__:2] map[__proto__:x]",
  )
})
