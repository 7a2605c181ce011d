/**
 * The OpenAPI v2 document of what is served, beside that of Kubernetes' own server: a digest of its document of 1.36.2
 * is in `openapi/digest.txt.gz`, and the published document of 1.36 is compared too where it is at hand. `bun
 * test/conformance/openapi/record.ts FILE` makes the digest of a document that was fetched from `/openapi/v2`.
 */
import { expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { RESOURCES, SUBRESOURCE_KINDS } from "../../pkg/api/resources.ts"
import { createScheme } from "../../pkg/api/scheme.ts"
import { openApiV2 } from "../../pkg/apimachinery/openapi/documents.ts"
import { digestOf, type Document } from "./openapi/digest.ts"

const scheme = createScheme(RESOURCES, SUBRESOURCE_KINDS)
const served = openApiV2({
  resources: scheme.resources,
  find: ({ group, version, kind }) => scheme.kind(group, version, kind),
  version: "v1.36.0",
}) as unknown as Document

/** The names that both have and that differ, and those that only the served document has. */
function differences(ours: ReadonlyMap<string, string>, theirs: ReadonlyMap<string, string>): readonly string[] {
  return [...ours].filter(([name, hash]) => theirs.get(name) !== hash).map(([name]) => name)
}

test("every path and definition is that of Kubernetes 1.36.2, descriptions aside", () => {
  const lines = gunzipSync(readFileSync(new URL("openapi/digest.txt.gz", import.meta.url)))
    .toString()
    .split("\n")
  const recorded = new Map(lines.map((line) => line.split(" ") as [string, string]))
  expect(differences(digestOf(served), recorded)).toEqual([])
})

const PUBLISHED = new URL("../../../shared/spec/swagger-1.36.json", import.meta.url)
test.skipIf(!existsSync(PUBLISHED))("every definition is the published one, enums aside", () => {
  const published = JSON.parse(readFileSync(PUBLISHED, "utf8")) as Document
  expect(
    differences(digestOf({ ...served, paths: {} }, "enum"), digestOf({ ...published, paths: {} }, "enum")),
  ).toEqual([])
})
