import { decodeObject } from "../apimachinery/decoding/decode.ts"
import type { KubeObject, Resource } from "../apimachinery/resource.ts"
import { builtinScheme } from "./scheme.ts"

/** The kinds with their rules: tests decode, prepare and validate objects as the server does. */
export const scheme = builtinScheme()
export const context = { now: "2026-01-02T03:04:05Z", uuid: () => "u", warn: () => undefined }
export type Json = Readonly<Record<string, unknown>>

export const find = (name: string): Resource => {
  const [kind, apiVersion = "v1"] = name.split(" ") as [string, string?]
  const resource = scheme.of(apiVersion, kind)
  if (resource === undefined) throw new Error(`Unknown kind ${name}`)
  return resource
}
export const decode = (resource: Resource, body: Json, more: Json = {}): KubeObject =>
  decodeObject(resource, {
    ...body,
    metadata: {
      name: "a",
      ...(resource.scope === "Namespaced" ? { namespace: "default" } : {}),
      ...more,
      ...(body["metadata"] as Json | undefined),
    },
  }).object
export const prepared = (resource: Resource, body: Json): KubeObject => {
  const obj = decode(resource, body)
  return resource.prepareForCreate?.(obj, context) ?? obj
}
export const lines = (causes: readonly { readonly field?: string; readonly message: string }[]) =>
  causes.map(({ field, message }) => `${field}: ${message}`)

export const PORT = { port: 80 }
export const service = (spec: Json): Json => ({ spec: { ports: [PORT], ...spec } })
