import { Buffer } from "node:buffer"
import type { OpenedValue, Place, ValueTransformer } from "../../../pkg/storage/value-transformer.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { EncryptionMetrics } from "./encryption-metrics.ts"

/** A way to write values, and the bytes with which all of its values begin; empty for what writes them as they are. */
export interface Provider extends ValueTransformer {
  readonly prefix: Buffer
}

/**
 * Writes with the first provider, and reads with each whose prefix a value has, in their order, until one succeeds: the
 * same prefix may stand for two keys of the same name. Source: apiserver pkg/storage/value/transformer.go
 * prefixTransformers.
 * @param unknown what to say of a value that no provider has written
 */
export function firstOf(
  providers: readonly Provider[],
  unknown: string,
  metrics: EncryptionMetrics | undefined,
): ValueTransformer {
  const [first] = providers
  if (first === undefined) throw new TypeError("Cannot write values without a provider")
  return {
    seal: (json, place) => {
      const began = metrics?.now() ?? 0
      try {
        const sealed = first.seal(json, place)
        metrics?.transformed("to_storage", place.key, String(first.prefix), began)
        return first.prefix.length === 0 ? sealed : Buffer.concat([first.prefix, sealed])
      } catch (err) {
        metrics?.transformed("to_storage", place.key, String(first.prefix), began, err)
        throw err
      }
    },
    open: (value, place) => openedByOne(providers, value, place, unknown, metrics),
  }
}

function openedByOne(
  providers: readonly Provider[],
  value: Uint8Array,
  place: Place,
  unknown: string,
  metrics: EncryptionMetrics | undefined,
): OpenedValue {
  const problems: string[] = []
  const began = metrics?.now() ?? 0
  for (const [index, { prefix, open }] of providers.entries()) {
    if (value.length < prefix.length || prefix.compare(value, 0, prefix.length) !== 0) continue
    const name = prefix.length === 0 ? "identity" : String(prefix)
    try {
      const { json, stale } = open(value.subarray(prefix.length), place)
      metrics?.transformed("from_storage", place.key, name, began)
      return { json, stale: stale || index > 0 }
    } catch (err) {
      // What is written as it is has no prefix, so its failure says nothing about the value.
      if (prefix.length === 0) continue
      metrics?.transformed("from_storage", place.key, name, began, err)
      problems.push(errorMessage(err))
    }
  }
  const failure = new Error(problems.length > 1 ? `[${problems.join(", ")}]` : (problems[0] ?? unknown))
  if (problems.length === 0) metrics?.transformed("from_storage", place.key, "unknown", began, failure)
  throw failure
}
