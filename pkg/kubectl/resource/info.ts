import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { isNotFound } from "../errors/status-error.ts"
import type { Unstructured } from "../rest/json.ts"
import { parseGroupVersion } from "../rest/json.ts"
import type { RestClient } from "../rest/rest-client.ts"
import { gvkText, gvrText, type RestMapping } from "../rest/rest-mapper.ts"
import { Helper, type RequestTransform } from "./helper.ts"

/** An object that a command works on, or the name of one. Source: cli-runtime pkg/resource/visitor.go (Info). */
export class Info {
  /** Undefined where the command works without a server. */
  readonly client: RestClient | undefined
  readonly #mapping: RestMapping | undefined
  namespace: string
  name: string
  /** The file, address or `STDIN` that the object is from; empty when it is from the server. */
  readonly source: string
  /** Undefined until it is read from the server. */
  object: Unstructured | undefined
  resourceVersion: string
  readonly subresource: string
  readonly #transform: RequestTransform | undefined

  constructor(parts: {
    readonly client?: RestClient | undefined
    readonly mapping?: RestMapping | undefined
    readonly namespace?: string | undefined
    readonly name?: string | undefined
    readonly source?: string
    readonly object?: Unstructured | undefined
    readonly resourceVersion?: string | undefined
    readonly subresource?: string
    readonly transform?: RequestTransform | undefined
  }) {
    this.client = parts.client
    this.#mapping = parts.mapping
    this.namespace = parts.namespace ?? ""
    this.name = parts.name ?? ""
    this.source = parts.source ?? ""
    this.object = parts.object
    this.resourceVersion = parts.resourceVersion ?? ""
    this.subresource = parts.subresource ?? ""
    this.#transform = parts.transform
  }

  /** @throws Error where the command works without a server */
  get mapping(): RestMapping {
    if (this.#mapping === undefined) throw new Error("the resource of a local object is unknown")
    return this.#mapping
  }

  get hasMapping(): boolean {
    return this.#mapping !== undefined
  }

  /** Requests for objects of this resource. */
  get helper(): Helper {
    if (this.client === undefined) throw new Error("a local object has no server")
    return new Helper(this.client, this.mapping, this.#transform)
  }

  get namespaced(): boolean {
    return this.#mapping?.namespaced ?? this.namespace !== ""
  }

  /** The object, which must have been read. */
  get loaded(): Unstructured {
    if (this.object === undefined) throw new Error(`${this.objectName} is not read`)
    return this.object
  }

  /** Reads the object from the server. @throws StatusError; that of the namespace where it is the namespace that is missing */
  async get(): Promise<void> {
    try {
      this.refresh(await this.helper.get(this.namespace, this.name, this.subresource))
    } catch (err) {
      if (isNotFound(err) && this.namespace !== "" && this.namespace !== "default") await this.#checkNamespace()
      throw err
    }
  }

  async #checkNamespace(): Promise<void> {
    try {
      await this.client!.object({ method: "GET", path: `/api/v1/namespaces/${this.namespace}` })
    } catch (err) {
      if (isNotFound(err)) throw err
    }
  }

  /** Takes an object that the server has returned. */
  refresh(object: Unstructured): void {
    const { metadata } = object
    if (metadata?.name !== undefined) this.name = metadata.name
    if (metadata?.namespace !== undefined) this.namespace = metadata.namespace
    this.resourceVersion = metadata?.resourceVersion ?? ""
    this.object = object
  }

  /** `pods/web`, for messages. */
  get objectName(): string {
    if (this.#mapping !== undefined) return `${this.#mapping.resource.resource}/${this.name}`
    const { group } = parseGroupVersion(this.object?.apiVersion ?? "")
    const kind = (this.object?.kind ?? "").toLowerCase()
    return group === "" ? `${kind}/${this.name}` : `${kind}.${group}/${this.name}\n`
  }

  /** Describes the object in a message. Source: cli-runtime Info.String. */
  get text(): string {
    const own = `Name: ${goQuoted(this.name)}, Namespace: ${goQuoted(this.namespace)}`
    if (this.#mapping === undefined) return own
    const { resource, kind } = this.#mapping
    return `Resource: ${goQuoted(gvrText(resource))}, GroupVersionKind: ${goQuoted(gvkText(kind))}\n${own}`
  }

  /** Sets the namespace, in the object too. */
  setNamespace(namespace: string): void {
    this.namespace = namespace
    if (this.object === undefined) return
    const { namespace: _, ...metadata } = this.object.metadata ?? {}
    this.object.metadata = namespace === "" ? metadata : { ...metadata, namespace }
  }
}
