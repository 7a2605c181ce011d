import { errorMessage } from "../../errors/error-message.ts"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import type { Patch, Selector } from "../kustomization/kustomization.ts"
import { prefixed } from "../node/errors.ts"
import type { FileLoader } from "../loader/file-loader.ts"
import { ALLOWS_KIND_CHANGE, ALLOWS_NAME_CHANGE } from "../resource/annotations.ts"
import { readResources } from "../resource/read-resources.ts"
import { idText } from "../resource/res-id.ts"
import type { Resource } from "../resource/resource.ts"
import type { ResourceMap } from "../resource/resource-map.ts"
import type { Schemas } from "../schema/schemas.ts"
import { applyToResource, readJsonPatch, type JsonPatch } from "./json-patch.ts"
import { selectResources } from "./select.ts"
import type { Transformer } from "./transformer.ts"

/**
 * Returns a transformer for a patch of either kind. `config` is the patch as YAML, for errors. Source: kustomize
 * PatchTransformer.go.
 */
export async function patchTransformer(
  given: Patch,
  { loader, schemas, config }: { readonly loader: FileLoader; readonly schemas: Schemas; readonly config: string },
): Promise<Transformer> {
  const inline = (given.patch ?? "").trim()
  const path = given.path ?? ""
  if (inline === "" && path === "") throw new Error(`must specify one of patch and path in\n${config}`)
  if (inline !== "" && path !== "") throw new Error(`patch and path can't be set at the same time\n${config}`)
  const text = inline === "" ? await loadPatch(loader, path) : inline
  const source = inline === "" ? `[path: ${goQuoted(path)}]` : `[patch: ${goQuoted(text)}]`
  return transformerOf(readPatch(text, source, schemas), given, source)
}

async function loadPatch(loader: FileLoader, path: string): Promise<string> {
  try {
    return await loader.loadText(path)
  } catch (err) {
    throw new Error(`failed to get the patch file from path(${path}): ${errorMessage(err)}`, { cause: err })
  }
}

type ReadPatch =
  | { readonly kind: "merge"; readonly patches: readonly Resource[] }
  | { readonly kind: "json"; readonly patch: JsonPatch | undefined }

/** Finds out which kind of patch a text is. */
function readPatch(text: string, source: string, schemas: Schemas): ReadPatch {
  const merge = attempt(() => readResources(text, schemas))
  const json = attempt(() => {
    if (text === "") throw new Error("empty json patch operations")
    return { patch: readJsonPatch(text) }
  })
  const isBoth = (merge?.length ?? 0) > 0 && (json?.patch?.length ?? 0) > 0
  if (isBoth) throw new Error(`illegally qualifies as both an SM and JSON patch: ${source}`)
  if (merge !== undefined) return { kind: "merge", patches: merge }
  if (json === undefined) throw new Error(`unable to parse SM or JSON patch from ${source}`)
  return { kind: "json", patch: json.patch }
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}

function transformerOf(read: ReadPatch, { target, options }: Patch, source: string): Transformer {
  if (read.kind === "json") return { transform: (map) => applyJson(map, read.patch, { target, source }) }
  for (const patch of read.patches) {
    if (options?.allowNameChange === true) patch.enable(ALLOWS_NAME_CHANGE)
    if (options?.allowKindChange === true) patch.enable(ALLOWS_KIND_CHANGE)
  }
  return { transform: (map) => applyMerge(map, read.patches, { target, source }) }
}

interface Aim {
  readonly target: Selector | undefined
  readonly source: string
}

function applyMerge(map: ResourceMap, patches: readonly Resource[], { target, source }: Aim): void {
  if (patches.length === 0) return
  if (target === undefined) return applyById(map, patches)
  if (patches.length > 1)
    throw new Error(
      `Multiple Strategic-Merge Patches in one \`patches\` entry is not allowed to set \`patches.target\` field: ${source}`,
    )
  let selected: readonly Resource[]
  try {
    selected = selectResources(map, target)
  } catch (err) {
    throw prefixed(`unable to find patch target ${goQuoted(selectorText(target))} in \`resources\``, err)
  }
  map.applyPatch(
    selected.map((resource) => resource.currentId),
    patches[0]!,
  )
}

function applyById(map: ResourceMap, patches: readonly Resource[]): void {
  for (const patch of patches) {
    const id = patch.originalId
    let target: Resource
    try {
      target = map.byId(id)
    } catch (err) {
      throw prefixed(`no resource matches strategic merge patch ${goQuoted(idText(id))}`, err)
    }
    target.applyPatch(patch)
  }
}

/** Returns a selector as kustomize shows it. */
function selectorText({ annotationSelector = "", labelSelector = "", ...id }: Selector): string {
  const { group = "", version = "", kind = "", name = "", namespace = "" } = id
  const text = idText({ group, version, kind, name, namespace, isClusterScoped: false })
  return `${text}:a=${annotationSelector}:l=${labelSelector}`
}

function applyJson(map: ResourceMap, patch: JsonPatch | undefined, { target, source }: Aim): void {
  if (patch === undefined) return
  if (target === undefined) throw new Error(`must specify a target for JSON patch ${source}`)
  for (const resource of selectResources(map, target)) {
    resource.storePreviousId()
    applyToResource(resource, patch)
  }
}
