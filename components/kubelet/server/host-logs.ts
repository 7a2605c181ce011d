import { dirname, join } from "node:path"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { PodFiles } from "../runtime/runtime.ts"
import type { OpenFile } from "../runtime/open-file.ts"
import { streamOf } from "./stream-of.ts"

/** Bytes that are read at a time. */
const PART = 64 * 1024

/**
 * Answers /logs/… with the files in the folder where pods' logs are (/var/log): a list of links for a folder.
 * `signal` aborts when the asker is gone. @throws ApiError
 */
export async function hostLogs(
  files: PodFiles,
  podLogs: string,
  { pathname }: URL,
  signal: AbortSignal,
): Promise<Response> {
  // A URL has no `..` left that would lead out of the folder, but for what was escaped.
  const parts = pathname
    .slice("/logs".length)
    .split("/")
    .map(decodeURIComponent)
    .filter((part) => part !== "")
  if (parts.some((part) => part === ".." || part.includes("/") || part.includes("\0"))) throw missing(pathname)
  const folder = dirname(podLogs)
  // A pod that has this folder as a hostPath may have put links there.
  const [root = folder, path] = await Promise.all([files.resolve(folder), files.resolve(join(folder, ...parts))])
  if (path === undefined || (path !== root && !path.startsWith(`${root}/`))) throw missing(pathname)
  const names = await files.list(path)
  if (names.length > 0) return new Response(listing(names), { headers: { "Content-Type": "text/html; charset=utf-8" } })
  const file = await files.open(path)
  // A folder with nothing in it.
  if (file === undefined) return new Response(listing([]), { headers: { "Content-Type": "text/html; charset=utf-8" } })
  // A body that nobody has begun to read has no end either.
  const close = () => void file.close().catch(() => undefined)
  if (signal.aborted) close()
  else signal.addEventListener("abort", close, { once: true })
  return new Response(streamOf(contentOf(file, signal), signal), {
    headers: { "Content-Type": "text/plain; charset=utf-8", "Transfer-Encoding": "chunked" },
  })
}

const missing = (path: string): ApiError => new ApiError("NotFound", `there is no ${path}`)

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" }

function listing(names: readonly string[]): string {
  const lines = names
    .toSorted()
    .map(
      (name) => `<a href="${encodeURIComponent(name)}">${name.replaceAll(/[&<>"']/g, (char) => ESCAPES[char]!)}</a>\n`,
    )
  return `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join("")}</pre>\n`
}

/** Yields the file as long as it was when it was opened, and closes it, also when `signal` aborts. */
async function* contentOf(file: OpenFile, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  try {
    const size = await file.size()
    for (let offset = 0; offset < size && !signal.aborted;) {
      const part = await file.read(offset, Math.min(PART, size - offset))
      if (part.length === 0) return
      offset += part.length
      yield part
    }
  } finally {
    await file.close()
  }
}
