/** A server that speaks as much of S3 as snapshots need, and refuses a request whose signature is not right. */
import { createHash, createHmac } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import type { S3Config } from "./s3-client.ts"

const [ACCESS, SECRET] = ["the-access-key", "the-secret-key"]
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest()

/**
 * Whether a request was signed with the secret key, worked out anew. Source: AWS, Signature Version 4, "Create a signed
 * AWS API request".
 */
function isSigned({ method, url = "", headers }: IncomingMessage, bodyHash: string): boolean {
  const [, scope = "", names = "", signature] =
    /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)/.exec(headers.authorization ?? "") ?? []
  const [path = "", query = ""] = url.split("?")
  const canonical = [
    method,
    path,
    query.split("&").sort().join("&"),
    ...names.split(";").map((name) => `${name}:${String(headers[name])}`),
    "",
    names,
    headers["x-amz-content-sha256"],
  ].join("\n")
  const hash = (content: string | Buffer) => createHash("sha256").update(content).digest("hex")
  const toSign = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hash(canonical)].join("\n")
  const key = scope.split("/").reduce<string | Buffer>((above, part) => hmac(above, part), `AWS4${SECRET}`)
  return hmac(key, toSign).toString("hex") === signature && bodyHash === headers["x-amz-content-sha256"]
}

export class S3Server implements AsyncDisposable {
  readonly objects = new Map<string, Buffer>()
  /** Uploads that have begun and not ended, by their id. */
  readonly uploads = new Map<string, Begun>()
  /** Method and path with query of every request. */
  readonly seen: string[] = []
  /** Returns the answer to a request instead of the server's own; undefined for the server's own. */
  refuse: (request: IncomingMessage) => { readonly status: number; readonly content: string } | undefined = () =>
    undefined
  /** Whether contents are only counted and not kept. */
  isForgetful = false
  readonly server = createServer((request, response) => {
    this.#serve(request).then(
      ({ status, content, headers = {} }) => {
        response.writeHead(status, { "content-length": content.length, ...headers })
        response.end(request.method === "HEAD" ? undefined : content)
      },
      () => response.destroy(),
    )
  })

  async start(): Promise<S3Config> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve))
    return {
      endpoint: `127.0.0.1:${(this.server.address() as AddressInfo).port}`,
      region: "us-east-1",
      bucket: "bucket",
      folder: "a b/c",
      accessKey: ACCESS,
      secretKey: SECRET,
      insecure: true,
      skipVerify: false,
      timeoutMs: 5000,
    }
  }

  async #serve(request: IncomingMessage): Promise<Told> {
    const hash = createHash("sha256")
    const received: Buffer[] = []
    let bytes = 0
    for await (const part of request as AsyncIterable<Buffer>) {
      hash.update(part)
      bytes += part.length
      if (!this.isForgetful || bytes < 65_536) received.push(part)
    }
    const body = Buffer.concat(received)
    const { method } = request
    this.seen.push(`${method} ${request.url}`)
    const refused = this.refuse(request)
    if (refused !== undefined) return told(refused.status, refused.content)
    if (!isSigned(request, hash.digest("hex")))
      return told(403, "<Error><Code>SignatureDoesNotMatch</Code><Message>no &amp; no</Message></Error>")
    const { pathname, searchParams } = new URL(request.url ?? "", "http://x")
    const key = decodeURIComponent(pathname).replace(/^\/bucket\//, "")
    const uploadId = searchParams.get("uploadId")
    if (uploadId !== null) return this.#ofUpload(method, uploadId, Number(searchParams.get("partNumber")), body)
    if (searchParams.has("uploads")) return method === "POST" ? this.#begin(key) : told(200, this.#listUploads())
    if (method === "PUT") this.objects.set(key, body)
    if (method === "DELETE") return told(this.objects.delete(key) ? 200 : 204)
    if (method === "GET" && key === "") return told(200, this.#listed(searchParams))
    const found = this.objects.get(key)
    if (found === undefined) return told(404)
    const [, from = "0", to = String(found.length - 1)] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? "") ?? []
    if (method === "HEAD") return { ...told(200), headers: { "content-length": found.length } }
    return told(request.headers.range === undefined ? 200 : 206, found.subarray(Number(from), Number(to) + 1))
  }

  #begin(key: string): Told {
    const id = `upload/${this.uploads.size + 1}+`
    this.uploads.set(id, { key, parts: [], began: new Date().toISOString() })
    return told(200, `<R><UploadId>${id}</UploadId></R>`)
  }

  #ofUpload(method: string | undefined, id: string, number: number, body: Buffer): Told {
    const upload = this.uploads.get(id)
    if (upload === undefined) return told(404, "<Error><Code>NoSuchUpload</Code></Error>")
    if (method === "PUT") {
      upload.parts[number - 1] = body
      return { ...told(200), headers: { etag: `"part-${number}"` } }
    }
    this.uploads.delete(id)
    if (method === "DELETE") return told(204)
    const tags = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>"part-(\d+)"<\/ETag>/g)]
    if (tags.length !== upload.parts.length || tags.some(([, n, tag], i) => n !== tag || Number(n) !== i + 1))
      return told(400, "<Error><Code>InvalidPart</Code></Error>")
    this.objects.set(upload.key, Buffer.concat(upload.parts))
    return told(200, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
  }

  #listUploads(): string {
    const uploads = [...this.uploads].map(
      ([id, { key, began }]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${began}</Initiated></Upload>`,
    )
    return `<R>${uploads.join("")}</R>`
  }

  /** One object on a page. */
  #listed(query: URLSearchParams): string {
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(query.get("prefix") ?? "")).sort()
    const at = Number(query.get("continuation-token") ?? 0)
    const content = keys
      .slice(at, at + 1)
      .map(
        (key) =>
          `<Contents><Key>${key.replaceAll("&", "&amp;")}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>` +
          `<Size>${this.objects.get(key)!.length}</Size></Contents>`,
      )
    const next = at + 1 < keys.length ? `<NextContinuationToken>${at + 1}</NextContinuationToken>` : ""
    return `<ListBucketResult><IsTruncated>${next !== ""}</IsTruncated>${content.join("")}${next}</ListBucketResult>`
  }

  [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    this.server.closeAllConnections()
    return closed
  }
}

interface Begun {
  readonly key: string
  readonly parts: Buffer[]
  readonly began: string
}

interface Told {
  readonly status: number
  readonly content: Buffer
  readonly headers?: Readonly<Record<string, string | number>>
}

const told = (status: number, content: string | Buffer = ""): Told => ({ status, content: Buffer.from(content) })
