import type { X509Certificate } from "node:crypto"
import { oid, readAll } from "./der.ts"

const SUBJECT_KEY_ID = oid("2.5.29.14").subarray(2)
const EXTENSIONS = 0xa3

/**
 * The identifier that an authority's certificate has for its key; undefined where it has none. Certificates that the
 * authority signs must name the same one, in whatever way it was made (RFC 5280, 4.2.1.1): OpenSSL finds no way from
 * the one to the other otherwise.
 */
export function subjectKeyOf(certificate: X509Certificate): Buffer | undefined {
  const [whole] = readAll(certificate.raw)
  const [toBeSigned] = readAll(whole!.content)
  const extensions = readAll(toBeSigned!.content).find(({ tag }) => tag === EXTENSIONS)
  const [list] = extensions === undefined ? [] : readAll(extensions.content)
  for (const { content } of list === undefined ? [] : readAll(list.content)) {
    const parts = readAll(content)
    if (parts[0]?.content.equals(SUBJECT_KEY_ID) === true) return readAll(parts.at(-1)!.content)[0]?.content
  }
  return undefined
}
