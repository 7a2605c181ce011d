import { readIfExists } from "../../../pkg/files/files.ts"
import type { ValueTransformer } from "../../../pkg/storage/value-transformer.ts"
import { ownConfigurationFile } from "./credential-files.ts"
import { parseEncryptionConfiguration, type EncryptionConfiguration } from "./configuration.ts"
import type { KmsPlugin } from "./kms/plugin.ts"
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
import type { EncryptionTools } from "./encryption-tools.ts"

export interface EncryptionConfig {
  /** Whether Secrets are to be encrypted with keys that k3ts makes. */
  readonly secrets: boolean
  /** What the next key is for. */
  readonly provider: OwnProvider
  /** A file with an EncryptionConfiguration, instead of keys of our own. */
  readonly file?: string | undefined
  /** Whether changes of that file are followed while the server runs. */
  readonly isReloaded?: boolean
}

/** What encrypts the values of the store, and the KMS plugins that hold its keys. */
export interface Loaded {
  /** The content of the file of `--encryption-provider-config`, where it comes from there. */
  readonly text?: string
  readonly transformer: ValueTransformer
  readonly plugins: readonly KmsPlugin[]
}

/**
 * Returns what encrypts the values of the store below `dir` (`<data-dir>/server`), making the first key where Secrets
 * are to be encrypted; undefined where nothing is. Called before the store is opened. @throws Error that names the file
 */
export async function loadEncryption(
  dir: string,
  { secrets, provider, file }: EncryptionConfig,
  tools: EncryptionTools,
): Promise<Loaded | undefined> {
  const own = readOwnConfiguration(dir)
  if (file !== undefined) {
    if (own !== undefined) throw notBesideOwn(dir, file)
    return configured(configurationText(file), file, tools)
  }
  if (own !== undefined) return { transformer: await ownTransformer(own, tools), plugins: [] }
  if (!secrets) return undefined
  const made: OwnConfiguration = { enabled: true, keys: [newOwnKey(provider, tools)] }
  // Secrets that are there already are encrypted once the store is open; what is written before is so at once.
  writeStage(dir, "reencrypt_active")
  writeOwnConfiguration(dir, made)
  return { transformer: await ownTransformer(made, tools), plugins: [] }
}

/**
 * Returns what encrypts the values of a store that several servers share, which all have this file with this content.
 * @throws Error that names the file
 */
export async function loadSharedEncryption(
  text: string,
  file: string,
  { random, metrics }: EncryptionTools,
): Promise<Loaded> {
  const configuration = parseEncryptionConfiguration(text, file)
  return {
    transformer: await transformerOf(configuration, { random, metrics, kms: refuseSharedKms(file) }),
    plugins: [],
    text,
  }
}

/** A plugin is asked for a key before a value is read; a value that another server has just written cannot wait. */
const refuseSharedKms = (file: string) => (): never => {
  throw kmsIsNotShared(file)
}
export const kmsIsNotShared = (file: string): Error =>
  new Error(`Cannot use the KMS plugin in ${file} with a store that servers share: use secretbox, aesgcm or aescbc`)

export const notBesideOwn = (dir: string, file: string): Error =>
  new Error(
    `Cannot use --encryption-provider-config ${file} beside ${ownConfigurationFile(dir)}: add the providers of ` +
      "the latter to your file, behind your own, and remove it",
  )

export const ownTransformer = (own: OwnConfiguration, tools: EncryptionTools): Promise<ValueTransformer> =>
  transformerOf(encryptionConfigurationOf(own), { random: tools.random, metrics: tools.metrics, kms: refuseKms })

/** Returns what a configuration of the user says. @param file for messages */
export const configured = async (text: string, file: string, tools: EncryptionTools): Promise<Loaded> => ({
  ...(await withPlugins(parseEncryptionConfiguration(text, file), tools)),
  text,
})

/** Asks each plugin once, so that a healthy one can be used at once. One that does not answer costs its timeout. */
async function withPlugins(configuration: EncryptionConfiguration, tools: EncryptionTools): Promise<Loaded> {
  const needsKms = configuration.resources.some(({ providers }) => providers.some(({ kms }) => kms !== undefined))
  // gRPC is loaded where it is needed only.
  const openPlugin = needsKms ? (await import("./kms/open-plugin.ts")).openPlugin : refuseKms
  const plugins: KmsPlugin[] = []
  const transformer = await transformerOf(configuration, {
    random: tools.random,
    metrics: tools.metrics,
    kms(kms) {
      const plugin = openPlugin(kms, tools)
      plugins.push(plugin)
      return plugin
    },
  })
  await Promise.all(plugins.map((plugin) => plugin.start()))
  return { transformer, plugins }
}

/** Returns the content of the file of `--encryption-provider-config`. @throws Error that names it */
export function configurationText(file: string): string {
  const text = readIfExists(file)
  if (text !== undefined) return text
  throw new Error(
    `error while parsing file: error while loading file: error reading encryption provider configuration file ` +
      `"${file}": open ${file}: no such file or directory`,
  )
}

const refuseKms = (): never => {
  throw new TypeError("Keys of k3ts do not come from a KMS plugin")
}
