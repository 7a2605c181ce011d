/** The patches of the deprecated fields `patchesStrategicMerge` and `patchesJson6902`. */
import { pushAll } from "../../lists/push-all.ts"
import { errorMessage } from "../../errors/error-message.ts"
import type { Selector } from "../kustomization/kustomization.ts"
import { goJson } from "../go/go-json.ts"
import type { FileLoader } from "../loader/file-loader.ts"
import { readResources, readResourcesOf } from "../resource/read-resources.ts"
import type { Resource } from "../resource/resource.ts"
import type { Schemas } from "../schema/schemas.ts"
import { applyToResource, readJsonPatch, type JsonPatch } from "./json-patch.ts"
import { selectResources } from "./select.ts"
import type { Transformer } from "./transformer.ts"

interface Context {
  readonly loader: FileLoader
  readonly schemas: Schemas
}

/** Source: kustomize PatchStrategicMergeTransformer.go. */
export async function strategicMergeTransformer(
  { paths = [], patches = "" }: { readonly paths?: readonly string[]; readonly patches?: string },
  { loader, schemas }: Context,
): Promise<Transformer> {
  if (paths.length === 0 && patches === "") throw new Error("empty file path and empty patch content")
  const loaded: Resource[] = []
  for (const path of paths) pushAll(loaded, await patchesAt(path, { loader, schemas }))
  if (patches !== "") pushAll(loaded, readResources(patches, schemas))
  if (loaded.length === 0) throw new Error(`patch appears to be empty; files=[${paths.join(" ")}], Patch=${patches}`)
  return {
    transform(map) {
      for (const patch of loaded) map.applyPatch([map.byId(patch.originalId).currentId], patch)
    },
  }
}

/** An entry is a patch itself, or the path of one. */
async function patchesAt(path: string, { loader, schemas }: Context): Promise<readonly Resource[]> {
  try {
    return readResources(path, schemas)
  } catch {
    return readResourcesOf(path, await loader.loadText(path), schemas)
  }
}

/** Source: kustomize PatchJson6902Transformer.go. */
export async function jsonPatchTransformer(
  { target, path = "", jsonOp = "" }: { readonly target?: Selector; readonly path?: string; readonly jsonOp?: string },
  loader: FileLoader,
): Promise<Transformer> {
  if ((target?.name ?? "") === "") throw new Error("must specify the target name")
  if (path === "" && jsonOp === "") throw new Error("empty file path and empty jsonOp")
  if (path !== "" && jsonOp !== "") throw new Error("must specify a file path or jsonOp, not both")
  const text = path === "" ? jsonOp : await loader.loadText(path)
  if (text === "") throw new Error(`patch file '${path}' empty seems to be empty`)
  let patch: JsonPatch | undefined
  try {
    patch = readJsonPatch(text)
  } catch (err) {
    throw new Error(`decoding ${text}: ${errorMessage(err)}`, { cause: err })
  }
  if (patch === undefined || patch.length === 0)
    throw new Error(`patch appears to be empty; file=${path}, JsonOp=${patch === undefined ? "null" : goJson(patch)}`)
  return {
    transform(map) {
      for (const resource of selectResources(map, target!)) applyToResource(resource, patch)
    },
  }
}
