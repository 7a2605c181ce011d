import { dirname } from "node:path"
import type { Timer } from "../../../pkg/clock/clock.ts"
import { sleep } from "../../../pkg/clock/clock.ts"
import { watchFolder } from "../../../pkg/process/watch-folder.ts"
import type { OpenedValue, Place, ValueTransformer } from "../../../pkg/storage/value-transformer.ts"
import { contentHash } from "./encryption-metrics.ts"
import type { EncryptionTools } from "./encryption-tools.ts"
import type { KmsPlugin } from "./kms/plugin.ts"
import { configurationText, type Loaded } from "./load.ts"

export interface ReloadingOptions extends EncryptionTools {
  /** The file of `--encryption-provider-config`. */
  readonly file: string
  /** Makes what a configuration says. @throws Error that names the file */
  readonly load: (text: string) => Promise<Loaded>
  /** Has plugins decrypt the keys of the values that are there. */
  readonly learnKeys: (plugins: readonly KmsPlugin[]) => Promise<void>
}

/** How long plugins of a new configuration may take until they are well. Source: minKMSPluginCloseGracePeriod. */
const HEALTH_MS = 10_000
const HEALTH_INTERVAL_MS = 500
/** Delays before a configuration that could not be used is tried again. */
const FIRST_RETRY_MS = 1000
const LAST_RETRY_MS = 60_000

/**
 * Encrypts and decrypts as the configuration file says now. A file that cannot be used is told, counted and tried
 * again, and meanwhile the last good one holds. Source: apiserver pkg/server/options/encryptionconfig/controller.
 * Differs from upstream: the kernel tells of changes, where upstream looks once a minute.
 */
export class Reloading implements ValueTransformer {
  readonly #options: ReloadingOptions
  #current: Loaded
  /** Of the configuration in use. */
  #hash: string
  #running: Promise<void> | undefined
  /** Whether the file has changed since the run under way began. */
  #isDue = false
  #stopped = false
  #retry: Timer | undefined
  #retryMs = FIRST_RETRY_MS
  #endWatch = (): void => undefined

  /** @param current of the file's content at the start */
  constructor(options: ReloadingOptions, current: Loaded) {
    this.#options = options
    this.#current = current
    this.#hash = contentHash(current.text ?? "")
    options.metrics?.configured(this.#hash)
  }

  get plugins(): readonly KmsPlugin[] {
    return this.#current.plugins
  }

  readonly seal = (json: Uint8Array, place: Place): Uint8Array => this.#current.transformer.seal(json, place)
  readonly open = (value: Uint8Array, place: Place): OpenedValue => this.#current.transformer.open(value, place)

  /** Follows the file from now on, also where it is a link that changes. */
  start(): void {
    const { file, clock } = this.#options
    this.#endWatch = watchFolder(dirname(file), () => this.#check(), { clock, mode: 0o700 })
    this.#check()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#endWatch()
    this.#retry?.cancel()
    await this.#running
  }

  #check(): void {
    this.#isDue = true
    if (this.#running !== undefined || this.#stopped) return
    this.#retry?.cancel()
    // `#reload` never rejects.
    this.#running = this.#reload().then(() => {
      this.#running = undefined
      if (this.#isDue) this.#check()
    })
  }

  async #reload(): Promise<void> {
    const { file, log, metrics, clock } = this.#options
    this.#isDue = false
    try {
      const text = configurationText(file)
      const hash = contentHash(text)
      if (hash === this.#hash) return
      await this.#use(text)
      this.#hash = hash
      this.#retryMs = FIRST_RETRY_MS
      metrics?.configured(hash)
      metrics?.reloaded("success")
      log.info("Loaded the changed encryption configuration", { file, hash })
    } catch (error) {
      if (this.#stopped) return
      metrics?.reloaded("failure")
      log.error("Failed to load the changed encryption configuration; the last valid one applies", { file, error })
      this.#retry = clock.setTimeout(() => this.#check(), this.#retryMs)
      this.#retryMs = Math.min(2 * this.#retryMs, LAST_RETRY_MS)
    }
  }

  async #use(text: string): Promise<void> {
    const { load, learnKeys } = this.#options
    const made = await load(text)
    try {
      await this.#waitUntilWell(made.plugins)
      await learnKeys(made.plugins)
      if (this.#stopped) throw new Error("the server stops")
    } catch (err) {
      for (const plugin of made.plugins) plugin.close()
      throw err
    }
    const { plugins: before } = this.#current
    this.#current = made
    for (const plugin of before) plugin.close()
  }

  async #waitUntilWell(plugins: readonly KmsPlugin[]): Promise<void> {
    const { clock } = this.#options
    const end = clock.monotonic() + HEALTH_MS
    for (;;) {
      const problem = plugins.map((plugin) => plugin.problem).find((one) => one !== undefined)
      if (problem === undefined) return
      if (this.#stopped || clock.monotonic() >= end) throw new Error(problem)
      await sleep(clock, HEALTH_INTERVAL_MS)
    }
  }
}
