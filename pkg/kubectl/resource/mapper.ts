import { goQuoted } from "../../apimachinery/go/go-text.ts"
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

  /** The info of an object of a list. */
  async infoForObject(
    object: Unstructured,
    { source, resourceVersion }: { readonly source: string; readonly resourceVersion: string },
  ): Promise<Info> {
    checkObject(object)
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
