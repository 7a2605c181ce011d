import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import { ManifestSyntaxError, readManifest, type ManifestDocument } from "../../../../pkg/yaml/manifest.ts"
import { TestClusterError } from "../caller.ts"

/** A path of a file or folder, YAML or JSON text, an object, or several of these. */
export type ManifestSource = string | ManifestObject | readonly ManifestSource[]

/** An object as it was given, and its place in the source. */
export interface Manifest {
  readonly object: KubeObject
  readonly where: string
}

/** An object of any kind, as in YAML. */
export interface ManifestObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata?: { readonly name?: string; readonly namespace?: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

type ResourceOf = (apiVersion: string, kind: string) => Resource | undefined

/**
 * Returns the objects of a source in their order.
 * @throws TestClusterError with file and line for an object of a kind that is neither served nor declared by a
 * CustomResourceDefinition of the source
 */
export function readManifests(source: ManifestSource, resourceOf: ResourceOf): readonly Manifest[] {
  const manifests = objectsOf(source)
  const declared = new Set(manifests.flatMap(({ object }) => kindsDeclaredBy(object)))
  for (const { object, where } of manifests)
    if (!declared.has(`${object.apiVersion} ${object.kind}`)) resourceFor({ object, where }, resourceOf)
  return manifests
}

/** Returns the kind of an object. @throws TestClusterError with file and line when it is not served */
export function resourceFor({ object: { apiVersion, kind }, where }: Manifest, resourceOf: ResourceOf): Resource {
  const resource = resourceOf(apiVersion, kind)
  if (resource === undefined)
    throw new TestClusterError(
      `Cannot apply ${where}: no kind ${JSON.stringify(kind)} is served in ${JSON.stringify(apiVersion)}`,
    )
  return resource
}

/** The kinds that are applied first, whatever their order in the source, since other objects need them. */
const FIRST = ["Namespace", "CustomResourceDefinition"]

/** Returns the manifests with Namespaces first, then definitions of kinds, then the others in their order. */
export const inOrderOfNeed = (manifests: readonly Manifest[]): readonly Manifest[] => [
  ...FIRST.flatMap((kind) => manifests.filter(({ object }) => object.kind === kind)),
  ...manifests.filter(({ object }) => !FIRST.includes(object.kind)),
]

/** Returns `apiVersion kind` of each version that a CustomResourceDefinition declares. */
function kindsDeclaredBy(object: KubeObject): readonly string[] {
  if (object.kind !== "CustomResourceDefinition") return []
  // The object was not validated yet, so any field may be missing; the API server will check it.
  const { spec } = object as { spec?: { group?: string; names?: { kind?: string }; versions?: { name?: string }[] } }
  const versions = Array.isArray(spec?.versions) ? spec.versions : []
  return versions.map((version) => `${spec?.group}/${version?.name} ${spec?.names?.kind}`)
}

function objectsOf(source: ManifestSource): readonly Manifest[] {
  if (typeof source === "string") return isText(source) ? fromText(source, "the text given") : fromPath(source)
  if (Array.isArray(source)) return (source as readonly ManifestSource[]).flatMap(objectsOf)
  return manifestsOf(source, "the object given")
}

/** YAML has a colon and a space, JSON a brace; a path has neither. */
const isText = (source: string): boolean => /[\n{]|:\s|:$/.test(source.trim())

function fromPath(path: string): readonly Manifest[] {
  if (!existsSync(path))
    throw new TestClusterError(
      `Cannot apply ${JSON.stringify(path)}: there is no such file. Give a path, YAML text or objects`,
    )
  if (!statSync(path).isDirectory()) return fromText(readFileSync(path, "utf8"), path)
  return readdirSync(path)
    .filter((name) => /\.(ya?ml|json)$/.test(name))
    .sort()
    .flatMap((name) => fromPath(join(path, name)))
}

const fromText = (text: string, name: string): readonly Manifest[] =>
  documentsOf(text, name).flatMap(({ value, line }) =>
    value === null ? [] : manifestsOf(value, `${name}, line ${line}`),
  )

function documentsOf(text: string, name: string): readonly ManifestDocument[] {
  try {
    return readManifest(text)
  } catch (err) {
    throw err instanceof ManifestSyntaxError ? new TestClusterError(`Cannot read ${name}, ${err.message}`) : err
  }
}

function manifestsOf(value: unknown, where: string): readonly Manifest[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TestClusterError(`Cannot apply ${where}: expected an object, got ${JSON.stringify(value)}`)
  const { apiVersion, kind, metadata, items } = value as {
    apiVersion?: unknown
    kind?: unknown
    metadata?: { name?: unknown }
    items?: unknown
  }
  if (typeof apiVersion !== "string" || apiVersion === "")
    throw new TestClusterError(`Cannot apply ${where}: apiVersion is missing`)
  if (typeof kind !== "string" || kind === "") throw new TestClusterError(`Cannot apply ${where}: kind is missing`)
  if (kind.endsWith("List") && Array.isArray(items))
    return items.flatMap((item, index) => manifestsOf(item, `${where}, items[${index}]`))
  if (typeof metadata?.name !== "string" || metadata.name === "")
    throw new TestClusterError(`Cannot apply ${where}: ${kind} has no metadata.name`)
  return [{ object: value as KubeObject, where }]
}
