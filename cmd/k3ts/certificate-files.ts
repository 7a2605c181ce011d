/** What `k3ts certificate` does with the files below `<data-dir>/server/tls`. */
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { readIfExists, replaceFile } from "../../pkg/files/files.ts"
import { verifyingKeysIn } from "../../pkg/jwt/signing-key.ts"
import { certificateReports, type CertificateReport } from "../../pkg/pki/certificate-report.ts"
import { AUTHORITIES } from "../../pkg/pki/cluster-pki.ts"
import { authorityProblems } from "../../pkg/pki/new-authority.ts"
import { readPair, writePair } from "../../pkg/pki/pair-files.ts"
import { pushAll } from "../../pkg/lists/push-all.ts"

/** The certificates of each service, by k3s' names. All other parts run in the server and have none. */
export const SERVICES = {
  admin: ["client-admin"],
  "api-server": ["serving-kube-apiserver"],
  "auth-proxy": ["client-auth-proxy"],
  kubelet: ["serving-kubelet"],
} as const
export type Service = keyof typeof SERVICES
export const SERVICE_NAMES = Object.keys(SERVICES) as [Service, ...Service[]]

export const tlsFolder = (dataDir: string): string => join(dataDir, "server/tls")

export interface FileReport extends CertificateReport {
  readonly filename: string
}

/** Every certificate of the cluster, or those of some services. @throws Error that names a file that is none */
export function reports(dataDir: string, services: readonly Service[], now: number): readonly FileReport[] {
  const wanted = services.flatMap((service) => SERVICES[service].map((name) => `${name}.crt`))
  const files = readdirSync(tlsFolder(dataDir)).filter(
    (name) => name.endsWith(".crt") && (services.length === 0 || wanted.includes(name as never)),
  )
  return files
    .sort()
    .flatMap((filename) =>
      reportsOf(join(tlsFolder(dataDir), filename), now).map((report) => ({ filename, ...report })),
    )
}

/** @throws Error that names the file when it has no certificates that can be read */
function reportsOf(path: string, now: number): readonly CertificateReport[] {
  try {
    return certificateReports(readIfExists(path) ?? "", now)
  } catch (err) {
    throw new Error(`${path} cannot be read as certificates: ${(err as Error).message}`, { cause: err })
  }
}

/** Copies all certificates and keys aside. Returns the folder. `now` is in milliseconds since the epoch. */
export function backUp(dataDir: string, now: number): string {
  const folder = join(dataDir, "server", `tls-${Math.floor(now / 1000)}`)
  mkdirSync(folder, { mode: 0o700 })
  cpSync(tlsFolder(dataDir), folder, { recursive: true, preserveTimestamps: true })
  return folder
}

/** Removes the certificates of services: the next start makes new ones. Returns the names of those that were there. */
export function removeLeaves(dataDir: string, services: readonly Service[]): readonly string[] {
  const names = services.flatMap((service) => [...SERVICES[service]])
  const found = names.filter((name) => existsSync(join(tlsFolder(dataDir), `${name}.crt`)))
  for (const name of names)
    for (const ending of ["crt", "key"]) rmSync(join(tlsFolder(dataDir), `${name}.${ending}`), { force: true })
  return found
}

export interface NewAuthorities {
  /** What there is to take, as file names without folder. */
  readonly found: readonly string[]
  /** Why it cannot be taken, whatever is asked for. */
  readonly unusable: readonly string[]
  /** Why it should not be taken. */
  readonly untrusted: readonly string[]
  /** Puts the files in their places. */
  take(): void
}

/** The authorities and the key of service account tokens below `<path>/tls`, as k3s has them. */
export function newAuthorities(dataDir: string, path: string, now: number): NewAuthorities {
  const [from, to] = [join(path, "tls"), tlsFolder(dataDir)]
  const unusable: string[] = []
  const untrusted: string[] = []
  const writes: { readonly file: string; write(): void }[] = []
  for (const name of AUTHORITIES) {
    const { certPem, keyPem } = readPair(from, name)
    if (certPem === undefined && keyPem === undefined) continue
    if (certPem === undefined || keyPem === undefined) {
      unusable.push(`${name}: ${name}.${certPem === undefined ? "crt" : "key"} is missing`)
      continue
    }
    const problems = authorityProblems(name, readPair(to, name).certPem ?? "", { certPem, keyPem }, now)
    pushAll(unusable, problems.unusable)
    pushAll(untrusted, problems.untrusted)
    writes.push({ file: `${name}.crt`, write: () => writePair(to, name, { certPem, keyPem }, { sync: true }) })
  }
  const keys = readIfExists(join(from, "service.key"))
  if (keys !== undefined) {
    const problem = serviceKeyProblem(readIfExists(join(to, "service.key")) ?? "", keys)
    if (problem?.isFatal === true) unusable.push(problem.text)
    else if (problem !== undefined) untrusted.push(problem.text)
    const target = join(to, "service.key")
    writes.push({ file: "service.key", write: () => replaceFile(target, keys, { mode: 0o600, sync: true }) })
  }
  return {
    found: writes.map(({ file }) => file),
    unusable,
    untrusted,
    take: () => writes.forEach(({ write }) => write()),
  }
}

function serviceKeyProblem(
  old: string,
  next: string,
): { readonly text: string; readonly isFatal: boolean } | undefined {
  try {
    const [current] = verifyingKeysIn(old)
    const isThere = verifyingKeysIn(next).some(({ keyId }) => keyId === current?.keyId)
    return isThere || current === undefined
      ? undefined
      : { text: "service.key: old ServiceAccount signing key not in new ServiceAccount key list", isFatal: false }
  } catch (err) {
    return { text: `service.key: ${(err as Error).message}`, isFatal: true }
  }
}
