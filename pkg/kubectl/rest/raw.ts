import { Buffer } from "node:buffer"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import type { Factory } from "../factory/factory.ts"
import type { Output } from "../printers/output.ts"
import type { RestRequest } from "./rest-request.ts"

/** @throws Error for a text that is neither a path nor an address */
export function checkRaw(raw: string): void {
  if (!raw.startsWith("/") && !URL.canParse(raw))
    throw new Error(`--raw must be a valid URL path: parse ${goQuoted(raw)}: invalid URI for request`)
}

/**
 * Sends a request to a path of the server and prints the answer as it comes. `filename` is the file with the body, `-`
 * for the input, or empty. Source: kubectl pkg/rawhttp/raw.go.
 */
export async function rawRequest(
  factory: Factory,
  out: Output,
  {
    method,
    raw,
    filename = "",
  }: { readonly method: RestRequest["method"]; readonly raw: string; readonly filename?: string },
): Promise<void> {
  const path = raw.startsWith("/") ? raw : new URL(raw).pathname + new URL(raw).search
  const body = method === "GET" ? {} : { body: await bodyOf(factory, filename) }
  const client = await factory.client()
  const response = await client.stream({ method, path, accept: "application/json, */*", ...body })
  for await (const part of response.body) await out.write(part)
}

async function bodyOf(factory: Factory, filename: string): Promise<Uint8Array> {
  if (filename === "") return new Uint8Array()
  if (filename !== "-") return factory.readFile(filename)
  const parts: Uint8Array[] = []
  for await (const part of factory.environment.stdin) parts.push(part)
  return Buffer.concat(parts)
}
