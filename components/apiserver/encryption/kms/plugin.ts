/**
 * A KMS plugin (API v2): a program beside the server that holds the key with which the server's own key, the seed, is
 * encrypted. Values are encrypted here, so a write never waits for the plugin; it is asked at the start, and then now
 * and then whether its key has changed. Source: apiserver pkg/server/options/encryptionconfig/config.go
 * kmsv2PluginProbe, pkg/storage/value/encrypt/envelope/kmsv2.
 *
 * Differs from upstream: the seeds of all values on the disk are decrypted at the start, since reading is synchronous.
 */
import { Buffer } from "node:buffer"
import { formatTime } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import { uuid, type Random } from "../../../../pkg/clock/random.ts"
import type { Channel } from "../../../../pkg/cri/channel.ts"
import { CriError } from "../../../../pkg/cri/errors.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import type { ValueTransformer } from "../../../../pkg/storage/value-transformer.ts"
import { aesGcm, type Cipher } from "../aes.ts"
import type { EncryptionMetrics } from "../encryption-metrics.ts"
import type { Provider } from "../provider.ts"
import { encrypting } from "../transformer.ts"
import {
  checkSource,
  decodeEncryptedObject,
  EncryptedObject,
  idHash,
  keyIdProblem,
  sourceKey,
  SOURCE_TYPE,
  type EncryptedSource,
} from "./encrypted-object.ts"
import { seedCipher, SEED_BYTES } from "./seed-cipher.ts"
import { Decrypt, Encrypt, Status } from "./service.ts"

export interface KmsPluginOptions {
  readonly name: string
  readonly channel: Channel
  /** Longest time of a call. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly metrics?: EncryptionMetrics | undefined
}

/** Time between two questions to a plugin that is well, and to one that is not. */
const WELL_INTERVAL_MS = 60_000
const ILL_INTERVAL_MS = 10_000
/** How old the answer may be that a health check tells. Source: kmsPluginHealthzPositiveTTL, …NegativeTTL. */
const WELL_FRESH_MS = 20_000
const ILL_FRESH_MS = 3000
/** How long values are still encrypted with a seed after the plugin was last well. Reads never end. */
const SEED_LIFE_MS = 180_000
/** Seeds that are decrypted at once. */
const PARALLEL = 8
const VERSIONS = ["v2", "v2beta1"]

/** What values are encrypted with now. */
interface WriteState {
  readonly source: EncryptedSource
  readonly cipher: ValueTransformer
  /** On the monotonic clock. */
  expires: number
}

export class KmsPlugin implements Provider {
  /** The bytes with which values of this plugin begin. */
  readonly prefix: Buffer
  readonly #options: KmsPluginOptions
  /** What decrypts values, by the source of its key. Grows with the starts of the server and with the plugin's keys. */
  readonly #ciphers = new Map<string, ValueTransformer>()
  /** Sources that the plugin has not decrypted, and why. */
  readonly #unknown = new Map<string, { readonly source: EncryptedSource; problem: string }>()
  #state: WriteState | undefined
  #problem: string | undefined = "the plugin has not been called yet"
  #askedAt = 0
  #isAsking = false
  #version = ""
  #timer: Timer | undefined
  #closed = false

  constructor(options: KmsPluginOptions) {
    this.#options = options
    this.prefix = Buffer.from(`k8s:enc:kms:v2:${options.name}:`)
  }

  /** Asks the plugin now, and again in intervals until `close`. A plugin that does not answer costs `timeoutMs`. */
  async start(): Promise<void> {
    await this.#probe()
  }

  /**
   * Why the plugin is not healthy, as of its last answer; undefined when it is. Whoever asks has the plugin asked again
   * where that answer is old.
   */
  get problem(): string | undefined {
    const fresh = this.#problem === undefined ? WELL_FRESH_MS : ILL_FRESH_MS
    if (!this.#isAsking && !this.#closed && this.#options.clock.monotonic() - this.#askedAt >= fresh) {
      this.#timer?.cancel()
      void this.#probe() // never rejects
    }
    return this.#problem
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
    this.#options.channel.close()
  }

