import { Buffer } from "node:buffer"
import { join } from "node:path"
import { passOn } from "../../../runtime/http/pass-on.ts"
import type { ServerAnswer, ServerRequest } from "../../../runtime/http/server-request.ts"
import type { FileStat, Files } from "../../environment/files.ts"
import { answerText, htmlEscape } from "./answers.ts"
import { contentTypeOf } from "./content-type.ts"
import { rangeOf } from "./ranges.ts"

/** Serves the files below a folder. Source of the rules: Go net/http (FileServer). */
export class StaticFiles {
  readonly #files: Files
  readonly #folder: string

  constructor(files: Files, folder: string) {
    this.#files = files
    this.#folder = folder
  }

  /** `path` begins with `/`, is clean and escaped. */
  async serve(request: ServerRequest, answer: ServerAnswer, path: string, query: string): Promise<void> {
    const name = decoded(path)
    if (name === undefined || name.includes("\0") || name.split("/").includes(".."))
      return answerText(answer, 404, "404 page not found")
    if (name.endsWith("/index.html")) return moved(answer, `./${query}`)
    const file = join(this.#folder, name)
    let found: FileStat | undefined
    try {
      found = await this.#files.stat(file)
    } catch {
      return answerText(answer, 403, "403 Forbidden")
    }
    if (found === undefined) return answerText(answer, 404, "404 page not found")
    const last = path.slice(path.lastIndexOf("/", path.length - 2) + 1)
    if (found.isDirectory && !name.endsWith("/")) return moved(answer, `${last}/${query}`)
    if (!found.isDirectory && name.endsWith("/")) return moved(answer, `../${last.slice(0, -1)}${query}`)
    if (!found.isDirectory) return this.#file(request, answer, file, found)
    const index = await this.#files.stat(join(file, "index.html")).catch(() => undefined)
    if (index?.isFile === true) return this.#file(request, answer, join(file, "index.html"), index)
    return this.#list(request, answer, file, found)
  }

  async #file(request: ServerRequest, answer: ServerAnswer, path: string, { size, modified }: FileStat): Promise<void> {
    const { "if-modified-since": since, range } = request.headers
    const dated = { "Last-Modified": new Date(modified).toUTCString() }
    const isRead = request.method === "GET" || request.method === "HEAD"
    if (isRead && since !== undefined && Math.floor(modified / 1000) * 1000 <= Date.parse(since)) {
      answer.writeHead(304, dated)
      answer.end()
      return
    }
    const part = rangeOf(range, size)
    if (part === undefined) {
      answer.setHeader("Content-Range", `bytes */${size}`)
      return answerText(answer, 416, "invalid range: failed to overlap")
    }
    const { from, to, isWhole } = part
    answer.writeHead(isWhole ? 200 : 206, {
      "Accept-Ranges": "bytes",
      "Content-Length": to - from,
      ...(isWhole ? {} : { "Content-Range": `bytes ${from}-${to - 1}/${size}` }),
      "Content-Type": await contentTypeOf(path, this.#files),
      ...dated,
    })
    if (request.method === "HEAD" || to === from) answer.end()
    else await passOn(between(this.#files.stream(path), from, to), answer)
  }

  async #list(request: ServerRequest, answer: ServerAnswer, path: string, { modified }: FileStat): Promise<void> {
    const lines: string[] = []
    for (const entry of await this.#files.list(path)) {
      const found = await this.#files.stat(join(path, entry)).catch(() => undefined)
      const name = found?.isDirectory === true ? `${entry}/` : entry
      // A name with a colon must not look like the scheme of an address.
      const link = encodeURI(name).replaceAll(/[?#]/g, (sign) => encodeURIComponent(sign))
      lines.push(`<a href="${/^[^/]*:/.test(link) ? `./${link}` : link}">${htmlEscape(name)}</a>\n`)
    }
    const body = `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join("")}</pre>\n`
    answer.writeHead(200, {
      "Content-Type": "text/html; charset=utf-8",
      "Last-Modified": new Date(modified).toUTCString(),
      "Content-Length": Buffer.byteLength(body),
    })
    answer.end(request.method === "HEAD" ? "" : body)
  }
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

function moved(answer: ServerAnswer, location: string): void {
  answer.writeHead(301, { Location: location, "Content-Length": 0 })
  answer.end()
}

async function* between(parts: AsyncIterable<Uint8Array>, from: number, to: number) {
  let at = 0
  for await (const part of parts) {
    const piece = part.subarray(Math.max(0, from - at), Math.max(0, to - at))
    if (piece.length > 0) yield piece
    at += part.length
    if (at >= to) return
  }
}
