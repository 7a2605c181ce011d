import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { readIfExists } from "../../../pkg/files/files.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { ValueTransformer } from "../../../pkg/storage/value-transformer.ts"
import { ownConfigurationFile } from "./credential-files.ts"
import { parseEncryptionConfiguration } from "./configuration.ts"
import {
  encryptionConfigurationOf,
  newOwnKey,
  readOwnConfiguration,
  writeOwnConfiguration,
  writeStage,
  type OwnConfiguration,
} from "./own-configuration.ts"
import type { OwnProvider } from "./own-providers.ts"
import { transformerOf } from "./transformer.ts"

export interface EncryptionConfig {
  /** Whether Secrets are to be encrypted with keys that k3ts makes. */
  readonly secrets: boolean
  /** What the next key is for. */
  readonly provider: OwnProvider
  /** A file with an EncryptionConfiguration, instead of keys of our own. */
  readonly file?: string | undefined
}

export interface EncryptionTools {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/**
 * Returns what encrypts the values of the store below `dir` (`<data-dir>/server`), making the first key where Secrets
 * are to be encrypted; undefined where nothing is. Called before the store is opened. @throws Error that names the file
 */
export async function loadTransformer(
  dir: string,
  { secrets, provider, file }: EncryptionConfig,
  tools: EncryptionTools,
): Promise<ValueTransformer | undefined> {
  const own = readOwnConfiguration(dir)
  if (file !== undefined) {
    if (own !== undefined)
      throw new Error(
        `Cannot use --encryption-provider-config ${file} beside ${ownConfigurationFile(dir)}: add the providers of ` +
          "the latter to your file, behind your own, and remove it",
      )
    return transformerOf(parseEncryptionConfiguration(readConfiguration(file), file), providersWithoutKms(tools))
  }
  if (own !== undefined) return ownTransformer(own, tools)
  if (!secrets) return undefined
  const made: OwnConfiguration = { enabled: true, keys: [newOwnKey(provider, tools)] }
  // Secrets that are there already are encrypted once the store is open; what is written before is so at once.
  writeStage(dir, "reencrypt_active")
  writeOwnConfiguration(dir, made)
  return ownTransformer(made, tools)
}

export const ownTransformer = (own: OwnConfiguration, tools: EncryptionTools): Promise<ValueTransformer> =>
  transformerOf(encryptionConfigurationOf(own), providersWithoutKms(tools))

function readConfiguration(file: string): string {
  const text = readIfExists(file)
  if (text !== undefined) return text
  throw new Error(
    `error while parsing file: error while loading file: error reading encryption provider configuration file ` +
      `"${file}": open ${file}: no such file or directory`,
  )
}

const providersWithoutKms = ({ random }: EncryptionTools) => ({
  random,
  kms: (): never => {
    throw new Error("no KMS here")
  },
})
