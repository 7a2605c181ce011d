import { extname } from "node:path"
import type { Files } from "../../environment/files.ts"

/** Source: Go mime/type.go. */
const TYPES: Readonly<Record<string, string>> = {
  ".avif": "image/avif",
  ".css": "text/css; charset=utf-8",
  ".gif": "image/gif",
  ".htm": "text/html; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".mjs": "text/javascript; charset=utf-8",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
  ".webp": "image/webp",
  ".xml": "text/xml; charset=utf-8",
}

/** The bytes at the beginning that are looked at. Source: Go net/http/sniff.go. */
const SNIFFED = 512

/** Returns the type of a file by its name, or by how it begins. */
export async function contentTypeOf(path: string, files: Files): Promise<string> {
  const known = TYPES[extname(path).toLowerCase()]
  if (known !== undefined) return known
  for await (const part of files.stream(path)) return sniffed(part.subarray(0, SNIFFED))
  return "text/plain; charset=utf-8"
}

function sniffed(bytes: Uint8Array): string {
  const isBinary = bytes.some(
    (byte) => byte <= 8 || byte === 0x0b || (byte >= 0x0e && byte <= 0x1a) || (byte >= 0x1c && byte <= 0x1f),
  )
  if (isBinary) return "application/octet-stream"
  const text = new TextDecoder().decode(bytes).trimStart().toLowerCase()
  return /^<(?:!doctype html|html|head|body|script|div|h1|p|a|br|table|title|style|!--)[\s>]/.test(text)
    ? "text/html; charset=utf-8"
    : "text/plain; charset=utf-8"
}
