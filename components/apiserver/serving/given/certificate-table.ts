/**
 * Which certificate a client gets, of those that an administrator gives (`--tls-cert-file`, `--tls-sni-cert-key`) and
 * the cluster's own. Source: apiserver pkg/server/dynamiccertificates named_certificates.go and tlsconfig.go, Go
 * crypto/tls getCertificate.
 *
 * Differs from upstream: the cluster's own certificate stays for those who trust only the cluster's authority, which
 * are pods, agents and all who come to an address. Upstream's controller manager gives pods another authority by
 * --root-ca-file.
 */
import type { CertificateChoice } from "../../../../pkg/runtime/http/certificate-choice.ts"
import type { ServingPair } from "./serving-pair.ts"

export interface NamedPair {
  readonly pair: ServingPair
  /** Names, and patterns such as `*.example.org`. Without any, those of the certificate count. */
  readonly patterns: readonly string[]
}

export interface TableOptions {
  /** The certificate for names that no other has. */
  readonly usual: ServingPair | undefined
  /** An earlier pair comes before a later one. */
  readonly named: readonly NamedPair[]
  /** Names that always get the cluster's own certificate. */
  readonly reserved: ReadonlySet<string>
  /** The names of the cluster's own certificate. */
  readonly own: readonly string[]
}

/** Builds the table. A look-up takes the same time for any number of names. */
export function certificateTable({ usual, named, reserved, own }: TableOptions): CertificateChoice {
  const chosen = new Map<string, ServingPair>()
  const explicit = named.flatMap(({ pair, patterns }) => patterns.map((pattern) => [canonical(pattern), pair] as const))
  const extracted = named.flatMap(({ pair, patterns }) =>
    patterns.length > 0 ? [] : [...pair.commonNames, ...pair.dnsNames].map((name) => [name, pair] as const),
  )
  // Names that are given come before those that certificates have.
  for (const [name, pair] of [...explicit, ...extracted]) if (!chosen.has(name)) chosen.set(name, pair)
  const candidates = [usual, ...named.map(({ pair }) => pair)].filter((pair) => pair !== undefined)
  /** The place of the first candidate that is valid for a name; the own certificate has the last place. */
  const places = new Map<string, number>()
  for (const [place, names] of [...candidates.map(({ dnsNames }) => dnsNames), own].entries())
    for (const name of names) if (!places.has(name)) places.set(name, place)

  return (asked) => {
    const name = canonical(asked)
    if (reserved.has(name)) return undefined
    const wildcard = name.replace(/^[^.]*/, "*")
    const found = chosen.get(name) ?? chosen.get(wildcard)
    if (found !== undefined) return found
    const place = Math.min(places.get(name) ?? Infinity, places.get(wildcard) ?? Infinity)
    return place === Infinity ? usual : candidates[place]
  }
}

const canonical = (name: string): string => name.toLowerCase().replace(/\.$/, "")
