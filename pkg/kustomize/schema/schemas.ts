import { parseYaml } from "../../yaml/yaml.ts"
import { builtInDefinition, builtInSchema, kustomizationSchema } from "./built-in.ts"
import { isBuiltInNamespaced } from "./cluster-scoped.ts"
import type { MergeSchema } from "./merge-schema.ts"
import { OpenApiDocument } from "./open-api.ts"

const BUILT_IN_VERSION = "v1.21.2"

/**
 * The types that one build knows: the built-in ones, or those of the first kustomization that brings a schema. Source:
 * kyaml openapi/openapi.go, whose globals these are.
 */
export class Schemas {
  #version = ""
  #custom: OpenApiDocument | undefined
  /** Whether the built-in types are known beside those of a schema that comes later. */
  #usesBuiltIn = false

  /**
   * Takes over what a kustomization says in its field `openapi`. Without `overrides` only the first one counts.
   * @throws Error
   */
  set(openApi: Readonly<Record<string, string>>, document: string | undefined, overrides: boolean): void {
    if ((this.#version !== "" || this.#custom !== undefined) && !overrides) return
    const version = Object.hasOwn(openApi, "version") ? openApi["version"]! : undefined
    if (document !== undefined) {
      if (version !== undefined) throw new Error("builtin version and custom schema provided, cannot use both")
      this.#custom = new OpenApiDocument(parseYaml(document).value, (name) =>
        this.#usesBuiltIn ? builtInDefinition(name) : undefined,
      )
      this.#version = "custom"
      return
    }
    this.#version = version ?? ""
    if (this.#version === "") return
    if (this.#version !== BUILT_IN_VERSION) throw new Error("the specified OpenAPI version is not built in")
    this.#custom = undefined
  }

  /** Returns whether a kind is known to be in no namespace. */
  isClusterScoped(apiVersion: string, kind: string): boolean {
    const type = `${apiVersion}/${kind}`
    const builtIn = isBuiltInNamespaced(type)
    if (builtIn !== undefined) return !builtIn
    if (this.#custom === undefined) this.#usesBuiltIn = true
    return this.#custom?.isNamespaced(type) === false
  }

  /** Returns the type of a kind; undefined for one that is not known. */
  schemaOf(apiVersion: string, kind: string): MergeSchema | undefined {
    const own = kustomizationSchema(apiVersion, kind)
    if (own !== undefined) return own
    if (this.#custom === undefined) {
      this.#usesBuiltIn = true
      return builtInSchema(apiVersion, kind)
    }
    const custom = this.#custom.schemaOf(apiVersion, kind)
    return custom ?? (this.#usesBuiltIn ? builtInSchema(apiVersion, kind) : undefined)
  }
}
