import { pushAll } from "../../lists/push-all.ts"
import { baseName } from "../../apimachinery/go/go-path.ts"
import type { FileLoader } from "../loader/file-loader.ts"
import { parseYaml } from "../../yaml/yaml.ts"
import { decode, fields } from "../go/decode.ts"
import type { Selector } from "../kustomization/kustomization.ts"
import { pluginShape, SELECTOR } from "../kustomization/shapes.ts"
import { expectKind, setScalar } from "../node/fields.ts"
import { lookupCreate } from "../node/lookup.ts"
import { scalar } from "../node/yaml-node.ts"
import { setNamespaces } from "./namespace.ts"
import { selectResources } from "./select.ts"
import type { Transformer } from "./transformer.ts"
import type { ResourceMap } from "../resource/resource-map.ts"

interface Target {
  readonly selector?: Selector
  readonly fieldPath?: string
  readonly filePathPosition?: number
}

export interface ValueAddConfig {
  readonly value?: string
  readonly targets?: readonly Target[]
  readonly targetFilePath?: string
}

const TARGETS = { list: pluginShape(fields({ selector: SELECTOR, fieldPath: "string", filePathPosition: "int64" })) }
export const VALUE_ADD = pluginShape(fields({ value: "string", targets: TARGETS, targetFilePath: "string" }))

/** Returns a transformer that sets a value, or adds it to a path. Source: kustomize ValueAddTransformer.go. */
export async function valueAddTransformer(config: ValueAddConfig, loader: FileLoader): Promise<Transformer> {
  const value = (config.value ?? "").trim() || baseName(loader.root)
  const targets = [...(config.targets ?? [])]
  if (config.targetFilePath !== undefined && config.targetFilePath !== "") {
    const parsed = decode(parseYaml(await loader.loadText(config.targetFilePath)).value, VALUE_ADD, { coerces: true })
    pushAll(targets, (parsed as ValueAddConfig | undefined)?.targets ?? [])
  }
  if (targets.length === 0) throw new Error("must specify at least one target")
  for (const { fieldPath = "", filePathPosition = 0 } of targets) {
    if (fieldPath === "") throw new Error("fieldPath cannot be empty")
    if (filePathPosition < 0) throw new Error(`value of FilePathPosition (${filePathPosition}) cannot be negative`)
  }
  return {
    transform(map) {
      for (const target of targets) addTo(map, target, value)
    },
  }
}

function addTo(map: ResourceMap, { selector, fieldPath = "", filePathPosition = 0 }: Target, value: string): void {
  const resources = selector === undefined ? map.resources : selectResources(map, selector)
  if (fieldPath === "metadata/namespace") {
    for (const resource of resources)
      if (resource.node !== undefined) setNamespaces(resource, { namespace: value, specs: [] })
    return
  }
  for (const { node } of resources) {
    if (node === undefined) continue
    const field = lookupCreate(
      node,
      "scalar",
      fieldPath.split(/(?<!\\)\//).map((part) => part.replaceAll("\\/", "/")),
    )
    expectKind(field, "scalar")
    setScalar(field, scalar(filePathPosition > 0 ? insertPart(field.value, filePathPosition - 1, value) : value))
  }
}

/** Inserts a part into a path. Source: kyaml filesys/util.go InsertPathPart. */
function insertPart(path: string, position: number, part: string): string {
  const isAbsolute = path.startsWith("/")
  const parts = path.split("/").filter((part) => part !== "")
  parts.splice(Math.min(position, parts.length), 0, part)
  return (isAbsolute ? "/" : "") + parts.join("/")
}
