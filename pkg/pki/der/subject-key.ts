import type { X509Certificate } from "node:crypto"
import { readAll } from "./der.ts"
import { extensionOf } from "./extension-of.ts"

const SUBJECT_KEY_ID = "2.5.29.14"

/**
 * The identifier that an authority's certificate has for its key; undefined where it has none. Certificates that the
 * authority signs must name the same one, in whatever way it was made (RFC 5280, 4.2.1.1): OpenSSL finds no way from
 * the one to the other otherwise.
 */
export function subjectKeyOf(certificate: X509Certificate): Buffer | undefined {
  const value = extensionOf(certificate, SUBJECT_KEY_ID)
  return value === undefined ? undefined : readAll(value)[0]?.content
}
