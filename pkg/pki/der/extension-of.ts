import type { X509Certificate } from "node:crypto"
import { oid, readAll } from "./der.ts"

const EXTENSIONS = 0xa3

/** Returns the DER of a certificate's extension by its object identifier; undefined when it has none. */
export function extensionOf(certificate: X509Certificate, identifier: string): Buffer | undefined {
  const wanted = oid(identifier).subarray(2)
  const [whole] = readAll(certificate.raw)
  const [toBeSigned] = readAll(whole!.content)
  const extensions = readAll(toBeSigned!.content).find(({ tag }) => tag === EXTENSIONS)
  const [list] = extensions === undefined ? [] : readAll(extensions.content)
  for (const { content } of list === undefined ? [] : readAll(list.content)) {
    const parts = readAll(content)
    if (parts[0]?.content.equals(wanted) === true) return parts.at(-1)!.content
  }
  return undefined
}
