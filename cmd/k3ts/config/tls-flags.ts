import { isIP } from "node:net"
import type { ApiServerConfig } from "../../../components/apiserver/apiserver-config.ts"
import { unreadable } from "../../../pkg/files/unreadable.ts"
import { CIPHER_SUITES, TLS_VERSIONS, tlsProfileOf, type TlsProfile } from "../../../pkg/runtime/http/tls-profile.ts"
import { readingAs, word } from "../cli/flag-type.ts"
import { list, value, type FlagsOf } from "../cli/flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import * as v from "../cli/values.ts"

/**
 * `CERT,KEY`, or `CERT,KEY:PATTERN,…`. Source: component-base cli/flag/namedcertkey_flag.go. Differs from upstream: a
 * pattern that no name can match is refused, and so is an address, where everybody gets the cluster's own certificate.
 */
const namedPair = readingAs((text) => {
  const colon = text.indexOf(":")
  const files = (colon < 0 ? text : text.slice(0, colon)).split(",").map((file) => v.filePath.read(file.trim()))
  const [cert, key] = files
  if (files.length !== 2 || cert === undefined || key === undefined || "fault" in cert || "fault" in key)
    return { fault: "must be CERT,KEY, two files, and may have :NAME,… behind them" }
  const patterns = colon < 0 ? [] : text.slice(colon + 1).split(",")
  const wrong = patterns.map((pattern) => pattern.trim()).find((pattern) => !isPattern(pattern))
  if (wrong !== undefined)
    return {
      fault:
        isIP(wrong) === 0
          ? `${JSON.stringify(wrong)} must be a DNS name or *.NAME`
          : `clients that come to ${wrong} get the cluster's own certificate: give them a name`,
    }
  const fault = [cert.value, key.value].flatMap((file) => unreadable(file)?.replace(/^/, `${file}: `) ?? [])[0]
  if (fault !== undefined) return { fault }
  return { value: { certFile: cert.value, keyFile: key.value, patterns: patterns.map((pattern) => pattern.trim()) } }
})

const isPattern = (text: string): boolean =>
  text === "*" || (isIP(text) === 0 && !("fault" in v.dnsName.read(text.toLowerCase().replace(/^\*\./, ""))))

/** The flags of TLS at the API server's port, under upstream's names. Source: apiserver pkg/server/options/serving.go. */
export const tlsFlags = {
  "tls-cert-file": value(
    v.fileToRead.optional(),
    "Certificate that clients get, with its authorities after it; pods and agents still get the cluster's own",
    { placeholder: "FILE", path: true, defaultText: "the cluster's own for everybody" },
  ),
  "tls-private-key-file": value(v.fileToRead.optional(), "Key of tls-cert-file", { placeholder: "FILE", path: true }),
  "tls-sni-cert-key": list(
    namedPair,
    "Certificate and key for clients that ask for a name; without names those of the certificate",
    { placeholder: "CERT,KEY[:NAME,…]", split: (text) => [text] },
  ),
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
type TlsFlags = FlagsOf<typeof tlsFlags>

export const tlsProfileIn = (flags: Pick<TlsFlags, "tls-min-version" | "tls-cipher-suites">): TlsProfile | undefined =>
  tlsProfileOf(flags["tls-min-version"], flags["tls-cipher-suites"])

/** Returns the certificates that the flags name. @throws UsageError where one file of a pair is missing */
export function givenCertificatesOf(
  flags: Pick<TlsFlags, "tls-cert-file" | "tls-private-key-file" | "tls-sni-cert-key">,
): Pick<ApiServerConfig, "givenCertificates"> {
  const { "tls-cert-file": certFile, "tls-private-key-file": keyFile, "tls-sni-cert-key": named } = flags
  if (certFile !== undefined && keyFile === undefined)
    throw new UsageError(`--tls-cert-file ${certFile} needs its key: give --tls-private-key-file FILE`)
  if (keyFile !== undefined && certFile === undefined)
    throw new UsageError(`--tls-private-key-file ${keyFile} needs its certificate: give --tls-cert-file FILE`)
  const usual = certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile }
  return usual === undefined && named.length === 0 ? {} : { givenCertificates: { usual, named } }
}
