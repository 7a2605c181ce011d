/**
 * The configuration that k3ts keeps by itself for `--secrets-encryption` and `k3ts secrets-encrypt`, with its keys, in
 * the form and place of k3s: `<data-dir>/server/cred/encryption-config.json`.
 */
import { Buffer } from "node:buffer"
import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { timestamp, type Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { readIfExists, replaceFile } from "../../../pkg/files/files.ts"
import { ownConfigurationFile, stageFile } from "./credential-files.ts"
import { parseEncryptionConfiguration, type EncryptionConfiguration, type ProviderEntry } from "./configuration.ts"
import { OWN_PROVIDERS, type OwnProvider } from "./own-providers.ts"

/** As in k3s, which knows more of them: there each server of a cluster must follow. */
export type Stage = "start" | "reencrypt_active" | "reencrypt_finished"

export interface OwnKey {
  readonly provider: OwnProvider
  readonly name: string
  readonly secret: string
}

/** Keys, the one that is written with first, and whether Secrets are encrypted at all. */
export interface OwnConfiguration {
  readonly enabled: boolean
  readonly keys: readonly OwnKey[]
}

/** Undefined where Secrets have never been encrypted. @throws Error that names the file */
export function readOwnConfiguration(dir: string): OwnConfiguration | undefined {
  const file = ownConfigurationFile(dir)
  const text = readIfExists(file)
  if (text === undefined) return undefined
  const { resources } = parseEncryptionConfiguration(text, file)
  const [{ providers }, ...others] = resources as [EncryptionConfiguration["resources"][number]]
  const isOwn = others.length === 0 && providers.every(({ kms }) => kms === undefined)
  if (!isOwn)
    throw new Error(
      `Cannot use ${file}: it must have one list of providers without kms; restore it from a backup, and use ` +
        "--encryption-provider-config for a configuration of your own",
    )
  const enabled = providers[0]?.identity === undefined
  return { enabled, keys: providers.flatMap(keysOf) }
}

const keysOf = (entry: ProviderEntry): readonly OwnKey[] =>
  OWN_PROVIDERS.flatMap((provider) => entry[provider]?.keys.map((key) => ({ provider, ...key })) ?? [])

/** The configuration as `--encryption-provider-config` would have it. Neighbouring keys of a provider share an entry. */
export function encryptionConfigurationOf({ enabled, keys }: OwnConfiguration): EncryptionConfiguration {
  const entries: ProviderEntry[] = []
  for (const { provider, name, secret } of keys) {
    const last = entries.at(-1)?.[provider]
    if (last === undefined) entries.push({ [provider]: { keys: [{ name, secret }] } })
    else last.keys.push({ name, secret })
  }
  const providers = enabled ? [...entries, { identity: {} }] : [{ identity: {} }, ...entries]
  return {
    kind: "EncryptionConfiguration",
    apiVersion: "apiserver.config.k8s.io/v1",
    resources: [{ resources: ["secrets"], providers }],
  }
}

/** Replaces the file as a whole and waits for the disk: with it lost, so are the Secrets. */
export function writeOwnConfiguration(dir: string, configuration: OwnConfiguration): void {
  mkdirSync(dirname(ownConfigurationFile(dir)), { recursive: true, mode: 0o700 })
  const text = `${JSON.stringify(encryptionConfigurationOf(configuration), undefined, 2)}\n`
  replaceFile(ownConfigurationFile(dir), text, { mode: 0o600, sync: true })
}

/** A new key of 32 bytes, named by the time, as k3s names them. */
export const newOwnKey = (
  provider: OwnProvider,
  { random, clock }: { readonly random: Random; readonly clock: Clock },
): OwnKey => ({
  provider,
  name: `${provider}key-${timestamp(clock)}`.replaceAll(":", "-"),
  secret: Buffer.from(random.bytes(32)).toString("base64"),
})

/** How far the last change of keys has come. */
export function readStage(dir: string): Stage {
  const text = readIfExists(stageFile(dir))
  return text?.includes('"reencrypt_active"') === true
    ? "reencrypt_active"
    : text?.includes('"reencrypt_finished"') === true
      ? "reencrypt_finished"
      : "start"
}

export function writeStage(dir: string, stage: Stage): void {
  mkdirSync(dirname(ownConfigurationFile(dir)), { recursive: true, mode: 0o700 })
  replaceFile(stageFile(dir), `${JSON.stringify({ stage })}\n`, { mode: 0o600, sync: true })
}