  readonly seal: ValueTransformer["seal"] = (json, place) => {
    const { clock } = this.#options
    const state = this.#state
    if (state === undefined) throw new Error(`got unexpected nil transformer: ${this.#problem ?? ""}`)
    const left = state.expires - clock.monotonic()
    if (left < 0)
      throw new Error(
        `encryptedDEKSource with keyID hash "${idHash(state.source.keyId)}" expired at ` +
          `${formatTime(clock.now() + left)} (current time is ${formatTime(clock.now())})`,
      )
    this.#options.metrics?.keyUsed("to_storage", this.#options.name, state.source.keyId)
    return EncryptedObject.encode({ ...state.source, encryptedData: state.cipher.seal(json, place) })
  }

  readonly open: ValueTransformer["open"] = (value, place) => {
    const object = decodeEncryptedObject(value)
    const key = sourceKey(object)
    const cipher = this.#ciphers.get(key)
    if (cipher === undefined) {
      const { encryptedData: _, ...source } = object
      const unknown = this.#unknown.get(key) ?? { source, problem: this.#problem ?? "it was not asked for" }
      this.#unknown.set(key, unknown)
      throw new Error(`failed to decrypt DEK, error: ${unknown.problem}`)
    }
    const { json } = cipher.open(object.encryptedData, place)
    this.#options.metrics?.keyUsed("from_storage", this.#options.name, object.keyId)
    const { keyId, encryptedDEKSourceType: type } = this.#state?.source ?? object
    return { json, stale: object.keyId !== keyId || object.encryptedDEKSourceType !== type }
  }

