import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { isBadRequest, isNotFound, isResourceExpired } from "../errors/status-error.ts"
import { goJson, groupVersionText, isList, type Unstructured } from "../rest/json.ts"
import { listItems } from "./list-items.ts"
import { checkName, pathSegment, type RestClient } from "../rest/rest-client.ts"
import type { RestRequest } from "../rest/rest-request.ts"
import { gvrText, type RestMapping } from "../rest/rest-mapper.ts"
import type { WatchEvent } from "../rest/watch-events.ts"

/** What changes the requests of a command. */
export type RequestTransform = (request: RestRequest) => RestRequest

export interface ListOptions {
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly limit?: number
  readonly continue?: string
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: string
  readonly watch?: boolean
  readonly allowWatchBookmarks?: boolean
  /** Asks for what there is as events, which a bookmark ends (KEP 3157). */
  readonly initialEvents?: boolean
  readonly timeoutSeconds?: number
}

/** What a write may ask for. */
export interface WriteOptions {
  readonly fieldManager?: string
  /** `Ignore`, `Warn` or `Strict`. */
  readonly fieldValidation?: string
  /** Whether the server shall do all but keep the change. */
  readonly serverDryRun?: boolean
  readonly subresource?: string
}

export type PatchType =
  | "application/json-patch+json"
  | "application/merge-patch+json"
  | "application/strategic-merge-patch+json"
  | "application/apply-patch+yaml"

/** Requests for objects of one resource. Source: cli-runtime pkg/resource/helper.go. */
export class Helper {
  readonly #client: RestClient
  readonly #mapping: RestMapping
  readonly #transform: RequestTransform

  constructor(client: RestClient, mapping: RestMapping, transform: RequestTransform = (request) => request) {
    this.#client = client
    this.#mapping = mapping
    this.#transform = transform
  }

