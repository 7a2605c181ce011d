/**
 * Whom a connection over TLS trusts, by the rules of Go, which users of Kubernetes know: every certificate of a bundle
 * is an anchor, whether it is a root, an intermediate authority or the server's own certificate. TLS libraries in C
 * only end a chain at a certificate that has signed itself, unless `allowPartialTrustChain` is set.
 */
import { Buffer } from "node:buffer"
import { X509Certificate } from "node:crypto"
import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { join } from "node:path"
import tls from "node:tls"
import { splitPem } from "./verify.ts"

/** The options of a TLS connection or listener that say whom it trusts. */
export interface Trust {
  readonly ca: string
  readonly allowPartialTrustChain: true
}

/** Returns the options that trust the certificates of `pem`, and no others. */
export const trustingOnly = (pem: string): Trust => ({ ca: pem, allowPartialTrustChain: true })

/** Returns the options that trust the certificates of `pem`; those of the system when it is undefined or blank. */
export const trusting = (pem: string | undefined): Trust =>
  pem === undefined || pem.trim() === "" ? { ca: systemAuthorities(), allowPartialTrustChain: true } : trustingOnly(pem)

/** Returns the options that trust a `caBundle` of an API object: PEM in base64; when it is empty, the system's. */
export const trustingBundle = (caBundle: string): Trust => trusting(Buffer.from(caBundle, "base64").toString())

/** Where the system's authorities are: the first file that can be read counts, and all files of all folders. */
export interface SystemStore {
  readonly files: readonly string[]
  readonly folders: readonly string[]
}

/** Source: Go crypto/x509 root_linux.go. */
const USUAL_STORE: SystemStore = {
  files: [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
  ],
  folders: ["/etc/ssl/certs", "/etc/pki/tls/certs"],
}

/** Returns the system's store, of which SSL_CERT_FILE and SSL_CERT_DIR (folders separated by colons) replace a part. */
export function systemStore({ SSL_CERT_FILE: file = "", SSL_CERT_DIR: folders = "" }: NodeJS.ProcessEnv): SystemStore {
  return {
    files: file === "" ? USUAL_STORE.files : [file],
    folders: folders === "" ? USUAL_STORE.folders : folders.split(":"),
  }
}

/** Returns the certificates of a store as PEM, each once. What is no certificate is skipped, as Go does. */
export function readStore({ files, folders }: SystemStore): string[] {
  const found = new Set<string>()
  const add = (path: string): boolean => {
    const text = textOf(path)
    for (const pem of splitPem(text ?? "")) if (isCertificate(pem)) found.add(pem)
    return text !== undefined
  }
  files.some(add)
  for (const folder of folders) for (const name of namesIn(folder)) add(join(folder, name))
  return [...found]
}

/** Read once in a process, as Go does. One text: an agent would join a list for each request, to find a connection. */
let known: string | undefined

/**
 * Returns the system's authorities. Differs from upstream: where a system has none and no variable names any, as in an
 * empty image, those built into the runtime are trusted; and those of the file NODE_EXTRA_CA_CERTS are trusted too, as
 * users of JavaScript expect.
 */
function systemAuthorities(): string {
  if (known !== undefined) return known
  const { SSL_CERT_FILE = "", SSL_CERT_DIR = "", NODE_EXTRA_CA_CERTS = "" } = process.env
  const read = readStore(systemStore(process.env))
  const found = read.length === 0 && `${SSL_CERT_FILE}${SSL_CERT_DIR}` === "" ? tls.rootCertificates : read
  const extra = NODE_EXTRA_CA_CERTS === "" ? [] : readStore({ files: [NODE_EXTRA_CA_CERTS], folders: [] })
  known = [...new Set([...found, ...extra])].join("\n")
  return known
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}

/** Returns the files of a folder, without links to other files of it, such as those named by a hash. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isSymbolicLink() && !readlinkSync(join(folder, entry.name)).includes("/") ? [] : [entry.name],
    )
  } catch {
    return []
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}