  /**
   * Remembers the key of a value from the disk, for `learn`. Values of other providers, and damaged ones, are passed
   * over.
   */
  note(value: Uint8Array): void {
    const { prefix } = this
    if (prefix.compare(value, 0, prefix.length) !== 0) return
    try {
      const { encryptedData: _, ...source } = decodeEncryptedObject(value.subarray(prefix.length))
      const key = sourceKey(source)
      if (!this.#ciphers.has(key)) this.#unknown.set(key, { source, problem: "it was not asked for" })
    } catch {
      // Reading the value will tell.
    }
  }

  /** Decrypts what has been noted. Ends at the first call that the plugin does not answer. */
  async learn(): Promise<void> {
    const waiting = [...this.#unknown]
    for (let i = 0; i < waiting.length; i += PARALLEL) {
      const answered = await Promise.all(
        waiting.slice(i, i + PARALLEL).map(([key, entry]) => this.#learnOne(key, entry)),
      )
      if (answered.includes(false)) return
    }
  }

  /** Returns whether the plugin has answered, with whatever. */
  async #learnOne(key: string, entry: { readonly source: EncryptedSource; problem: string }): Promise<boolean> {
    const { random } = this.#options
    const { keyId, encryptedDEKSource: ciphertext, annotations, encryptedDEKSourceType: type } = entry.source
    try {
      const { plaintext } = await this.#call(Decrypt, { ciphertext, uid: uuid(random), keyId, annotations })
      this.#keep(key, encrypting(cipherOf(type, plaintext, random)))
      this.#unknown.delete(key)
      return true
    } catch (err) {
      entry.problem = wordsOf(err)
      return !(err instanceof CriError && (err.code === "DeadlineExceeded" || err.code === "Unavailable"))
    }
  }

  async #probe(): Promise<void> {
    const { clock, name, log } = this.#options
    const before = this.#problem
    this.#isAsking = true
    try {
      await this.#check()
      if (this.#unknown.size > 0) await this.learn()
      this.#problem = undefined
      if (before !== undefined) log.info("The KMS plugin works", { name })
    } catch (err) {
      this.#problem = wordsOf(err)
      if (this.#problem !== before) log.error("The KMS plugin does not work", { name, error: this.#problem })
    }
    this.#isAsking = false
    this.#askedAt = clock.monotonic()
    if (this.#closed) return
    const wait = this.#problem === undefined ? WELL_INTERVAL_MS : ILL_INTERVAL_MS
    // `#probe` never rejects.
    this.#timer = clock.setTimeout(() => void this.#probe(), wait)
  }

  /** @throws Error when the plugin cannot be used now */
  async #check(): Promise<void> {
    const { name, clock } = this.#options
    const began = clock.monotonic()
    let status
    try {
      status = await this.#call(Status, {})
    } catch (cause) {
      throw new Error(
        `failed to perform status section of the healthz check for KMS Provider ${name}, error: ${wordsOf(cause)}`,
        { cause },
      )
    }
    const problems = this.#problemsOf(status)
    const idProblem = keyIdProblem(status.keyId)
    this.#options.metrics?.keyNamed(
      name,
      status.keyId,
      idProblem === undefined ? undefined : status.keyId === "" ? "empty" : "too_long",
    )
    if (idProblem === undefined)
      try {
        await this.#follow(status.keyId, began + SEED_LIFE_MS)
      } catch (err) {
        problems.push(wordsOf(err))
      }
    if (problems.length > 0)
      throw new Error(
        `kmsv2 Provider ${name} is not healthy, error: ${problems.length > 1 ? `[${problems.join(", ")}]` : problems[0]}`,
      )
  }

  #problemsOf({ healthz, version, keyId }: { healthz: string; version: string; keyId: string }): string[] {
    const problems: string[] = []
    if (healthz !== "ok") problems.push(`got unexpected healthz status: ${healthz.slice(0, 1024)}`)
    if (!VERSIONS.includes(version)) problems.push(`expected KMSv2 API version v2, got ${version.slice(0, 64)}`)
    else if (this.#version !== "" && this.#version !== version)
      problems.push(
        "KMSv2 API version should not change after the initial status response version " +
          `${this.#version}, got ${version}`,
      )
    else this.#version = version
    const idProblem = keyIdProblem(keyId)
    if (idProblem !== undefined) problems.push(`got invalid KMSv2 KeyID hash "${idHash(keyId)}": ${idProblem}`)
    return problems
  }

  /** Keeps the seed while the plugin's key is the same, and makes a new one when it is not. */
  async #follow(keyId: string, expires: number): Promise<void> {
    const { random, log, name } = this.#options
    if (this.#state?.source.keyId === keyId) {
      this.#state.expires = expires
      return
    }
    const seed = random.bytes(SEED_BYTES)
    const made = await this.#call(Encrypt, { plaintext: seed, uid: uuid(random) })
    if (made.keyId !== keyId)
      throw new Error(
        `failed to rotate DEK: statusKeyIDHash="${idHash(keyId)}", encryptKeyIDHash="${idHash(made.keyId)}"`,
      )
    const source: EncryptedSource = {
      keyId,
      encryptedDEKSource: made.ciphertext,
      annotations: made.annotations,
      encryptedDEKSourceType: SOURCE_TYPE.seed,
    }
    checkSource(source)
    const cipher = encrypting(seedCipher(seed, random))
    this.#keep(sourceKey(source), cipher)
    this.#state = { source, cipher, expires }
    log.info("The KMS plugin has a new key", { name, keyIDHash: idHash(keyId) })
  }

  #keep(key: string, cipher: ValueTransformer): void {
    this.#ciphers.set(key, cipher)
    this.#options.metrics?.knownSeeds(this.#options.name, this.#ciphers.size)
  }

  #call: Channel["call"] = async (rpc, request) => {
    const { channel, timeoutMs, metrics, name } = this.#options
    const began = metrics?.now() ?? 0
    try {
      const answer = await channel.call(rpc, request, { timeoutMs })
      metrics?.called(name, rpc.path, began)
      return answer
    } catch (err) {
      metrics?.called(name, rpc.path, began, err)
      throw err
    }
  }
}

function cipherOf(type: number, plaintext: Uint8Array, random: Random): Cipher {
  if (type === SOURCE_TYPE.seed) return seedCipher(plaintext, random)
  if (![16, 24, 32].includes(plaintext.length)) throw new Error(`crypto/aes: invalid key size ${plaintext.length}`)
  return aesGcm(Buffer.from(plaintext), random)
}

const wordsOf = (err: unknown): string =>
  err instanceof CriError
    ? `rpc error: code = ${err.code} desc = ${err.message.slice(0, 1024)}`
    : err instanceof Error
      ? err.message
      : String(err)
