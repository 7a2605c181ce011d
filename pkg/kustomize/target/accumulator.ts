import { mergeConfigs, EMPTY_CONFIG, type TransformerConfig } from "../config/transformer-config.ts"
import { inByteOrder } from "../go/byte-order.ts"
import type { Var } from "../kustomization/kustomization.ts"
import { lookup } from "../node/lookup.ts"
import { splitBracketedPath } from "../node/paths.ts"
import { toValue } from "../node/to-value.ts"
import { Tag, type YamlNode } from "../node/yaml-node.ts"
import { gvkText, parseApiVersion, type Gvk } from "../resource/gvk.ts"
import { ResourceMap } from "../resource/resource-map.ts"
import { equalGvkn, equalId, type ResId } from "../resource/res-id.ts"
import { nameReferenceTransformer } from "../transformers/name-references.ts"
import { replaceVars } from "../transformers/vars.ts"

const DEFAULT_PATH = "metadata.name"

/** What a kustomization has brought together. Source: kustomize api/internal/accumulator/resaccumulator.go. */
export class Accumulator {
  readonly map = new ResourceMap()
  #config = EMPTY_CONFIG
  readonly #vars = new Map<string, Var>()

  get config(): TransformerConfig {
    return this.#config
  }

  mergeConfig(config: TransformerConfig): void {
    this.#config = mergeConfigs(this.#config, config)
  }

  /** Adds vars. The object that a var names remembers it, so that the var follows it through changes of its name. */
  mergeVars(vars: readonly Var[]): void {
    for (const given of vars) {
      const id = varId(given)
      const matches = id.namespace === "" ? equalGvkn : equalId
      const found = this.map.byAnyId((other) => matches(id, other))
      if (found.length > 1)
        throw new Error(`found ${found.length} resId matches for var ${varText(given)} (unable to disambiguate)`)
      for (const resource of found) resource.varNames = [...resource.varNames, given.name ?? ""]
    }
    for (const given of vars) this.#addVar(given)
  }

  #addVar(given: Var): void {
    const name = given.name ?? ""
    if (this.#vars.has(name)) throw new Error(`var '${name}' already encountered`)
    this.#vars.set(name, { ...given, fieldref: { fieldPath: given.fieldref?.fieldPath || DEFAULT_PATH } })
  }

  merge(other: Accumulator): void {
    this.map.appendAll(other.map.resources)
    this.mergeConfig(other.config)
    for (const given of other.#vars.values()) this.#addVar(given)
  }

  fixNameReferences(): void {
    nameReferenceTransformer(this.#config.nameReference).transform(this.map)
  }

  resolveVars(log: (message: string) => void): void {
    if (this.#vars.size === 0) return
    const vars = [...this.#vars.values()].toSorted((a, b) => inByteOrder(a.name ?? "", b.name ?? ""))
    const values = new Map(vars.map((given) => [given.name ?? "", this.#valueOf(given)]))
    const unused = replaceVars(this.map, this.#config.varReference, values, log)
    if (unused.length > 0) log(`well-defined vars that were never replaced: ${unused.join(",")}`)
  }

  #valueOf(given: Var): unknown {
    const resource = this.map.resources.find(({ varNames }) => varNames.includes(given.name ?? ""))
    if (resource === undefined)
      throw new Error(`var '${varText(given)}' cannot be mapped to a field in the set of known resources`)
    try {
      return fieldValue(resource.node, given.fieldref?.fieldPath || DEFAULT_PATH)
    } catch {
      throw new Error(`field specified in var '${varText(given)}' not found in corresponding resource`)
    }
  }
}

function varId({ objref = {} }: Var): ResId {
  const { apiVersion = "", name = "", namespace = "", ...gvk } = objref
  const { group, version } = parseApiVersion(apiVersion)
  return {
    group: apiVersion.includes("/") ? group : (gvk.group ?? ""),
    version: apiVersion === "" ? (gvk.version ?? "") : version,
    kind: gvk.kind ?? "",
    name,
    namespace,
    isClusterScoped: false,
  }
}

/** Returns a var as Go's `%v` shows it: `{NAME Service.v1.[noGrp] {metadata.name}}`. */
const varText = (given: Var): string => textWith(given, varId(given))

/** Returns a var as it was given, without what follows from its apiVersion. */
export const givenVarText = (given: Var): string => {
  const { group = "", version = "", kind = "" } = given.objref ?? {}
  return textWith(given, { group, version, kind })
}

const textWith = (given: Var, gvk: Gvk): string =>
  `{${given.name ?? ""} ${gvkText(gvk)} {${given.fieldref?.fieldPath ?? ""}}}`

/** Returns the value of a field. Source: kyaml yaml/rnode.go GetFieldValue. */
function fieldValue(root: YamlNode | undefined, path: string): unknown {
  const node = lookup(root, splitBracketedPath(path, ".").flatMap(withIndex))
  if (node === undefined) throw new Error(`no field named '${path}'`)
  if (node.kind !== "scalar") return toValue(node)
  switch (node.tag) {
    case Tag.int:
    case Tag.float: {
      const value = Number(node.value)
      if (Number.isNaN(value)) throw new Error(`parsing ${JSON.stringify(node.value)}: invalid syntax`)
      return value
    }
    case Tag.bool:
      return /^(?:1|t|T|true|TRUE|True)$/.test(node.value)
    default:
      return node.value
  }
}

/** Splits `name[3]`. */
function withIndex(part: string): readonly string[] {
  const [, name, index] = /^(.*)\[(\d+)\]$/.exec(part) ?? []
  if (index === undefined) return [part]
  return name === "" ? [index] : [name!, index]
}
