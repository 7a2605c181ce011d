import { Buffer } from "node:buffer"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { isJsonObject } from "../../apimachinery/json/json-value.ts"
import { sleep } from "../../clock/clock.ts"
import type { Environment } from "../environment/environment.ts"
import { goPathError } from "../environment/files.ts"
import { UrlError } from "../errors/errors.ts"
import type { Unstructured } from "../rest/json.ts"
import { goJson } from "../rest/json.ts"
import { readDocuments } from "./documents.ts"
import type { ObjectMapper } from "./mapper.ts"
import type { Visitor } from "./visitor.ts"

/** Checks an object before it is sent, for `--validate`. `json` is the object as text. @throws Error */
export type ContentValidator = (json: string) => Promise<void>

/** The objects in a text. `source` names it in messages. */
export const textVisitor = (
  read: () => Promise<Uint8Array>,
  source: string,
  mapper: ObjectMapper,
  validate: ContentValidator | undefined,
): Visitor => ({
  async visit(visit, failed) {
    const text = decode(await read())
    const documents = readDocuments(text)
    for (;;) {
      let next: IteratorResult<unknown, void>
      try {
        next = documents.next()
      } catch (err) {
        throw new Error(`error parsing ${source}: ${(err as Error).message}`, { cause: err })
      }
      if (next.done === true) return
      const { value } = next
      if (value === null || value === undefined) continue
      if (validate !== undefined)
        try {
          await validate(goJson(value))
        } catch (err) {
          throw new Error(
            `error validating ${goQuoted(source)}: error validating data: ${(err as Error).message}; if you choose to ignore these errors, turn validation off with --validate=false`,
            { cause: err },
          )
        }
      let info
      try {
        if (!isJsonObject(value)) throw notAnObject(value, source)
        info = await mapper.infoForData(value as Unstructured, source)
      } catch (err) {
        if (failed === undefined) throw err
        failed(err)
        continue
      }
      await visit(info)
    }
  },
})

const notAnObject = (value: unknown, source: string): Error => {
  const type = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value
  return new Error(
    `unable to decode ${goQuoted(source)}: json: cannot unmarshal ${type} into Go value of type unstructured.detector`,
  )
}

/** Files of Windows may be UTF-16, with a mark at the beginning. */
function decode(bytes: Uint8Array): string {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes)
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes)
  return new TextDecoder().decode(bytes)
}

/** The objects in a file. */
export const fileVisitor = (
  { files }: Environment,
  path: string,
  mapper: ObjectMapper,
  validate: ContentValidator | undefined,
): Visitor =>
  textVisitor(
    async () => {
      try {
        return await files.read(path)
      } catch (err) {
        throw goPathError("open", path, err)
      }
    },
    path,
    mapper,
    validate,
  )

/** How often an address is tried, and how long between the tries in milliseconds. */
const ATTEMPTS = 3
const WAIT_MS = 1000

/** The objects at an address. Source: readHttpWithRetries. */
export const urlVisitor = (
  environment: Environment,
  url: URL,
  mapper: ObjectMapper,
  validate: ContentValidator | undefined,
): Visitor => textVisitor(() => download(environment, url), url.href, mapper, validate)

const MOST_REDIRECTS = 10

async function download(environment: Environment, url: URL): Promise<Uint8Array> {
  let failure: unknown
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (attempt > 0) await sleep(environment.clock, WAIT_MS)
    let status: number
    try {
      const response = await getFollowing(environment, url)
      status = response.status
      if (status === 200) return response.body
    } catch (err) {
      failure = new UrlError("Get", url.href, err as Error)
      continue
    }
    failure = new Error(
      `unable to read URL ${goQuoted(url.href)}, server reported ${status} ${statusText(status)}, status code=${status}`,
    )
    if (status < 500) break
  }
  throw failure
}

async function getFollowing(
  environment: Environment,
  from: URL,
): Promise<{ readonly status: number; readonly body: Uint8Array }> {
  let url = from
  for (let redirects = 0; ; redirects++) {
    const response = await environment.connect.send({
      method: "GET",
      url,
      headers: { "User-Agent": "Go-http-client/1.1" },
      tls: {},
    })
    const location = response.headers["location"]
    if (response.status >= 300 && response.status < 400 && location !== undefined) {
      response.cancel()
      if (redirects >= MOST_REDIRECTS) throw new Error("stopped after 10 redirects")
      url = new URL(location, url)
      continue
    }
    const parts: Uint8Array[] = []
    for await (const part of response.body) parts.push(part)
    return { status: response.status, body: Buffer.concat(parts) }
  }
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  410: "Gone",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
}

const statusText = (status: number): string => STATUS_TEXTS[status] ?? ""
