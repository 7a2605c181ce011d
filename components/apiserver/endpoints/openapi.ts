import { createHash } from "node:crypto"
import type * as documentMakers from "../../../pkg/apimachinery/openapi/documents.ts"
import type * as gnosticMakers from "../../../pkg/apimachinery/openapi/gnostic.ts"
import type { Schema } from "../../../pkg/apimachinery/openapi/schema.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { GIT_VERSION } from "../../../pkg/version/version.ts"

/** The OpenAPI documents of what is served now, as answers. */
export interface OpenApiDocuments {
  v2(accept: string | undefined, ifNoneMatch: string | undefined): Promise<Response>
  v3Index(): Response
  /** Undefined when there is no document of that path. */
  v3(path: string, hash: string | undefined, ifNoneMatch: string | undefined): Response | undefined
}

/**
 * Documents are made when first asked for and forgotten when kinds come or go. Of the v3 ones only the hashes are kept:
 * clients hold the documents themselves, under addresses that carry the hash. Source: kube-openapi pkg/handler and
 * pkg/handler3.
 */
export function createOpenApi(scheme: Scheme): () => Promise<OpenApiDocuments> {
  let made: { readonly generation: number; readonly documents: OpenApiDocuments } | undefined
  return async () => {
    // Loaded with the first request: no start needs it.
    const makers = {
      ...(await import("../../../pkg/apimachinery/openapi/documents.ts")),
      ...(await import("../../../pkg/apimachinery/openapi/gnostic.ts")),
    }
    if (made?.generation !== scheme.generation)
      made = { generation: scheme.generation, documents: documentsOf(scheme, makers) }
    return made.documents
  }
}

type Makers = Pick<typeof documentMakers, "openApiV2" | "openApiV3"> &
  Pick<typeof gnosticMakers, "encodeGnostic" | "GNOSTIC_TYPE">

interface Body {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly hash: string
}

function documentsOf(scheme: Scheme, { openApiV2, openApiV3, encodeGnostic, GNOSTIC_TYPE }: Makers): OpenApiDocuments {
  const served: documentMakers.Served = {
    resources: scheme.resources,
    find: ({ group, version, kind }) => scheme.kind(group, version, kind),
    version: GIT_VERSION,
  }
  const v2Bodies = new Map<string, Body>()
  const documents = openApiV3(served)
  const hashes = new Map<string, string>()

  const v2Body = (type: string): Body => {
    const known = v2Bodies.get(type)
    if (known !== undefined) return known
    const document = openApiV2(served)
    const body = type === GNOSTIC_TYPE ? bodyOf(encodeGnostic(document)) : json(document)
    v2Bodies.set(type, body)
    return body
  }
  const hashOf = (path: string, make: () => Schema): string => {
    const known = hashes.get(path) ?? json(make()).hash
    hashes.set(path, known)
    return known
  }

  return {
    v2(accept, ifNoneMatch) {
      const type = (accept ?? "").includes("proto-openapi.spec.v2") ? GNOSTIC_TYPE : "application/json"
      const { bytes, hash } = v2Body(type)
      return Promise.resolve(
        ifNoneMatch === `"${hash}"`
          ? unchanged(hash)
          : new Response(bytes, { headers: { "Content-Type": type, ETag: `"${hash}"`, Vary: "Accept" } }),
      )
    },
    v3Index() {
      const paths = Object.fromEntries(
        [...documents].map(([path, make]) => [
          path,
          { serverRelativeURL: `/openapi/v3/${path}?hash=${hashOf(path, make)}` },
        ]),
      )
      return Response.json({ paths })
    },
    v3(path, hash, ifNoneMatch) {
      const make = documents.get(path)
      if (make === undefined) return undefined
      const current = hashOf(path, make)
      // The document has changed since the client saw the index: it is sent to where the new one is.
      if (hash !== undefined && hash !== current)
        return new Response(null, { status: 301, headers: { Location: `/openapi/v3/${path}?hash=${current}` } })
      if (ifNoneMatch === `"${current}"`) return unchanged(current)
      const headers = {
        "Content-Type": "application/json",
        ETag: `"${current}"`,
        Vary: "Accept",
        ...(hash === undefined ? {} : { "Cache-Control": "public, immutable" }),
      }
      return new Response(json(make()).bytes, { headers })
    },
  }
}

const unchanged = (hash: string): Response => new Response(null, { status: 304, headers: { ETag: `"${hash}"` } })

const bodyOf = (bytes: Uint8Array): Body => ({
  bytes: new Uint8Array(bytes),
  hash: createHash("sha512").update(bytes).digest("hex").toUpperCase(),
})
const json = (document: Schema): Body => bodyOf(new TextEncoder().encode(JSON.stringify(document)))
