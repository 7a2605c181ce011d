import { existsSync } from "node:fs"
import { parseEncryptionConfiguration } from "./configuration.ts"
import { ownConfigurationFile } from "./credential-files.ts"
import { configurationText, kmsIsNotShared, notBesideOwn, type EncryptionConfig } from "./load.ts"
import { readOwnConfiguration } from "./own-configuration.ts"

/** The keys of one server are no use where several read the store. */
export const ownKeysAreNotShared = (): Error =>
  new Error(
    "Cannot use --secrets-encryption with a store that servers share: its keys are this server's own. Give every server " +
      "the same --encryption-provider-config instead",
  )

/**
 * Finds what would keep the store from being opened, and writes nothing. No plugin is asked.
 * @param dir `<data-dir>/server`
 * @throws Error that names the mend
 */
export function refuseEncryption(dir: string, { secrets, file }: EncryptionConfig, isShared: boolean): void {
  if (isShared && secrets) throw ownKeysAreNotShared()
  if (!isShared && file !== undefined && existsSync(ownConfigurationFile(dir))) throw notBesideOwn(dir, file)
  if (!isShared) readOwnConfiguration(dir)
  if (file === undefined) return
  const { resources } = parseEncryptionConfiguration(configurationText(file), file)
  if (isShared && resources.some(({ providers }) => providers.some(({ kms }) => kms !== undefined)))
    throw kmsIsNotShared(file)
}