  /** The path of the resource, or of one of its objects. @throws Error for a name that cannot be in a path */
  path(namespace: string, name?: string, subresource = ""): string {
    const { group, version, resource } = this.#mapping.resource
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`
    const scope = this.#mapping.namespaced && namespace !== "" ? `/namespaces/${pathSegment(namespace)}` : ""
    if (name !== undefined) checkName(name)
    const object = name === undefined ? "" : `/${pathSegment(name)}`
    return `${root}${scope}/${resource}${object}${subresource === "" ? "" : `/${subresource}`}`
  }

  get(namespace: string, name: string, subresource = ""): Promise<Unstructured> {
    return this.#object({ method: "GET", path: this.path(namespace, name, subresource) })
  }

  /** Lists objects, each with its kind, which servers may leave out. */
  async list(namespace: string, options: ListOptions = {}): Promise<Unstructured> {
    try {
      const list = await this.#object({ method: "GET", path: this.path(namespace), query: listQuery(options) })
      return isList(list) ? { ...list, items: listItems(list) } : list
    } catch (err) {
      throw this.#explained(err, options)
    }
  }

  watch(
    namespace: string,
    options: ListOptions = {},
    signal?: AbortSignal,
  ): AsyncGenerator<WatchEvent, void, undefined> {
    return this.#client.watch(
      this.#transform({
        method: "GET",
        path: this.path(namespace),
        query: listQuery({ ...options, watch: true }),
        ...(signal === undefined ? {} : { signal }),
      }),
    )
  }

  watchSingle(
    namespace: string,
    name: string,
    resourceVersion: string,
    signal?: AbortSignal,
  ): AsyncGenerator<WatchEvent, void, undefined> {
    return this.watch(namespace, { resourceVersion, fieldSelector: `metadata.name=${name}` }, signal)
  }

  create(namespace: string, object: Unstructured, options: WriteOptions = {}): Promise<Unstructured> {
    const path =
      this.path(namespace) +
      (options.subresource === undefined || options.subresource === "" ? "" : `/${options.subresource}`)
    return this.#object({ method: "POST", path, query: writeQuery(options), body: `${goJson(object)}\n` })
  }

  /** Replaces an object, whatever its version, as long as it does not say one itself. */
  async overwrite(
    namespace: string,
    name: string,
    object: Unstructured,
    options: WriteOptions = {},
  ): Promise<Unstructured> {
    if ((object.metadata?.resourceVersion ?? "") !== "") return this.replace(namespace, name, object, options)
    let resourceVersion: string | undefined
    try {
      resourceVersion = (await this.get(namespace, name, options.subresource)).metadata?.resourceVersion
    } catch {
      // One that is not there is created by the request, where its kind allows that; otherwise it says what is wrong.
    }
    const metadata = { ...object.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) }
    return this.replace(namespace, name, { ...object, metadata }, options)
  }

  replace(namespace: string, name: string, object: Unstructured, options: WriteOptions = {}): Promise<Unstructured> {
    const path = this.path(namespace, name, options.subresource)
    return this.#object({ method: "PUT", path, query: writeQuery(options), body: `${goJson(object)}\n` })
  }

  patch(
    namespace: string,
    name: string,
    type: PatchType,
    body: string,
    options: WriteOptions & { readonly force?: boolean } = {},
  ): Promise<Unstructured> {
    return this.#object({
      method: "PATCH",
      path: this.path(namespace, name, options.subresource),
      query: { ...writeQuery(options), ...(options.force === undefined ? {} : { force: String(options.force) }) },
      body,
      contentType: type,
    })
  }

  /** Deletes an object. `options` is the body, a DeleteOptions without kind and version. */
  delete(
    namespace: string,
    name: string,
    options: Readonly<Record<string, unknown>> = {},
    { serverDryRun = false } = {},
  ): Promise<Unstructured> {
    const { version, group } = this.#mapping.resource
    const body = {
      kind: "DeleteOptions",
      apiVersion: groupVersionText(group, version),
      ...options,
      ...(serverDryRun ? { dryRun: ["All"] } : {}),
    }
    return this.#object({
      method: "DELETE",
      path: this.path(namespace, name),
      body: `${goJson(body, { sorted: false })}\n`,
    })
  }

  #object(request: RestRequest): Promise<Unstructured> {
    return this.#client.object(this.#transform(request))
  }

  /** Says which list failed. Source: EnhanceListError. */
  #explained(err: unknown, { labelSelector = "", fieldSelector = "" }: ListOptions): unknown {
    if (isResourceExpired(err) || !(isBadRequest(err) || isNotFound(err))) return err
    const subject = goQuoted(gvrText(this.#mapping.resource))
    const what =
      labelSelector === "" && fieldSelector === ""
        ? `Unable to list ${subject}`
        : `Unable to find ${subject} that match label selector ${goQuoted(labelSelector)}, field selector ${goQuoted(fieldSelector)}`
    return err.withMessage(`${what}: ${err.message}`)
  }
}

const orAbsent = (value: string | undefined): string | undefined => (value === "" ? undefined : value)

const listQuery = (options: ListOptions): NonNullable<RestRequest["query"]> => ({
  labelSelector: orAbsent(options.labelSelector),
  fieldSelector: orAbsent(options.fieldSelector),
  limit: (options.limit ?? 0) === 0 ? undefined : String(options.limit),
  continue: orAbsent(options.continue),
  resourceVersion: orAbsent(options.resourceVersion),
  resourceVersionMatch: options.initialEvents === true ? "NotOlderThan" : orAbsent(options.resourceVersionMatch),
  sendInitialEvents: options.initialEvents === true ? "true" : undefined,
  watch: options.watch === true ? "true" : undefined,
  allowWatchBookmarks: options.allowWatchBookmarks === true ? "true" : undefined,
  timeoutSeconds: options.timeoutSeconds === undefined ? undefined : String(options.timeoutSeconds),
})

const writeQuery = ({
  fieldManager,
  fieldValidation,
  serverDryRun = false,
}: WriteOptions): NonNullable<RestRequest["query"]> => ({
  dryRun: serverDryRun ? "All" : undefined,
  fieldManager: orAbsent(fieldManager),
  fieldValidation: orAbsent(fieldValidation),
})
