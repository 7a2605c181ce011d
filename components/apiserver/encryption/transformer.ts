import { Buffer } from "node:buffer"
import type { Random } from "../../../pkg/clock/random.ts"
import { IDENTITY, PLACED, type ValueTransformer } from "../../../pkg/storage/value-transformer.ts"
import { aesCbc, aesGcm, type Cipher } from "./aes.ts"
import {
  groupResourceOf,
  secretBytes,
  type EncryptionConfiguration,
  type KmsConfiguration,
  type NamedKey,
  type ProviderEntry,
} from "./configuration.ts"
import type { EncryptionMetrics } from "./encryption-metrics.ts"
import { firstOf, type Provider } from "./provider.ts"

export interface TransformerTools {
  readonly random: Random
  /** Returns the provider of a KMS plugin; each is asked for once. */
  readonly kms: (configuration: KmsConfiguration) => Provider
  readonly metrics?: EncryptionMetrics | undefined
}

type NewCipher = (key: Uint8Array, random: Random) => Cipher

/**
 * Returns what encrypts and decrypts values as a configuration says. The first rule for a kind counts; kinds without a
 * rule are written as they are. @throws Error for rules that earlier ones mask. Source: apiserver
 * pkg/server/options/encryptionconfig/config.go.
 */
export async function transformerOf(
  { resources }: EncryptionConfiguration,
  tools: TransformerTools,
): Promise<ValueTransformer> {
  // Loaded where it is configured only.
  const needsSecretbox = resources.some(({ providers }) => providers.some(({ secretbox }) => secretbox !== undefined))
  const box = needsSecretbox ? (await import("./secretbox.ts")).secretbox : undefined
  const byRule = new Map<string, Provider[]>()
  for (const { resources: names, providers } of resources) {
    const made = providers.map((entry) => providerOf(entry, tools, box))
    for (const name of names) {
      refuseMasked(name, byRule)
      byRule.set(ruleOf(name), [...(byRule.get(ruleOf(name)) ?? []), ...made])
    }
  }
  const rules = new Map(
    [...byRule].map(([rule, providers]) => [rule, firstOf(providers, "no matching prefix found", tools.metrics)]),
  )
  const byPrefix = new Map<string, ValueTransformer>()
  const transformerFor = (key: string): ValueTransformer => {
    const [, , group = "", resource = ""] = key.split("/", 4)
    const prefix = `${group}/${resource}`
    const known = byPrefix.get(prefix)
    if (known !== undefined) return known
    const found = rules.get(prefix) ?? rules.get(`${group}/*`) ?? rules.get("*/*") ?? IDENTITY
    byPrefix.set(prefix, found)
    return found
  }
  return {
    seal: (json, place) => transformerFor(place.key).seal(json, place),
    open: (value, place) => transformerFor(place.key).open(value, place),
  }
}

/** The rule as the keys of the store name kinds: `core/secrets`, `apps/*`. */
function ruleOf(name: string): string {
  const { group, resource } = groupResourceOf(name)
  return `${group === "" ? "core" : group}/${resource}`
}

function refuseMasked(name: string, byRule: ReadonlyMap<string, unknown>): void {
  const { group } = groupResourceOf(name)
  const own = ruleOf(name)
  for (const [rule, words] of [
    [`${group === "" ? "core" : group}/*`, `*.${group}`],
    ["*/*", "*.*"],
  ] as const)
    if (own !== rule && byRule.has(rule)) throw building(`resource "${name}" is masked by earlier rule "${words}"`)
}

export const building = (what: string): Error => new Error(`error while building transformers: ${what}`)

function providerOf(
  { aesgcm, aescbc, secretbox, kms }: ProviderEntry,
  tools: TransformerTools,
  box: NewCipher | undefined,
): Provider {
  if (aesgcm !== undefined) return keyed("aesgcm", aesgcm.keys, aesGcm, tools)
  if (aescbc !== undefined) return keyed("aescbc", aescbc.keys, aesCbc, tools)
  if (secretbox !== undefined) return keyed("secretbox", secretbox.keys, box!, tools)
  if (kms !== undefined) return tools.kms(kms)
  return { prefix: Buffer.alloc(0), ...IDENTITY }
}

/** A provider with keys of its own: values begin with `k8s:enc:aescbc:v1:key1:`. */
function keyed(
  provider: string,
  keys: readonly NamedKey[],
  newCipher: NewCipher,
  { random, metrics }: TransformerTools,
): Provider {
  const ofKeys = keys.map(({ name, secret }) => ({
    prefix: Buffer.from(`${name}:`),
    ...encrypting(newCipher(secretBytes(secret)!, random)),
  }))
  const words = provider === "secretbox" ? "Secretbox" : "AES"
  return {
    prefix: Buffer.from(`k8s:enc:${provider}:v1:`),
    ...firstOf(ofKeys, `no matching key was found for the provided ${words} transformer`, metrics),
  }
}

/** Encrypts with one cipher. The key of the object is the associated data, as upstream. */
export const encrypting = (cipher: Cipher): ValueTransformer => ({
  seal: (json, place) => cipher.encrypt(PLACED.add(json, place), Buffer.from(place.key)),
  open: (value, place) => ({
    json: PLACED.remove(cipher.decrypt(value, Buffer.from(place.key)), place),
    stale: false,
  }),
})
