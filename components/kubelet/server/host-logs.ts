import { dirname, join } from "node:path"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { PodFiles } from "../runtime/runtime.ts"
import type { OpenFile } from "../runtime/open-file.ts"

/** Bytes that are read at a time. */
const PART = 64 * 1024

/**
 * Answers /logs/… with the files in the folder where pods' logs are (/var/log): a list of links for a folder. @throws
 * ApiError
 */
export async function hostLogs(files: PodFiles, podLogs: string, { pathname }: URL): Promise<Response> {
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
  const size = await file.size()
  const first = await file.read(0, Math.min(PART, size))
  return new Response(contentOf(file, first, size), {
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

/** The file as long as it was when it was opened. */
function contentOf(file: OpenFile, first: Uint8Array, size: number): ReadableStream<Uint8Array> {
  let offset = 0
  return new ReadableStream({
    async pull(controller) {
      const part =
        offset === 0 ? first : offset < size ? await file.read(offset, Math.min(PART, size - offset)) : new Uint8Array()
      offset += part.length
      if (part.length > 0) return controller.enqueue(part)
      await file.close()
      controller.close()
    },
    cancel: () => file.close(),
  })
}
