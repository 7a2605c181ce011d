import { createHash } from "node:crypto"
import type * as documentMakers from "../../../pkg/apimachinery/openapi/documents.ts"
import type * as gnosticMakers from "../../../pkg/apimachinery/openapi/gnostic.ts"
import type * as mergers from "../../../pkg/apimachinery/openapi/merge.ts"
import type * as stepMakers from "../../../pkg/apimachinery/openapi/steps.ts"
import { loaded, type Clock } from "../../../pkg/clock/clock.ts"
import type { ExtensionAnswer } from "../aggregator/ask.ts"
import type { RemoteOpenApi, RemoteV2 } from "../aggregator/openapi.ts"
import type { Schema } from "../../../pkg/apimachinery/openapi/schema.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { GIT_VERSION } from "../../../pkg/version/version.ts"
import { inSteps } from "../../../pkg/clock/in-steps.ts"

/** How long a client may keep a document whose address has its hash, as upstream says. */
const YEAR_MS = 365 * 24 * 60 * 60 * 1000

/** The OpenAPI documents of the kinds served now. */
export interface OpenApiDocuments {
  v2(accept: string | undefined, ifNoneMatch: string | undefined): Promise<Response>
  v3Index(ifNoneMatch: string | undefined): Promise<Response>
  /** Returns undefined when there is no document of that path. */
  v3(path: string, hash: string | undefined, ifNoneMatch: string | undefined): Promise<Response | undefined>
}

/** The parts that this server needs of the documents of extension API servers. */
export type OtherDocuments = Pick<RemoteOpenApi, "generation" | "v2" | "v3" | "v3Hashes">

/**
 * Creates the documents at their first request; they are dropped when kinds change. Of v3 documents only the hashes are
 * kept, because clients cache the documents under addresses that contain the hash. With thousands of custom resources a
 * document takes seconds, in which other requests are served. Source: kube-openapi pkg/handler and pkg/handler3.
 */
export function createOpenApi(
  scheme: Scheme,
  others: OtherDocuments,
  clock: Pick<Clock, "now" | "monotonic" | "afterTurn" | "stillDuring">,
): () => Promise<OpenApiDocuments> {
  let made: { readonly generation: number; readonly documents: OpenApiDocuments } | undefined
  return async () => {
    // Loaded at the first request, to keep it out of the start.
    const [documents, gnostic, merge, steps] = await loaded(
      clock,
      Promise.all([
        import("../../../pkg/apimachinery/openapi/documents.ts"),
        import("../../../pkg/apimachinery/openapi/gnostic.ts"),
        import("../../../pkg/apimachinery/openapi/merge.ts"),
        import("../../../pkg/apimachinery/openapi/steps.ts"),
      ]),
    )
    const makers = { ...documents, ...gnostic, ...merge, ...steps }
    if (made?.generation !== scheme.generation)
      made = { generation: scheme.generation, documents: documentsOf(scheme, others, clock, makers) }
    return made.documents
  }
}

type Makers = Pick<typeof documentMakers, "makingOpenApiV2" | "makingOpenApiV3"> &
  Pick<typeof stepMakers, "encoding"> &
  Pick<typeof gnosticMakers, "encodeGnostic" | "GNOSTIC_TYPE"> &
  Pick<typeof mergers, "merged">

type Make = () => Promise<Schema>

interface Body {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly hash: string
}

