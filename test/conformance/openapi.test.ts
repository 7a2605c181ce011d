/**
 * Compares the OpenAPI documents with those of Kubernetes' own server. Digests of the documents of 1.36.2 are in
 * `openapi/`, made by `openapi/record.ts`; the published document of 1.36 is compared too if it is there.
 */
import { expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { RESOURCES, SUBRESOURCE_KINDS } from "../../pkg/api/resources.ts"
import { createScheme } from "../../pkg/api/scheme.ts"
import { openApiV2, openApiV3 } from "../../pkg/apimachinery/openapi/documents.ts"
import { digestOf, digestOfV3, type Document } from "./openapi/digest.ts"

const scheme = createScheme(RESOURCES, SUBRESOURCE_KINDS)
const declared: Parameters<typeof openApiV3>[0] = {
  resources: scheme.resources,
  find: ({ group, version, kind }) => scheme.kind(group, version, kind),
  version: "v1.36.0",
}
const served = openApiV2(declared) as unknown as Document

/** The names that both have and that differ, and those that only the served document has. */
function differences(ours: ReadonlyMap<string, string>, theirs: ReadonlyMap<string, string>): readonly string[] {
  return [...ours].filter(([name, hash]) => theirs.get(name) !== hash).map(([name]) => name)
}

/** A recorded digest: name → hash. */
function recorded(file: string): ReadonlyMap<string, string> {
  const lines = gunzipSync(readFileSync(new URL(`openapi/${file}`, import.meta.url)))
    .toString()
    .split("\n")
  return new Map(lines.map((line) => line.split(" ") as [string, string]))
}

test("every path and definition is the same as in Kubernetes 1.36.2, except for descriptions", () => {
  const [ours, theirs] = [digestOf(served), recorded("digest.txt.gz")]
  expect(differences(ours, theirs)).toEqual([])
  expect(differences(theirs, ours)).toEqual([])
})

test("every path and schema of v3 is the same as in Kubernetes 1.36.2", () => {
  const documents = openApiV3(declared)
  const ours = digestOfV3(Object.fromEntries([...documents].map(([root, make]) => [root, make() as never])))
  const theirs = recorded("digest-v3.txt.gz")
  expect(differences(ours, theirs)).toEqual([])
  expect(differences(theirs, ours)).toEqual([])
})

const PUBLISHED = new URL("../../../shared/spec/swagger-1.36.json", import.meta.url)
test.skipIf(!existsSync(PUBLISHED))("every definition is the same as the published one, except for enums", () => {
  const published = JSON.parse(readFileSync(PUBLISHED, "utf8")) as Document
  expect(
    differences(digestOf({ ...served, paths: {} }, "enum"), digestOf({ ...published, paths: {} }, "enum")),
  ).toEqual([])
})
