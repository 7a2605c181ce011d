/** Charts of our own, and what Helm 3.18.6 answers for each to `helm template`, recorded once. */
import { describe, expect, test } from "bun:test"
import { gzipSync } from "node:zlib"
import { writeTar } from "../oci/tar.ts"
import { seededRandom } from "../clock/random.ts"
import { parseYaml } from "../yaml/yaml.ts"
import { processDependencies } from "./dependencies.ts"
import { goValues } from "./functions/convert.ts"
import { loadArchive, loadFiles } from "./load-chart.ts"
import { manifestText, sortManifests } from "./manifests.ts"
import recorded from "./recorded.json"
import { renderChart } from "./render.ts"

interface Case {
  readonly title: string
  readonly files: Readonly<Record<string, string>>
  readonly values?: string
  readonly output?: string
  readonly error?: string
}

async function templated({ files, values = "" }: Case): Promise<string> {
  const read = loadFiles(Object.entries(files).map(([name, text]) => ({ name, data: Buffer.from(text) })))
  const given = goValues(parseYaml(values).value ?? {}) as Readonly<Record<string, unknown>>
  const chart = processDependencies(read, given)
  const rendered = await renderChart({
    chart,
    values: given,
    release: { name: "rel", namespace: "ns", revision: 1, isUpgrade: false },
    capabilities: { kubeVersion: "v1.36.0", apiVersions: ["v1"] },
    random: seededRandom(1),
    now: () => 0,
    monotonic: () => performance.now(),
  })
  const { manifests, hooks } = sortManifests(rendered, chart.metadata.name)
  return manifestText([...manifests, ...hooks])
}

describe("a chart is rendered as Helm does", () => {
  test.each(recorded as readonly Case[])("$title", async (one) => {
    const answer = await templated(one).then(
      (output) => ({ output }),
      (err: Error) => ({ error: err.message }),
    )
    expect(answer).toEqual(one.error === undefined ? { output: one.output! } : { error: one.error })
  })
})

describe("the templates of a chart", () => {
  const chart = (template: string) => ({
    title: "",
    files: { "Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "templates/a.yaml": template },
  })

  test.each([
    ["that would never end", "{{ range until 100000 }}{{ range until 100000 }}{{ . }}{{ end }}{{ end }}", "too much"],
    ["that include themselves", '{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}', "nested"],
    ["that make a huge text", '{{ "x" | repeat 1000000000 }}', "too long"],
    ["that make a huge list", "{{ untilStep 0 1000000000 1 }}", "too long"],
  ])(
    "%s fail",
    async (_title, template, message) => {
      await expect(templated(chart(template))).rejects.toThrow(message)
    },
    60_000,
  )

  test("are read from an archive, in which names of any length and charts in charts are", () => {
    const long = `templates/${"n".repeat(120)}.yaml`
    const pack = (folder: string, files: Readonly<Record<string, string | Uint8Array>>) =>
      gzipSync(
        writeTar(
          Object.entries(files).map(([name, data]) => ({
            type: "file" as const,
            path: `${folder}/${name}`,
            data: Buffer.from(data),
          })),
        ),
      )
    const yaml = (name: string) => ({ "Chart.yaml": `apiVersion: v2\nname: ${name}\nversion: 1.0.0\n` })
    const read = loadArchive(pack("a", { ...yaml("a"), [long]: "x: 1", "charts/b-1.0.0.tgz": pack("b", yaml("b")) }))
    expect([read.templates.map(({ name }) => name), read.dependencies.map(({ metadata }) => metadata.name)]).toEqual([
      [long],
      ["b"],
    ])
    expect(() => loadArchive(Buffer.from("no chart"))).toThrow("the chart is no archive that is compressed with gzip")
    expect(() => loadArchive(gzipSync(Buffer.alloc(1024)))).toThrow("Chart.yaml file is missing")
  })
})
