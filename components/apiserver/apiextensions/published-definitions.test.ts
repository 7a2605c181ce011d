import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseAllDocuments } from "yaml"
import { json, startHttpServer, type Answer } from "../serving/http-server.fixtures.ts"

/**
 * Definitions as cert-manager, Gateway API and the Prometheus operator publish them. They are no part of the project:
 * the folder is named by K3TS_PUBLISHED_DEFINITIONS.
 */
const FOLDER = process.env["K3TS_PUBLISHED_DEFINITIONS"] ?? ""
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

interface Loose {
  readonly kind: string
  readonly apiVersion: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec: {
    readonly group: string
    readonly scope: string
    readonly names: { readonly kind: string; readonly plural: string }
    readonly versions: readonly { readonly name: string; readonly served: boolean }[]
  }
}

function documentsOf(folder: string): readonly Loose[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".yaml"))
    .sort()
    .flatMap((name) => parseAllDocuments(readFileSync(join(folder, name), "utf8")))
    .map((document) => (document as { toJS(): unknown }).toJS() as Loose | null)
    .filter((object) => object !== null)
}

const isThere = FOLDER !== "" && existsSync(FOLDER)
if (!isThere) console.warn("skipped: no definitions of others, see K3TS_PUBLISHED_DEFINITIONS")
const documents = isThere ? documentsOf(FOLDER) : []
const definitions = documents.filter(({ kind }) => kind === "CustomResourceDefinition")
const served = new Set(definitions.map(({ spec }) => spec.group))
const examples = documents.filter(({ apiVersion }) => served.has(String(apiVersion).split("/")[0]!))

describe.skipIf(!isThere)("definitions as their projects publish them", () => {
  let server: Awaited<ReturnType<typeof startHttpServer>>
  beforeAll(async () => {
    server = await startHttpServer({ frozen: false })
  })
  afterAll(() => server.stop())
  const why = ({ code, text }: Answer): string => (code < 300 ? "" : text)

  test.each(definitions.map((definition): [string, Loose] => [definition.metadata.name, definition]))(
    "%s is accepted, served and published",
    async (name, definition) => {
      expect(why(await server.call("POST", `${DEFINITIONS}?fieldValidation=Strict`, json(definition)))).toBe("")
      const { group, versions, names } = definition.spec
      for (const version of versions.filter((each) => each.served)) {
        expect(why(await server.call("GET", `/apis/${group}/${version.name}/${names.plural}`))).toBe("")
        const document = await server.call("GET", `/openapi/v3/apis/${group}/${version.name}`)
        expect(document.text).toContain(`${group.split(".").reverse().join(".")}.${version.name}.${names.kind}`)
      }
      expect(name).toBe(`${names.plural}.${group}`)
    },
  )

  test.each(examples.map((example): [string, Loose] => [`${example.kind} ${example.metadata.name}`, example]))(
    "%s is valid, and without its spec it is not",
    async (_name, example) => {
      const definition = definitions.find(
        ({ spec }) => `${spec.group}` === example.apiVersion.split("/")[0] && spec.names.kind === example.kind,
      )!
      const { plural } = definition.spec.names
      const { namespace = "default" } = example.metadata
      const within = definition.spec.scope === "Namespaced" ? `namespaces/${namespace}/` : ""
      if (namespace !== "default")
        await server.call("POST", "/api/v1/namespaces", json({ metadata: { name: namespace } }))
      const path = `/apis/${example.apiVersion}/${within}${plural}?dryRun=All&fieldValidation=Strict`
      expect(why(await server.call("POST", path, json(example)))).toBe("")
      expect((await server.call("POST", path, json({ ...example, spec: "broken" }))).code).toBe(422)
    },
  )
})
