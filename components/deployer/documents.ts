import { KUBERNETES_YAML, MAX_ALIASES, loadYaml } from "../../pkg/apimachinery/json/yaml.ts"

/** What is wrong with the text of a manifest: only another text mends it. */
export class ManifestFault extends Error {
  override readonly name = "ManifestFault"
}

/** One object of a manifest. */
export interface ManifestObject {
  /** Which document of the file it stands in, from 1. */
  readonly document: number
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace: string | undefined
  readonly body: Readonly<Record<string, unknown>>
}

/**
 * The objects of a manifest, YAML or JSON, in their order; those of a List are taken apart. @throws ManifestFault that
 * names the document and its fault
 */
export function parseManifest(text: string): ManifestObject[] {
  const parsed = loadYaml().parseAllDocuments(text, KUBERNETES_YAML)
  if (!Array.isArray(parsed)) return []
  return parsed.flatMap((document, i) => {
    const fault = document.errors[0]
    if (fault !== undefined) throw new ManifestFault(`document ${i + 1} is not YAML: ${fault.message}`)
    // By way of JSON: what aliases share is made apart.
    const body = JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIASES }) ?? null)) as unknown
    return body === null ? [] : objectsOf(body, i + 1)
  })
}

function objectsOf(body: unknown, document: number): ManifestObject[] {
  if (!isRecord(body)) throw new ManifestFault(`document ${document} is no object`)
  const { apiVersion, kind, metadata, items } = body
  if (typeof apiVersion !== "string" || apiVersion === "")
    throw new ManifestFault(`document ${document} has no apiVersion`)
  if (typeof kind !== "string" || kind === "") throw new ManifestFault(`document ${document} has no kind`)
  if (kind.endsWith("List") && Array.isArray(items)) return items.flatMap((item) => objectsOf(item, document))
  const { name, namespace } = isRecord(metadata) ? metadata : {}
  if (typeof name !== "string" || name === "")
    throw new ManifestFault(`document ${document} (${kind}) has no metadata.name`)
  return [
    {
      document,
      apiVersion,
      kind,
      name,
      namespace: typeof namespace === "string" && namespace !== "" ? namespace : undefined,
      body,
    },
  ]
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
