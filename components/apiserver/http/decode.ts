import { badRequest } from "../../../pkg/apimachinery/errors.ts"
import type { Message } from "../../../pkg/apimachinery/fields.ts"
import { DeleteOptions } from "../../../pkg/apimachinery/meta.ts"
import { decodeProtobuf, isEnvelope, openEnvelope } from "../../../pkg/apimachinery/protobuf/envelope.ts"
import { StatusMessage } from "../../../pkg/apimachinery/status.ts"
import type { Patch } from "../../../pkg/client/client.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { parseJson, type Parsed } from "./json.ts"
import type { BodyType, Encoding } from "./negotiate.ts"

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** The text of a body. Throws BadRequest when it is no UTF-8. */
function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw badRequest("the body of the request is not valid UTF-8")
  }
}

/** YAML is seldom sent and its parser is large: it is loaded with the first body. */
const parseYaml = async (bytes: Uint8Array): Promise<Parsed> => (await import("./yaml.ts")).parseYaml(textOf(bytes))

/** The object in a body, as plain JSON. Throws BadRequest when the bytes are not of the encoding they claim. */
export function decodeBody(bytes: Uint8Array, encoding: Encoding, scheme: Scheme): Parsed | Promise<Parsed> {
  switch (encoding) {
    case "json":
      return parseJson(textOf(bytes))
    case "yaml":
      return parseYaml(bytes)
    case "protobuf":
      return { value: fromProtobuf(bytes, scheme), faults: [] }
  }
}

function fromProtobuf(bytes: Uint8Array, scheme: Scheme): unknown {
  if (!isEnvelope(bytes))
    throw badRequest("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
  try {
    const { apiVersion, kind, raw } = openEnvelope(bytes)
    const message = messageOf(apiVersion, kind, scheme)
    if (message === undefined)
      throw badRequest(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`)
    return { apiVersion, kind, ...decodeProtobuf(message, raw) }
  } catch (err) {
    throw err instanceof Error && err.name === "ApiError"
      ? err
      : badRequest(
          `the body of the request could not be decoded as protobuf: ${err instanceof Error ? err.message : String(err)}`,
        )
  }
}

/** Options and Status belong to every group. */
const EVERYWHERE: Readonly<Record<string, Message>> = { DeleteOptions, Status: StatusMessage }

const messageOf = (apiVersion: string, kind: string, scheme: Scheme): Message | undefined =>
  EVERYWHERE[kind] ?? scheme.of(apiVersion, kind)?.schema

/** The patch in a body. */
export async function decodePatch(
  bytes: Uint8Array,
  type: Exclude<BodyType, Encoding>,
): Promise<{ readonly patch: Patch; readonly faults: readonly string[] }> {
  switch (type) {
    case "apply-patch": {
      const { value, faults } = await parseYaml(bytes)
      return { patch: { type: "apply", body: value }, faults }
    }
    case "json-patch":
      return patchOf("json", bytes)
    case "merge-patch":
      return patchOf("merge", bytes)
    case "strategic-merge-patch":
      return patchOf("strategic", bytes)
  }
}

function patchOf(
  type: "json" | "merge" | "strategic",
  bytes: Uint8Array,
): { readonly patch: Patch; readonly faults: readonly string[] } {
  const { value, faults } = parseJson(textOf(bytes))
  if (type === "json" ? !Array.isArray(value) : typeof value !== "object" || value === null || Array.isArray(value))
    throw badRequest(
      `error decoding patch: a ${type === "json" ? "JSON patch must be an array" : "merge patch must be an object"}`,
    )
  return { patch: { type, body: value }, faults }
}
