/**
 * `k3ts secrets-encrypt`: turning encryption on and off, new keys, and writing what is on the disk anew. Source: k3s
 * pkg/server/handlers/secrets-encrypt.go. Differs from k3s: one step does it all, history is written anew too, and
 * objects get no new revision.
 */
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Reencryption } from "../../../pkg/storage/sqlite/reencrypt.ts"
import type { SqliteStorage } from "../../../pkg/storage/sqlite/sqlite.ts"
import { ownTransformer, type EncryptionConfig } from "./load.ts"
import type { EncryptionTools } from "./encryption-tools.ts"
import {
  newOwnKey,
  readOwnConfiguration,
  readStage,
  writeOwnConfiguration,
  writeStage,
  type OwnConfiguration,
  type OwnKey,
  type Stage,
} from "./own-configuration.ts"
import type { OwnProvider } from "./own-providers.ts"

/** As k3s' EncryptionState. */
export interface EncryptionStatus {
  readonly stage: Stage
  /** Absent where Secrets have never been encrypted. */
  readonly enable?: boolean
  /** `AES-CBC <name>`; empty where nothing is encrypted. */
  readonly activekey: string
  readonly inactivekeys: readonly string[]
  /** The file of `--encryption-provider-config`, whose keys are not ours to know. */
  readonly configfile?: string
  /** Values that the last run could not write anew, and why. */
  readonly failed?: number
  readonly failures?: readonly string[]
}

export interface SecretsEncryptionOptions extends EncryptionTools {
  /** `<data-dir>/server` */
  readonly dir: string
  readonly config: EncryptionConfig
  readonly store: Pick<SqliteStorage, "useTransformer" | "reencrypt">
  /** Whether some values were written otherwise than they would be now, as those of a snapshot that was restored. */
  readonly someStale: boolean
}

const KEY_TYPES: Readonly<Record<OwnProvider, string>> = {
  aescbc: "AES-CBC",
  aesgcm: "AES-GCM",
  secretbox: "XSalsa20-POLY1305",
}

export class SecretsEncryption {
  readonly #options: SecretsEncryptionOptions
  readonly #ending = new AbortController()
  #stage: Stage
  #last: Reencryption | undefined
  /** The run under way. */
  #running: Promise<void> | undefined

  constructor(options: SecretsEncryptionOptions) {
    this.#options = options
    const { dir, config, log, someStale } = options
    this.#stage = readStage(dir)
    // A server that was stopped or killed in the middle goes on here.
    if (this.#stage === "reencrypt_active") this.#run()
    else if (someStale && config.file === undefined) this.reencrypt()
    else if (someStale)
      log.warn("Some values are not encrypted as the file says; run k3ts secrets-encrypt reencrypt", {
        file: config.file,
      })
  }

  status(): EncryptionStatus {
    const { dir, config } = this.#options
    const failures = this.#last?.failed ? { failed: this.#last.failed, failures: this.#last.failures } : {}
    const { file } = config
    const own = file === undefined ? readOwnConfiguration(dir) : undefined
    if (file !== undefined)
      return { stage: this.#stage, enable: true, activekey: "", inactivekeys: [], configfile: file, ...failures }
    if (own === undefined) return { stage: this.#stage, activekey: "", inactivekeys: [] }
    const names = own.keys.map(({ provider, name }) => `${KEY_TYPES[provider]} ${name}`)
    const [active = "", ...others] = own.enabled ? names : ["", ...names]
    return { stage: this.#stage, enable: own.enabled, activekey: active, inactivekeys: others, ...failures }
  }

  /** Encrypts Secrets from now on, and those that are there in the background. @throws ApiError */
  async enable(): Promise<void> {
    const own = this.#ownOrRefuse()
    if (own?.enabled === true) return
    await this.#change({ enabled: true, keys: own?.keys ?? [this.#newKey()] })
  }

  /** Writes Secrets as they are from now on, and those that are there in the background. @throws ApiError */
  async disable(): Promise<void> {
    const own = this.#ownOrRefuse()
    if (own === undefined) throw refused("Secrets are not encrypted")
    if (own.enabled) await this.#change({ ...own, enabled: false })
  }

  /** Makes a key, which encrypts all from now on; old keys go once nothing is encrypted with them. @throws ApiError */
  async rotateKeys(): Promise<void> {
    const own = this.#ownOrRefuse()
    if (own?.enabled !== true) throw refused("Secrets are not encrypted; run k3ts secrets-encrypt enable first")
    await this.#change({ enabled: true, keys: [this.#newKey(), ...own.keys] })
  }

  /** Writes in the background what is not as it would be written now. @throws ApiError */
  reencrypt(): void {
    this.#refuseWhileRunning()
    this.#setStage("reencrypt_active")
    this.#run()
  }

  /** Ends a run between two steps; the next start goes on with it. */
  async close(): Promise<void> {
    this.#ending.abort()
    await this.#running
  }

  #newKey(): OwnKey {
    return newOwnKey(this.#options.config.provider, this.#options)
  }

  #ownOrRefuse(): OwnConfiguration | undefined {
    const { dir, config } = this.#options
    if (config.file !== undefined)
      throw refused(
        `the keys are those of ${config.file}: change that file, ` +
          `${config.isReloaded === true ? "" : "restart the server "}and run k3ts secrets-encrypt reencrypt`,
      )
    this.#refuseWhileRunning()
    return readOwnConfiguration(dir)
  }

  #refuseWhileRunning(): void {
    if (this.#running !== undefined)
      throw refused("the last change is still being written; wait until k3ts secrets-encrypt status shows its end")
  }

  /** The stage comes first: a kill in between makes the next start look through everything, which harms nothing. */
  async #change(wanted: OwnConfiguration): Promise<void> {
    const transformer = await ownTransformer(wanted, this.#options)
    this.#refuseWhileRunning() // another request may have come during the load
    this.#setStage("reencrypt_active")
    writeOwnConfiguration(this.#options.dir, wanted)
    this.#options.store.useTransformer(transformer)
    this.#run()
  }

  #setStage(stage: Stage): void {
    writeStage(this.#options.dir, stage)
    this.#stage = stage
  }

  #run(): void {
    this.#running = this.#rewrite().then((tell) => {
      this.#running = undefined
      tell()
    })
  }

  /** Resolves with what is to be logged at the end. */
  async #rewrite(): Promise<() => void> {
    const { store, log } = this.#options
    try {
      const done = await store.reencrypt(this.#ending.signal)
      if (this.#ending.signal.aborted) return () => undefined
      this.#last = done
      const { rewritten, failed, failures } = done
      if (failed > 0)
        return () => log.error("Values cannot be decrypted; they and all keys stay as they are", { failed, failures })
      await this.#dropOldKeys()
      this.#setStage("reencrypt_finished")
      return () => log.info("Rewrote the values on the disk", { rewritten })
    } catch (error) {
      return () => log.error("Failed to rewrite encrypted values; the next start tries again", { error })
    }
  }

  /** Nothing is encrypted with other keys than the first any more. */
  async #dropOldKeys(): Promise<void> {
    const { dir, store, config } = this.#options
    const own = config.file === undefined ? readOwnConfiguration(dir) : undefined
    if (own === undefined || own.keys.length < 2) return
    const kept = { ...own, keys: own.keys.slice(0, 1) }
    const transformer = await ownTransformer(kept, this.#options)
    writeOwnConfiguration(dir, kept)
    store.useTransformer(transformer)
  }
}

const refused = (why: string): ApiError => new ApiError("BadRequest", why)
