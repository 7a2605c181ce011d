import { isNotFound } from "../errors/status-error.ts"
import { DISCOVERY_TIMEOUT_MS } from "./discovery.ts"
import { goParsed } from "./json.ts"
import type { RestClient } from "./rest-client.ts"
import type { GroupVersionKind } from "./rest-mapper.ts"
import type { SwaggerDocument } from "../explain/explain-v2.ts"
import type { OpenApiSchema } from "../patch/openapi-meta.ts"

/** The document of one version of a group, as far as kubectl reads it. */
export interface OpenApiDocument {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, OpenApiKindSchema>> }
}

export interface OpenApiOperation {
  readonly parameters?: readonly { readonly name?: string; readonly in?: string }[]
  readonly requestBody?: { readonly content?: Readonly<Record<string, unknown>> }
  readonly "x-kubernetes-group-version-kind"?: GroupVersionKind
}

export interface OpenApiKindSchema extends OpenApiSchema {
  readonly "x-kubernetes-group-version-kind"?: readonly GroupVersionKind[]
}

/** The server has no document for this version of a group. */
export class GroupVersionNotFound extends Error {
  override readonly name = "GroupVersionNotFound"
}

/** The OpenAPI documents of a server. Source: client-go openapi3/root.go. */
export class OpenApi {
  readonly #client: RestClient
  #swagger: Promise<SwaggerDocument> | undefined
  #paths: Promise<Readonly<Record<string, string>>> | undefined
  readonly #documents = new Map<string, Promise<OpenApiDocument>>()

  constructor(client: RestClient) {
    this.#client = client
  }

  /** @throws GroupVersionNotFound */
  document({ group, version }: Pick<GroupVersionKind, "group" | "version">): Promise<OpenApiDocument> {
    const path = group === "" ? `api/${version}` : `apis/${group}/${version}`
    let document = this.#documents.get(path)
    if (document === undefined) this.#documents.set(path, (document = this.#read(path)))
    return document
  }

  /** The addresses of the documents by `api/v1` or `apis/<group>/<version>`. */
  paths(): Promise<Readonly<Record<string, string>>> {
    return (this.#paths ??= this.#readPaths())
  }

  /** The one document of version 2 of OpenAPI, which has all kinds. */
  swagger(): Promise<SwaggerDocument> {
    return (this.#swagger ??= this.#readSwagger())
  }

  async #readSwagger(): Promise<SwaggerDocument> {
    const { body } = await this.#client.raw({
      method: "GET",
      path: "/openapi/v2",
      accept: "application/json",
      timeoutMs: DISCOVERY_TIMEOUT_MS,
    })
    return goParsed(body) as SwaggerDocument
  }

  async #read(path: string): Promise<OpenApiDocument> {
    const paths = await this.paths()
    if (!Object.hasOwn(paths, path))
      throw new GroupVersionNotFound(`GroupVersion (${path}) not found as OpenAPI V3 path`)
    const { body } = await this.#client.raw({
      method: "GET",
      path: paths[path]!,
      accept: "application/json",
      timeoutMs: DISCOVERY_TIMEOUT_MS,
    })
    return goParsed(body) as OpenApiDocument
  }

  async #readPaths(): Promise<Readonly<Record<string, string>>> {
    const { body } = await this.#client.raw({
      method: "GET",
      path: "/openapi/v3",
      accept: "application/json, */*",
      timeoutMs: DISCOVERY_TIMEOUT_MS,
    })
    const { paths } = goParsed(body) as { readonly paths?: Readonly<Record<string, { serverRelativeURL: string }>> }
    return Object.fromEntries(
      Object.entries(paths ?? {}).map(([path, { serverRelativeURL }]) => [path, serverRelativeURL]),
    )
  }
}

/** The PATCH of a kind in a document. */
export const patchOperation = (document: OpenApiDocument, kind: GroupVersionKind): OpenApiOperation | undefined =>
  Object.values(document.paths ?? {})
    .map(({ patch }) => patch)
    .find((patch) => {
      const of = patch?.["x-kubernetes-group-version-kind"]
      return of !== undefined && isSame(of, kind)
    })

const isSame = (a: GroupVersionKind, b: GroupVersionKind): boolean =>
  a.group === b.group && a.version === b.version && a.kind === b.kind

/** The schema of a kind. */
export const schemaOf = (document: OpenApiDocument, kind: GroupVersionKind): OpenApiKindSchema | undefined =>
  Object.values(document.components?.schemas ?? {}).find(
    (schema) => schema["x-kubernetes-group-version-kind"]?.some((one) => isSame(one, kind)) === true,
  )

/** Whether a server that was asked for OpenAPI does not serve it. */
export const isWithoutOpenApi = (err: unknown): boolean => isNotFound(err) || err instanceof GroupVersionNotFound
