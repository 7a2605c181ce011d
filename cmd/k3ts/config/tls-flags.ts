import { CIPHER_SUITES, TLS_VERSIONS, tlsProfileOf, type TlsProfile } from "../../../pkg/runtime/http/tls-profile.ts"
import { word } from "../cli/flag-type.ts"
import { list, value, type FlagsOf } from "../cli/flags.ts"

/** The flags of TLS at the API server's port, under upstream's names. Source: apiserver pkg/server/options/serving.go. */
export const tlsFlags = {
  "tls-min-version": value(word(Object.keys(TLS_VERSIONS)).optional(), "Least version of TLS at the API server", {
    choices: Object.keys(TLS_VERSIONS),
    defaultText: "VersionTLS12",
  }),
  "tls-cipher-suites": list(
    word(CIPHER_SUITES),
    "Cipher suite of TLS 1.2 at the API server; those of TLS 1.3 are always on",
    { placeholder: "NAME", defaultText: "those of the TLS library" },
  ),
} as const

export const tlsProfileIn = (flags: FlagsOf<typeof tlsFlags>): TlsProfile | undefined =>
  tlsProfileOf(flags["tls-min-version"], flags["tls-cipher-suites"])
