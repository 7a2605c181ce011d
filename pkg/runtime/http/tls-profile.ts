/** What a listener demands of TLS. */
export interface TlsProfile {
  readonly minVersion: "TLSv1.2" | "TLSv1.3"
  /** The ciphers of TLS 1.2, as OpenSSL writes them; those of the library unless given. TLS 1.3 has its own. */
  readonly ciphers?: string
}

export const DEFAULT_TLS_PROFILE: TlsProfile = { minVersion: "TLSv1.2" }

/** The cipher suites of TLS 1.2 by Go's names, and by OpenSSL's. Source: Go crypto/tls cipher_suites.go. */
const TLS_1_2: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "ECDHE-ECDSA-AES128-GCM-SHA256",
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: "ECDHE-ECDSA-AES256-GCM-SHA384",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: "ECDHE-ECDSA-CHACHA20-POLY1305",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305",
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: "ECDHE-ECDSA-AES128-SHA",
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: "ECDHE-ECDSA-AES256-SHA",
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: "ECDHE-RSA-AES128-GCM-SHA256",
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: "ECDHE-RSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: "ECDHE-RSA-CHACHA20-POLY1305",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-RSA-CHACHA20-POLY1305",
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: "ECDHE-RSA-AES128-SHA",
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: "ECDHE-RSA-AES256-SHA",
  TLS_RSA_WITH_AES_128_GCM_SHA256: "AES128-GCM-SHA256",
  TLS_RSA_WITH_AES_256_GCM_SHA384: "AES256-GCM-SHA384",
  TLS_RSA_WITH_AES_128_CBC_SHA: "AES128-SHA",
  TLS_RSA_WITH_AES_256_CBC_SHA: "AES256-SHA",
}
/** Suites of TLS 1.3, which are always on, as in Go. */
const TLS_1_3 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]

/** The names of the cipher suites that can be chosen. */
export const CIPHER_SUITES: readonly string[] = [...Object.keys(TLS_1_2), ...TLS_1_3].sort()

/** The versions of TLS that can be the least, by Kubernetes' names. */
export const TLS_VERSIONS: Readonly<Record<string, TlsProfile["minVersion"]>> = {
  VersionTLS12: "TLSv1.2",
  VersionTLS13: "TLSv1.3",
}

/** Returns what these names of Kubernetes' flags mean; undefined where nothing is said. */
export function tlsProfileOf(version: string | undefined, suites: readonly string[]): TlsProfile | undefined {
  if (version === undefined && suites.length === 0) return undefined
  const minVersion = TLS_VERSIONS[version ?? "VersionTLS12"] ?? "TLSv1.2"
  const ciphers = [...new Set(suites.flatMap((name) => TLS_1_2[name] ?? []))]
  if (suites.length === 0) return { minVersion }
  // As in Go: without a suite of TLS 1.2 nobody can speak it.
  return ciphers.length === 0 ? { minVersion: "TLSv1.3" } : { minVersion, ciphers: ciphers.join(":") }
}