function documentsOf(
  scheme: Scheme,
  others: OtherDocuments,
  clock: Pick<Clock, "now" | "monotonic" | "afterTurn">,
  { makingOpenApiV2, makingOpenApiV3, encoding, encodeGnostic, GNOSTIC_TYPE, merged }: Makers,
): OpenApiDocuments {
  const served: documentMakers.Served = {
    resources: scheme.resources,
    find: ({ group, version, kind }) => scheme.kind(group, version, kind),
    version: GIT_VERSION,
  }
  const v2Bodies = new Map<string, { readonly generation: number; readonly body: Promise<Body> }>()
  const documents = makingOpenApiV3(served)
  const hashes = new Map<string, Promise<string>>()

  /** Requests at the same time wait for the same body. */
  const v2Body = async (type: string): Promise<Body> => {
    const additions = await others.v2()
    const { generation } = others
    const known = v2Bodies.get(type)
    if (known?.generation === generation) return known.body
    const make = async (): Promise<Body> => {
      const document = additions.reduce(added, await inSteps(makingOpenApiV2(served), clock))
      return type === GNOSTIC_TYPE ? bodyOf(encodeGnostic(document)) : json(document)
    }
    const body = make()
    v2Bodies.set(type, { body, generation })
    body.catch(() => v2Bodies.delete(type))
    return body
  }
  const json = async (document: Schema): Promise<Body> => {
    const pieces: Uint8Array[] = []
    const hash = createHash("sha512")
    await inSteps(
      encoding(document, (bytes) => {
        pieces.push(bytes)
        hash.update(bytes)
      }),
      clock,
    )
    return { bytes: Buffer.concat(pieces), hash: hash.digest("hex").toUpperCase() }
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
  const hashOf = (path: string, make: Make): Promise<string> => {
    let hash = hashes.get(path)
    if (hash === undefined) {
      hash = (async () => (await json(await make())).hash)()
      hashes.set(path, hash)
      hash.catch(() => hashes.delete(path))
    }
    return hash
  }

  return {
    async v2(accept, ifNoneMatch) {
      const type = (accept ?? "").includes("proto-openapi.spec.v2") ? GNOSTIC_TYPE : "application/json"
      const { bytes, hash } = await v2Body(type)
      return ifNoneMatch === `"${hash}"`
        ? unchanged({ ETag: `"${hash}"`, Vary: "Accept" })
        : new Response(bytes, { headers: { "Content-Type": type, ETag: `"${hash}"`, Vary: "Accept" } })
    },
    async v3Index(ifNoneMatch) {
      const foreign = await others.v3Hashes()
      const own: (readonly [string, string])[] = []
      for (const [path, make] of documents) own.push([path, await hashOf(path, () => inSteps(make(), clock))])
      const paths = Object.fromEntries(
        [...own, ...foreign].map(([path, hash]) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }]),
      )
      const text = JSON.stringify({ paths })
      const hash = hashOfBytes(text)
      return ifNoneMatch === `"${hash}"`
        ? unchanged({ ETag: `"${hash}"` })
        : new Response(text, { headers: { "Content-Type": "application/json", ETag: `"${hash}"` } })
    },
    async v3(path, hash, ifNoneMatch) {
      const other = await others.v3(path)
      if (other !== undefined && "body" in other) return passedOn(other, hash, clock.now())
      const steps = documents.get(path)
      if (other === undefined && steps === undefined) return undefined
      const make: Make = async () => (other === undefined ? inSteps(steps!(), clock) : other.document)
      const current = other === undefined ? await hashOf(path, make) : other.hash
      // The document has changed since the client read the index, so the client is redirected to the new one.
      if (hash !== undefined && hash !== current)
        return new Response(null, { status: 301, headers: { Location: `/openapi/v3/${path}?hash=${current}` } })
      const headers = { ETag: `"${current}"`, Vary: "Accept", ...keeping(clock.now(), hash) }
      if (ifNoneMatch === `"${current}"`) return unchanged(headers)
      return new Response((await json(await make())).bytes, {
        headers: { "Content-Type": "application/json", ...headers },
      })
    },
  }
}

/**
 * The headers that let a client keep a document for a year without asking again, where its address has its hash. `now`
 * is in milliseconds since the epoch.
 */
const keeping = (now: number, hash: string | undefined): Readonly<Record<string, string>> =>
  hash === undefined ? {} : { "Cache-Control": "public, immutable", Expires: new Date(now + YEAR_MS).toUTCString() }

/** Passes on the response of an extension API server about one of its versions. `hash` is what the client asks for. */
function passedOn(
  { code, header, body }: ExtensionAnswer,
  hash: string | undefined,
  now: number,
): Response | undefined {
  if (code !== 200) return undefined
  const etag = header("etag")
  // Under the address of an older document, this one must not be kept.
  const kept = etag === `"${hash}"` ? keeping(now, hash) : {}
  const headers = { "Content-Type": "application/json", Vary: "Accept", ...(etag === undefined ? {} : { ETag: etag }) }
  return new Response(new Uint8Array(body), { headers: { ...headers, ...kept } })
}

const unchanged = (headers: Readonly<Record<string, string>>): Response => new Response(null, { status: 304, headers })

const hashOfBytes = (bytes: Uint8Array | string): string =>
  createHash("sha512").update(bytes).digest("hex").toUpperCase()

const bodyOf = (bytes: Uint8Array): Body => ({ bytes: new Uint8Array(bytes), hash: hashOfBytes(bytes) })
