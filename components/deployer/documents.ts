import { ManifestSyntaxError, readManifest, type ManifestDocument } from "../../pkg/yaml/manifest.ts"

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
 * The objects of a manifest, YAML or JSON, in their order; those of a List are taken apart.
 * @throws ManifestFault that names the line, or the document and its fault
 */
export const parseManifest = (text: string): readonly ManifestObject[] =>
  documentsOf(text).flatMap(({ value }, i) => (value === null ? [] : objectsOf(value, i + 1)))

function documentsOf(text: string): readonly ManifestDocument[] {
  try {
    return readManifest(text)
  } catch (err) {
    throw err instanceof ManifestSyntaxError ? new ManifestFault(`not YAML: ${err.message}`) : err
  }
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
