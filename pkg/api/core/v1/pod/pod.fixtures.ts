import { decodeObject } from "../../../../apimachinery/decoding/decode.ts"
import { Pod } from "./pod.ts"

export type Json = Record<string, unknown>
export const container: Json = { name: "web", image: "nginx" }
export const made = (spec: Json, metadata: Json = {}, status: Json = {}): Pod =>
  decodeObject(Pod, {
    metadata: { name: "web", namespace: "default", resourceVersion: "1", ...metadata },
    spec: { containers: [container], ...spec },
    status,
  }).object
export const withContainer = (more: Json): Json => ({ containers: [{ ...container, ...more }] })
