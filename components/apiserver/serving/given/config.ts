import type { PairFiles } from "./serving-pair.ts"

/** The certificates that an administrator gives for the API server's port. */
export interface GivenCertificatesConfig {
  /** The certificate for names that no other one has: `--tls-cert-file`, `--tls-private-key-file`. */
  readonly usual?: PairFiles | undefined
  /** Further ones, as `--tls-sni-cert-key` has them. */
  readonly named: readonly (PairFiles & { readonly patterns: readonly string[] })[]
}
