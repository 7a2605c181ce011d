import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { throwAggregate } from "../errors/aggregate.ts"
import { NoKindMatchError } from "../errors/errors.ts"
import { parseGroupVersion, type Unstructured } from "../rest/json.ts"
import type { RestClient } from "../rest/rest-client.ts"
import type { RestMapper } from "../rest/rest-mapper.ts"
import type { RequestTransform } from "./helper.ts"
import { Info } from "./info.ts"

/** What is asked for when an object needs its resource. */
export interface MapperParts {
  readonly restMapper: () => Promise<RestMapper>
  readonly client: () => Promise<RestClient>
  /** Whether the server must not be asked. */
  readonly isLocal: () => boolean
  readonly transform: () => RequestTransform | undefined
  /** The scheme into whose types objects are read; see `BuilderOptions`. */
  readonly scheme: string | undefined
}

/** Makes infos of objects. Source: cli-runtime pkg/resource/mapper.go. */
export class ObjectMapper {
  readonly #parts: MapperParts

  constructor(parts: MapperParts) {
    this.#parts = parts
  }

  /** The info of an object of a file. @throws Error that names the source */
  async infoForData(object: Unstructured, source: string): Promise<Info> {
    try {
      checkObject(object)
      await this.#check(object)
    } catch (err) {
      throw new Error(`unable to decode ${goQuoted(source)}: ${(err as Error).message}`, { cause: err })
    }
    const { name = "", namespace = "" } = object.metadata ?? {}
    if (this.#parts.isLocal()) return this.#info(object, { source })
    const { group, version } = parseGroupVersion(object.apiVersion ?? "")
    const restMapper = await this.#parts.restMapper()
    try {
      const mapping = await restMapper.restMapping(group, object.kind ?? "", version)
      return this.#info(object, { source, mapping, client: await this.#parts.client() })
    } catch (err) {
      if (err instanceof NoKindMatchError)
        throw new Error(
          `resource mapping not found for name: ${goQuoted(name)} namespace: ${goQuoted(namespace)} from ${goQuoted(source)}: ${err.message}\nensure CRDs are installed first`,
          { cause: err },
        )
      throw new Error(`unable to recognize ${goQuoted(source)}: ${(err as Error).message}`, { cause: err })
    }
  }

  async #check(object: Unstructured): Promise<void> {
    const { scheme } = this.#parts
    if (scheme !== undefined) await (await import("./typed-scheme.ts")).checkTyped(object, scheme)
  }

  /**
   * Checks that the items of a list can be read into types; an item of an unknown kind is none until `infoForObject`.
   * @throws Aggregate
   */
  async checkItems(items: readonly Unstructured[]): Promise<void> {
    if (this.#parts.scheme === undefined) return
    const { isRegistered } = await import("./typed-scheme.ts")
    const errors: unknown[] = []
    for (const item of items)
      try {
        const { apiVersion = "", kind = "" } = item
        if (apiVersion === "" || isRegistered(apiVersion, kind)) await this.#check(item)
      } catch (err) {
        errors.push(err)
      }
    throwAggregate(errors)
  }

  /** The info of an object of a list. */
  async infoForObject(
    object: Unstructured,
    { source, resourceVersion }: { readonly source: string; readonly resourceVersion: string },
  ): Promise<Info> {
    checkObject(object)
    const { scheme } = this.#parts
    if (
      scheme !== undefined &&
      !(await import("./typed-scheme.ts")).isRegistered(object.apiVersion ?? "", object.kind!)
    )
      throw new Error(
        `unable to get type info from the object "*runtime.Unknown": no kind is registered for the type runtime.Unknown in scheme ${goQuoted(scheme)}`,
      )
    const of = resourceVersion === "" ? { source } : { source, resourceVersion }
    if (this.#parts.isLocal()) return this.#info(object, of)
    const { group, version } = parseGroupVersion(object.apiVersion ?? "")
    const restMapper = await this.#parts.restMapper()
    try {
      const mapping = await restMapper.restMapping(group, object.kind ?? "", version)
      return this.#info(object, { ...of, mapping, client: await this.#parts.client() })
    } catch (err) {
      throw new Error(`unable to recognize ${(err as Error).message}`, { cause: err })
    }
  }

  #info(object: Unstructured, parts: Omit<ConstructorParameters<typeof Info>[0], "object">): Info {
    const { name, namespace, resourceVersion } = object.metadata ?? {}
    return new Info({ name, namespace, resourceVersion, ...parts, object, transform: this.#parts.transform() })
  }
}

/** @throws Error in the words of apimachinery's decoder of unstructured objects */
export function checkObject(object: Unstructured): void {
  if ((object.kind ?? "") === "") throw new Error(`Object 'Kind' is missing in '${JSON.stringify(object)}'`)
}
