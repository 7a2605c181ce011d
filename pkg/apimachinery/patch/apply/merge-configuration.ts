import { typed } from "../../decoding/decode.ts"
import type { KubeObject, Resource } from "../../resource.ts"
import { atomicsIn } from "./atomics.ts"
import { configurationFault } from "./check-configuration.ts"
import { mergeInto } from "./merge.ts"
import { shapeOf } from "./shape.ts"

/**
 * Merges `config` into `live` as server-side apply does, but without owners. The result is not decoded yet.
 * @throws Error with upstream's message when the configuration is not valid for the kind, or has a part of an atomic
 * value. Source: apiserver policy/mutating/patch/smd.go ApplyStructuredMergeDiff.
 */
export function mergeConfiguration(
  resource: Resource,
  live: KubeObject,
  config: Readonly<Record<string, unknown>>,
): unknown {
  const schema = typed(resource.schema)
  const whole = { ...config, apiVersion: live.apiVersion, kind: live.kind }
  const fault = configurationFault(schema, whole)
  if (fault !== undefined) throw new Error(`failed to convert patch object to typed object: ${fault}`)
  const atomics = atomicsIn(schema, whole)
  if (atomics.length > 0)
    throw new Error(`invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(", ")}`)
  return mergeInto(shapeOf(resource.schema), live, whole)
}
