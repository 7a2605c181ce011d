/** Generates ConfigMaps and Secrets. Source: kustomize api/internal/generators. */
import type { GeneratorArgs, GeneratorOptions, SecretArgs } from "../kustomization/kustomization.ts"
import { inByteOrder } from "../go/byte-order.ts"
import type { FileLoader } from "../loader/file-loader.ts"
import { setField } from "../node/fields.ts"
import { lookupCreate } from "../node/lookup.ts"
import { Style, Tag, textScalar, YamlNode } from "../node/yaml-node.ts"
import { NEEDS_HASH } from "../resource/annotations.ts"
import { setConfigMapData, setSecretData } from "../resource/data-map.ts"
import { behaviorOf, Resource } from "../resource/resource.ts"
import { ResourceMap } from "../resource/resource-map.ts"
import type { Schemas } from "../schema/schemas.ts"
import type { Generator } from "../transformers/transformer.ts"
import { readSources } from "./sources.ts"

interface Context {
  readonly loader: FileLoader
  readonly schemas: Schemas
}

export const configMapGenerator = (args: GeneratorArgs, context: Context): Generator => ({
  async generate() {
    const node = baseNode("ConfigMap", args)
    setConfigMapData(node, await readSources(context.loader, args))
    return generated(node, args, context)
  },
})

export const secretGenerator = (args: SecretArgs, context: Context): Generator => ({
  async generate() {
    const node = baseNode("Secret", args)
    setField(node, "type", textScalar(args.type || "Opaque"))
    setSecretData(node, await readSources(context.loader, args))
    return generated(node, args, context)
  },
})

function baseNode(kind: string, { name = "", namespace = "" }: GeneratorArgs): YamlNode {
  if (name === "") throw new Error("a configmap must have a name")
  const node = new YamlNode("map", { tag: Tag.map })
  setField(node, "apiVersion", textScalar("v1"))
  setField(node, "kind", textScalar(kind))
  const metadata = lookupCreate(node, "map", ["metadata"])
  setField(metadata, "name", textScalar(name))
  if (namespace !== "") setField(metadata, "namespace", textScalar(namespace))
  return node
}

function generated(node: YamlNode, { options, behavior = "" }: GeneratorArgs, { schemas }: Context): ResourceMap {
  const resource = new Resource(node, schemas)
  addMetadata(node, "labels", options)
  for (const [name, value] of sorted(options?.annotations)) resource.setAnnotation(name, value)
  if (options?.immutable === true) setField(node, "immutable", new YamlNode("scalar", { value: "true", tag: Tag.bool }))
  if (options?.disableNameSuffixHash !== true) resource.enable(NEEDS_HASH)
  resource.behavior = behaviorOf(behavior)
  return ResourceMap.of([resource])
}

function addMetadata(node: YamlNode, field: "labels", options: GeneratorOptions | undefined): void {
  for (const [name, value] of sorted(options?.[field])) {
    const text = textScalar(value)
    text.style = Style.single
    setField(lookupCreate(node, "map", ["metadata", field]), name, text)
  }
}

const sorted = (map: Readonly<Record<string, string>> = {}): readonly (readonly [string, string])[] =>
  Object.entries(map).toSorted(([a], [b]) => inByteOrder(a, b))

/** Returns the options of one generator with those of all. Source: kustomize api/types/generatoroptions.go. */
export function withGlobalOptions(
  own: GeneratorOptions | undefined,
  global: GeneratorOptions | undefined,
): GeneratorOptions | undefined {
  if (global === undefined) return own
  const join = (field: "labels" | "annotations") =>
    own?.[field] === undefined && global[field] === undefined ? {} : { [field]: { ...global[field], ...own?.[field] } }
  return {
    ...own,
    ...join("labels"),
    ...join("annotations"),
    ...(global.disableNameSuffixHash === true ? { disableNameSuffixHash: true } : {}),
    ...(global.immutable === true ? { immutable: true } : {}),
  }
}
