import { createHash } from "node:crypto"
import { exactKey } from "../../../pkg/cache/exact-key.ts"
import { CriError } from "../../../pkg/cri/errors.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Family, Registry, Value } from "../../../pkg/metrics/registry.ts"
import { idHash } from "./kms/encrypted-object.ts"

/** Whether a value is read or written. */
export type Direction = "from_storage" | "to_storage"

/** `count` bounds, each `factor` times the one before. */
const exponential = (start: number, factor: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, i) => start * factor ** i)

/** Series of as many key ids of plugins are kept. Source: envelope/metrics/metrics.go cacheSize. */
const MOST_KEY_IDS = 100

/**
 * The metrics of encryption, under upstream's names. Sources: apiserver pkg/storage/value/metrics.go,
 * encrypt/envelope/metrics/metrics.go, pkg/server/options/encryptionconfig/metrics/metrics.go. Upstream's for KMS v1,
 * and for keys that are generated for each value, are absent.
 */
export class EncryptionMetrics {
  readonly #clock: Clock
  readonly #server: string
  readonly #operations
  readonly #durations
  readonly #calls
  readonly #keyUses
  readonly #keyUsedAt
  readonly #keyStatusAt
  readonly #invalidKeyIds
  readonly #seeds
  readonly #reloads
  readonly #reloadedAt
  readonly #configInfo
  #configHash: string | undefined

  /** @param serverId of this API server, of which the metrics have the hash */
  constructor(registry: Registry, clock: Clock, serverId: string) {
    this.#clock = clock
    this.#server = idHash(serverId)
    const [storage, envelope] = ["apiserver_storage", "apiserver_envelope_encryption"]
    const reload = "apiserver_encryption_config_controller"
    this.#operations = registry.counter(
      `${storage}_transformation_operations_total`,
      "Values encrypted and decrypted, and those that could not be.",
      ...["resource", "status", "transformation_type", "transformer_prefix"],
    )
    this.#durations = registry.histogram(
      `${storage}_transformation_duration_seconds`,
      "Seconds to encrypt or decrypt a value.",
      exponential(5e-6, 2, 25),
      ...["transformation_type", "transformer_prefix"],
    )
    this.#calls = registry.histogram(
      `${envelope}_kms_operations_latency_seconds`,
      "Seconds of calls to KMS plugins, by the code of the answer.",
      exponential(0.0001, 2, 20),
      ...["grpc_status_code", "method_name", "provider_name"],
    )
    const keyLabels = ["transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"]
    this.#keyUses = new Recent(
      registry.counter(`${envelope}_key_id_hash_total`, "Uses of a key of a KMS plugin.", ...keyLabels),
    )
    this.#keyUsedAt = new Recent(
      registry.gauge(`${envelope}_key_id_hash_last_timestamp_seconds`, "When a key was last used.", ...keyLabels),
    )
    this.#keyStatusAt = new Recent(
      registry.gauge(
        `${envelope}_key_id_hash_status_last_timestamp_seconds`,
        "When a KMS plugin last named a key as its own.",
        ...["provider_name", "key_id_hash", "apiserver_id_hash"],
      ),
    )
    this.#invalidKeyIds = registry.counter(
      `${envelope}_invalid_key_id_from_status_total`,
      "Invalid key ids that KMS plugins have named.",
      ...["error", "provider_name"],
    )
    this.#seeds = registry.gauge(
      `${envelope}_dek_source_cache_size`,
      "Keys of values that KMS plugins have decrypted.",
      "provider_name",
    )
    const reloadLabels = ["status", "apiserver_id_hash"]
    this.#reloads = registry.counter(
      `${reload}_automatic_reloads_total`,
      "Reloads of the encryption configuration.",
      ...reloadLabels,
    )
    this.#reloadedAt = registry.gauge(
      `${reload}_automatic_reload_last_timestamp_seconds`,
      "When the encryption configuration was last reloaded, or could not be.",
      ...reloadLabels,
    )
    this.#configInfo = registry.gauge(
      `${reload}_last_config_info`,
      "The hash of the encryption configuration in use.",
      ...["apiserver_id_hash", "hash"],
    )
  }

  /** Milliseconds, for `transformed` and `called`. */
  now(): number {
    return this.#clock.monotonic()
  }

  /**
   * Counts a value of an object that was encrypted or decrypted since `began`.
   * @param key of the object in the store
   */
  transformed(direction: Direction, key: string, prefix: string, began: number, failure?: unknown): void {
    this.#operations.with(resourceOf(key), codeOf(failure), direction, prefix).inc()
    if (failure === undefined) this.#durations.with(direction, prefix).observe((this.now() - began) / 1000)
  }

  /** Counts a call to a KMS plugin. @param method as in `/v2.KeyManagementService/Status` */
  called(provider: string, method: string, began: number, failure?: unknown): void {
    this.#calls.with(codeOf(failure), method, provider).observe((this.now() - began) / 1000)
  }

  keyUsed(direction: Direction, provider: string, keyId: string): void {
    const labels = [direction, provider, idHash(keyId), this.#server]
    this.#keyUses.with(...labels).inc()
    this.#keyUsedAt.with(...labels).set(this.#clock.now() / 1000)
  }

  /** A plugin has named its key, valid or not. @param problem `empty` or `too_long` */
  keyNamed(provider: string, keyId: string, problem: string | undefined): void {
    if (problem !== undefined) this.#invalidKeyIds.with(problem, provider).inc()
    else this.#keyStatusAt.with(provider, idHash(keyId), this.#server).set(this.#clock.now() / 1000)
  }

  knownSeeds(provider: string, count: number): void {
    this.#seeds.with(provider).set(count)
  }

  /** @param hash of the file */
  configured(hash: string): void {
    if (this.#configHash !== undefined) this.#configInfo.remove(this.#server, this.#configHash)
    this.#configHash = hash
    this.#configInfo.with(this.#server, hash).set(1)
  }

  reloaded(status: "success" | "failure"): void {
    this.#reloads.with(status, this.#server).inc()
    this.#reloadedAt.with(status, this.#server).set(this.#clock.now() / 1000)
  }
}

/** Keeps the series that were used last: a plugin may name any number of keys. */
class Recent {
  readonly #family: Family<Value>
  readonly #used = new Map<string, readonly string[]>()

  constructor(family: Family<Value>) {
    this.#family = family
  }

  with(...labels: readonly string[]): Value {
    const key = exactKey(labels)
    this.#used.delete(key)
    this.#used.set(key, labels)
    if (this.#used.size > MOST_KEY_IDS) {
      const [[oldest, oldestLabels]] = this.#used as unknown as [[string, readonly string[]]]
      this.#used.delete(oldest)
      this.#family.remove(...oldestLabels)
    }
    return this.#family.with(...labels)
  }
}

/** The SHA-256 of a configuration file, as the metrics show it. */
export const contentHash = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`

const codeOf = (failure: unknown): string =>
  failure === undefined ? "OK" : failure instanceof CriError ? failure.code : "unknown-non-grpc"

/** `secrets`, `deployments.apps` of a key `/registry/core/secrets/…`. */
function resourceOf(key: string): string {
  const [, , group = "", resource = ""] = key.split("/", 4)
  return group === "core" ? resource : `${resource}.${group}`
}
