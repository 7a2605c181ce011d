/** What a chart, or the values for it, may try on the process that renders it. */
import { expect, test } from "bun:test"
import { gunzipSync, gzipSync } from "node:zlib"
import { seededRandom } from "../clock/random.ts"
import { writeTar } from "../oci/tar.ts"
import { parseYaml } from "../yaml/yaml.ts"
import { processDependencies } from "./dependencies.ts"
import { goValues, type Dict } from "./functions/convert.ts"
import { loadArchive, loadFiles } from "./load-chart.ts"
import { decodeRelease } from "./release.ts"
import { renderChart } from "./render.ts"
import { setValue } from "./set-values.ts"
import { overlay } from "./values.ts"

const CHART = "apiVersion: v2\nname: c\nversion: 1.0.0\n"

/** What makes millions of values, or unpacks 300 MB, is seconds of the processor's time. */
const LIMIT_MS = 60_000

/** Returns what a chart with these files writes. Time stands still unless given: on a busy machine all takes long. */
async function written(
  files: Readonly<Record<string, string>>,
  values: Dict = {},
  monotonic = () => 0,
): Promise<string> {
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
    monotonic,
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

const BIG = '{{ $big := repeat 16000000 "x" }}'

test.each([
  ["loop for ever over nothing", "{{ range 1000000000000 }}{{ end }}", "too much"],
  ["write a lot", `${BIG}{{ range until 1000 }}{{ $big }}{{ end }}`, "writes more than"],
  ["make a lot, bit by bit", `{{ range until 100 }}{{ $x := repeat 16000000 "x" }}{{ end }}`, "make too much"],
  [
    "make many lists",
    "{{ $l := list }}{{ range until 1000 }}{{ $l = append $l (until 100000) }}{{ end }}",
    "make too much",
  ],
  ["double a text", '{{ $x := "x" }}{{ range until 100 }}{{ $x = printf "%s%s" $x $x }}{{ end }}', "too long"],
  ["double a list", "{{ $x := list 1 }}{{ range until 100 }}{{ $x = concat $x $x }}{{ end }}", "too long"],
  ["format with large widths", '{{ printf (repeat 1000 "%1000000[1]d") 1 }}', "too long"],
  ["replace parts by long ones", `{{ replace "x" (repeat 100000 "y") (repeat 1000 "x") }}`, "too long"],
  ["indent many lines", `{{ repeat 16000 "\\n" | indent 100000 }}`, "too long"],
  ["join with a long text", `${BIG}{{ until 1000 | join $big }}`, "too long"],
  ["wrap with a long text", `${BIG}{{ repeat 1000 "x " | wrapWith 1 $big }}`, "too long"],
  ["replace what a pattern matches", `{{ regexReplaceAll "x" (repeat 100000 "x") (repeat 100000 "y") }}`, "too long"],
  ["match everywhere", `{{ regexFindAll "." (repeat 300000 "x") -1 }}`, "more than 200000 matches"],
  ["compare all with all", "{{ until 100000 | uniq }}", "too long"],
  [
    "look for all in all",
    "{{ $l := until 100000 }}{{ range $l }}{{ end }}{{ without $l $l }}{{ uniq $l }}",
    "too long",
  ],
  ["print a map that is in itself", '{{ $d := dict }}{{ $d = set $d "d" $d }}{{ $d }}', "too many values"],
  ["write such a map as YAML", '{{ $d := dict }}{{ $d = set $d "d" $d }}{{ toYaml $d }}', "too many values"],
  ...["{{ $d }}", "{{ print $d }}", "{{ toYaml $d }}", "{{ toJson $d }}", "{{ deepCopy $d }}", "{{ dict $d 1 }}"].map(
    (end) => [
      `use a map of 2^60 values: ${end}`,
      `{{ $d := dict "a" 1 }}{{ range until 60 }}{{ $d = dict "a" $d "b" $d }}{{ end }}${end}`,
      "too many values",
    ],
  ),
])(
  "templates that %s fail",
  async (_, template, message) => {
    await expect(written({ "templates/a.yaml": template })).rejects.toThrow(message)
  },
  LIMIT_MS,
)

test.each([
  ["in many steps", "{{ range until 1000 }}x{{ end }}"],
  ["in one with many arguments", `{{ list ${"1 ".repeat(1000)} }}`],
])("templates fail that keep everybody else waiting %s, however little they do", async (_, template) => {
  let now = 0
  await expect(written({ "templates/a.yaml": template }, {}, () => (now += 100))).rejects.toThrow("takes too long")
})

const packed = (files: Readonly<Record<string, string | Uint8Array>>): Uint8Array =>
  gzipSync(
    writeTar(
      Object.entries({ "Chart.yaml": CHART, ...files }).map(([name, data]) => ({
        type: "file" as const,
        path: `c/${name}`,
        data: Buffer.from(data),
      })),
    ),
    { level: 1 },
  )

test(
  "an archive is refused that unpacks to more than a chart may have, also by the archives in it",
  () => {
    const zeros = new Uint8Array(5 * 1024 * 1024)
    const many = (count: number, of: (i: number) => [string, Uint8Array]) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => of(i)))
    const large = packed(many(6, (i) => [`${i}.bin`, zeros]))
    expect(loadArchive(large).files).toHaveLength(6)
    const charts = (count: number) => packed(many(count, (i) => [`charts/${i}.tgz`, large]))
    expect(loadArchive(charts(3)).dependencies).toHaveLength(3)
    expect(() => loadArchive(charts(4))).toThrow("too large")
    expect(() => loadArchive(packed({ a: new Uint8Array(zeros.length + 1) }))).toThrow("more than 5242880 bytes")
    const small = packed(many(1000, (i) => [`charts/${i}/Chart.yaml`, Buffer.from(CHART)]))
    expect(() => loadArchive(small)).toThrow("more than 1000 charts")
    const outside = Buffer.from(
      gunzipSync(packed({ "aa/aa/etc/passwd": "" }))
        .toString("latin1")
        .replace("aa/aa", "../.."),
      "latin1",
    )
    expect(() => loadArchive(gzipSync(outside))).toThrow("outside of its folder")
  },
  LIMIT_MS,
)

const releaseOf = (json: string): string => gzipSync(json).toString("base64")

test.each(["[]", "{}", "1", '""', '"\\\\"'])(
  "a stored release of millions of %s is refused before it is parsed",
  (item) => {
    const json = `{"manifest":"","hooks":[${`${item},`.repeat(3_000_000)}0]}`
    expect(() => decodeRelease(releaseOf(json))).toThrow("more than 200000 parts")
  },
)

test("a stored release is read whose texts have millions of such signs, quotes and escapes", () => {
  const manifest = '[{,"\\"\\\\'.repeat(300_000)
  expect(decodeRelease(releaseOf(JSON.stringify({ manifest, hooks: [] }))).manifest).toBe(manifest)
})

test("a pattern of file names that could be tried in very many ways still matches", async () => {
  const name = `${"a".repeat(5000)}b`
  const glob = (pattern: string) => `{{ range $n, $_ := .Files.Glob "${pattern}" }}{{ $n }} {{ end }}`
  const template = glob(`{${"*a".repeat(30)}c,*b}`) + glob("{x,y}/**.[a-c]?")
  const files = { [name]: "", "x/y/z.c1": "", "x/z.d1": "", "z/z.c1": "" }
  expect(await written({ "templates/a.yaml": template, ...files })).toBe(`${name} x/y/z.c1 `)
})
