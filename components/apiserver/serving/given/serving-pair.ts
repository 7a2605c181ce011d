/** Reads a certificate and its key from files that an administrator gives. */
import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto"
import { isIP } from "node:net"
import { namesIn } from "../../../../pkg/api/coordination/v1/server-lease.ts"
import { isWildcardDNS1123Subdomain, isDNS1123Subdomain } from "../../../../pkg/apimachinery/validation/names.ts"
import { ConfigurationError } from "../../../../pkg/config-file/config-file.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { readRegularFile } from "../../../../pkg/files/regular-file.ts"
import { subjectOf } from "../../../../pkg/pki/der/subject.ts"
import { splitPem } from "../../../../pkg/pki/verify.ts"
import type { KeyPair } from "../../../../pkg/runtime/http/certificate-choice.ts"

export interface PairFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** A certificate that can be served, and the names that it has, in lower case. */
export interface ServingPair extends KeyPair {
  /** The common name, where it is a DNS name or a pattern of names; none else. */
  readonly commonNames: readonly string[]
  readonly dnsNames: readonly string[]
}

/** No certificate with its intermediates is larger, even one of thousands of names, in bytes. */
const LARGEST = 1024 * 1024

/**
 * Reads a pair. As upstream, neither the time nor the names of the certificate are checked: clients do that.
 * @throws ConfigurationError that names the file, what is wrong in it and the mend
 */
export function readServingPair({ certFile, keyFile }: PairFiles): ServingPair {
  const cert = textOf(certFile)
  const [first] = splitPem(cert)
  if (first === undefined)
    throw new ConfigurationError(
      `${certFile}: has no certificate in PEM: it must begin with -----BEGIN CERTIFICATE-----`,
    )
  for (const [i, pem] of splitPem(cert).entries()) certificateIn(pem, `${certFile}: certificate ${i + 1}`)
  const leaf = certificateIn(first, certFile)
  const key = textOf(keyFile)
  if (!leaf.checkPrivateKey(keyIn(key, keyFile)))
    throw new ConfigurationError(
      `${keyFile}: is not the key of the first certificate of ${certFile}: give its own key, and put the server's ` +
        "certificate before its authorities",
    )
  const { commonName } = subjectOf(first)
  return {
    cert,
    key,
    commonNames: isName(commonName) ? [commonName.toLowerCase()] : [],
    dnsNames: namesIn(leaf.subjectAltName ?? "").filter((name) => isIP(name) === 0),
  }
}

const isName = (name: string): boolean =>
  isIP(name) === 0 &&
  (name === "*" ||
    isDNS1123Subdomain(name.toLowerCase()) === undefined ||
    isWildcardDNS1123Subdomain(name.toLowerCase()) === undefined)

function textOf(path: string): string {
  let text: string | undefined
  try {
    text = readRegularFile(path, LARGEST)
  } catch (err) {
    throw new ConfigurationError(`${path}: cannot be used for TLS: ${errorMessage(err)}`, { cause: err })
  }
  if (text === undefined) throw new ConfigurationError(`${path}: there is no such file`)
  if (text.trim() === "") throw new ConfigurationError(`${path}: is empty`)
  return text
}

function certificateIn(pem: string, what: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch (err) {
    throw new ConfigurationError(`${what}: cannot be read: ${errorMessage(err)}`, { cause: err })
  }
}

function keyIn(pem: string, file: string): KeyObject {
  const isEncrypted = /^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem)
  if (isEncrypted)
    throw new ConfigurationError(`${file}: is encrypted: write it without a passphrase, as by openssl pkey -in ${file}`)
  if (!/-----BEGIN ([A-Z]+ )?PRIVATE KEY-----/.test(pem))
    throw new ConfigurationError(
      `${file}: has no private key in PEM: it must begin with -----BEGIN PRIVATE KEY-----, or that of EC or RSA`,
    )
  try {
    return createPrivateKey(pem)
  } catch (err) {
    throw new ConfigurationError(`${file}: has a key that cannot be read: ${errorMessage(err)}`, { cause: err })
  }
}
