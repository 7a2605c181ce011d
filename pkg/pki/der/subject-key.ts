import type { X509Certificate } from "node:crypto"
import { readAll } from "./der.ts"
import { extensionOf } from "./extension-of.ts"

const SUBJECT_KEY_ID = "2.5.29.14"

/**
 * Returns the key identifier in an authority's certificate; undefined when it has none. Certificates that the authority
 * signs must contain the same one, however it was made (RFC 5280, 4.2.1.1): otherwise OpenSSL finds no chain.
 */
export function subjectKeyOf(certificate: X509Certificate): Buffer | undefined {
  const value = extensionOf(certificate, SUBJECT_KEY_ID)
  return value === undefined ? undefined : readAll(value)[0]?.content
}
