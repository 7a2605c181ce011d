import { createHash } from "node:crypto"
import type * as documentMakers from "../../../pkg/apimachinery/openapi/documents.ts"
import type * as gnosticMakers from "../../../pkg/apimachinery/openapi/gnostic.ts"
import type * as mergers from "../../../pkg/apimachinery/openapi/merge.ts"
import type { ExtensionAnswer } from "../aggregator/ask.ts"
import type { RemoteOpenApi, RemoteV2 } from "../aggregator/openapi.ts"
import type { Schema } from "../../../pkg/apimachinery/openapi/schema.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { GIT_VERSION } from "../../../pkg/version/version.ts"

/** The OpenAPI documents of the kinds served now. */
export interface OpenApiDocuments {
  v2(accept: string | undefined, ifNoneMatch: string | undefined): Promise<Response>
  v3Index(): Promise<Response>
  /** Returns undefined when there is no document of that path. */
  v3(path: string, hash: string | undefined, ifNoneMatch: string | undefined): Promise<Response | undefined>
}

/** The parts that this server needs of the documents of extension API servers. */
export type OtherDocuments = Pick<RemoteOpenApi, "generation" | "v2" | "v3" | "v3Hashes">

/**
 * Creates the documents at their first request; they are dropped when kinds change. Of v3 documents only the hashes are
 * kept, because clients cache the documents under addresses that contain the hash. Source: kube-openapi pkg/handler and
 * pkg/handler3.
 */
export function createOpenApi(scheme: Scheme, others: OtherDocuments): () => Promise<OpenApiDocuments> {
  let made: { readonly generation: number; readonly documents: OpenApiDocuments } | undefined
  return async () => {
    // Loaded at the first request, to keep it out of the start.
    const makers = {
      ...(await import("../../../pkg/apimachinery/openapi/documents.ts")),
      ...(await import("../../../pkg/apimachinery/openapi/gnostic.ts")),
      ...(await import("../../../pkg/apimachinery/openapi/merge.ts")),
    }
    if (made?.generation !== scheme.generation)
      made = { generation: scheme.generation, documents: documentsOf(scheme, others, makers) }
    return made.documents
  }
}

type Makers = Pick<typeof documentMakers, "openApiV2" | "openApiV3"> &
  Pick<typeof gnosticMakers, "encodeGnostic" | "GNOSTIC_TYPE"> &
  Pick<typeof mergers, "merged">

interface Body {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly hash: string
}

function documentsOf(
  scheme: Scheme,
  others: OtherDocuments,
  { openApiV2, openApiV3, encodeGnostic, GNOSTIC_TYPE, merged }: Makers,
): OpenApiDocuments {
  const served: documentMakers.Served = {
    resources: scheme.resources,
    find: ({ group, version, kind }) => scheme.kind(group, version, kind),
    version: GIT_VERSION,
  }
  const v2Bodies = new Map<string, Body & { readonly generation: number }>()
  const documents = openApiV3(served)
  const hashes = new Map<string, string>()

  const v2Body = async (type: string): Promise<Body> => {
    const additions = await others.v2()
    const { generation } = others
    const known = v2Bodies.get(type)
    if (known?.generation === generation) return known
    const document = additions.reduce(added, openApiV2(served))
    const body = type === GNOSTIC_TYPE ? bodyOf(encodeGnostic(document)) : json(document)
    v2Bodies.set(type, { ...body, generation })
    return body
  }
  /**
   * Merges the document of an extension API server into `base`. A document that cannot be encoded in every form is left
   * out, so that the others are served.
   */
  const added = (base: Schema, { group, version, document }: RemoteV2): Schema => {
    try {
      const next = merged(base, { document, prefix: `/apis/${group}/${version}/` })
      encodeGnostic(next)
      return next
    } catch {
      return base
    }
  }
  const hashOf = (path: string, make: () => Schema): string => {
    const known = hashes.get(path) ?? json(make()).hash
    hashes.set(path, known)
    return known
  }

  return {
    async v2(accept, ifNoneMatch) {
      const type = (accept ?? "").includes("proto-openapi.spec.v2") ? GNOSTIC_TYPE : "application/json"
      const { bytes, hash } = await v2Body(type)
      return ifNoneMatch === `"${hash}"`
        ? unchanged(hash)
        : new Response(bytes, { headers: { "Content-Type": type, ETag: `"${hash}"`, Vary: "Accept" } })
    },
    async v3Index() {
      const foreign = await others.v3Hashes()
      const hashes = [...[...documents].map(([path, make]) => [path, hashOf(path, make)] as const), ...foreign]
      const paths = Object.fromEntries(
        hashes.map(([path, hash]) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }]),
      )
      return Response.json({ paths })
    },
    async v3(path, hash, ifNoneMatch) {
      const other = await others.v3(path)
      if (other !== undefined && "body" in other) return passedOn(other)
      const make = other === undefined ? documents.get(path) : () => other.document
      if (make === undefined) return undefined
      const current = other === undefined ? hashOf(path, make) : other.hash
      // The document has changed since the client read the index, so the client is redirected to the new one.
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

/** Passes on the response of an extension API server about one of its versions. */
function passedOn({ code, header, body }: ExtensionAnswer): Response | undefined {
  if (code !== 200) return undefined
  const etag = header("etag")
  const headers = { "Content-Type": "application/json", Vary: "Accept", ...(etag === undefined ? {} : { ETag: etag }) }
  return new Response(new Uint8Array(body), { headers })
}

const unchanged = (hash: string): Response => new Response(null, { status: 304, headers: { ETag: `"${hash}"` } })

const bodyOf = (bytes: Uint8Array): Body => ({
  bytes: new Uint8Array(bytes),
  hash: createHash("sha512").update(bytes).digest("hex").toUpperCase(),
})
const json = (document: Schema): Body => bodyOf(new TextEncoder().encode(JSON.stringify(document)))
