import { basename } from "node:path"
import { formatTime, humanDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { defineCommand, type CommandGroup } from "../cli/command.ts"
import { boolean, list, oneOf, value } from "../cli/flags.ts"
import { word } from "../cli/flag-type.ts"
import { filePath } from "../cli/values.ts"
import {
  backUp,
  newAuthorities,
  removeLeaves,
  reports,
  SERVICE_NAMES,
  SERVICES,
  tlsFolder,
  type FileReport,
  type Service,
} from "../certificate-files.ts"
import { readableFolder } from "../credentials.ts"
import { findServer, lockDataDir } from "../process/pid-file.ts"
import { configFlag, dataDirFlag } from "../config/server-flags.ts"
import { table } from "../table.ts"

const FLAGS = { config: configFlag(), "data-dir": dataDirFlag() }

/** Services of k3s that are parts of the server here. */
const IN_PROCESS = ["controller-manager", "scheduler", "k3s-controller", "cloud-controller", "etcd", "kube-proxy"]

const serviceFlag = () =>
  list(
    word(SERVICE_NAMES, (text) =>
      IN_PROCESS.includes(text)
        ? "is a part of the server and has no certificate"
        : `must be one of ${SERVICE_NAMES.join(", ")}`,
    ),
    "Whose certificates; may be repeated",
    { short: "s", placeholder: "NAME", choices: SERVICE_NAMES, defaultText: "all" },
  )

const check = defineCommand({
  summary: "Show every certificate of the cluster, what it is for and when it ends",
  flags: { ...FLAGS, service: serviceFlag(), output: oneOf(["text", "json"], "text", "Form of the output") },
  run({ flags, print }) {
    const now = realClock.now()
    readableFolder(tlsFolder(flags["data-dir"]), flags["data-dir"])
    const found = reports(flags["data-dir"], flags.service, now)
    print(
      flags.output === "json"
        ? `${JSON.stringify({ certificates: found.map(asJson) }, undefined, 2)}\n`
        : table(["FILENAME", "SUBJECT", "USAGES", "EXPIRES", "RESIDUAL TIME", "STATUS"], found.map(asRow)),
    )
    return Promise.resolve(0)
  },
})

const asRow = ({ filename, subject, usages, expires, residualMs, status }: FileReport): readonly string[] => [
  filename,
  subject,
  usages.join(","),
  formatTime(expires),
  residualMs < 0 ? "-" : humanDuration(residualMs),
  status,
]
/** Names as k3s has them in its JSON, in the case of Kubernetes. */
const asJson = ({ expires, residualMs, ...report }: FileReport) => ({
  ...report,
  expiryTime: formatTime(expires),
  residualSeconds: Math.floor(residualMs / 1000),
})

/**
 * Changes the files while no server can start, which would read half of the old and half of the new ones.
 * @throws Error while a server runs, which would go on with what it has read
 */
function whileStopped(dataDir: string, change: () => void): void {
  const running = findServer(dataDir)
  if (running !== undefined)
    throw new Error(`a k3ts server runs on ${dataDir} (pid ${running.pid}); stop it first, pods go on running`)
  const lock = lockDataDir(dataDir)
  try {
    change()
  } finally {
    lock.release()
  }
}

const rotate = defineCommand({
  summary: "Make the next start issue new certificates; authorities stay, and the server must be stopped",
  details: "The certificates and keys as they are now are copied to server/tls-TIME below the data directory.",
  flags: { ...FLAGS, service: serviceFlag() },
  run({ flags, print }) {
    const dataDir = flags["data-dir"]
    readableFolder(tlsFolder(dataDir), dataDir)
    const services = flags.service.length > 0 ? flags.service : (Object.keys(SERVICES) as Service[])
    whileStopped(dataDir, () => {
      const copy = backUp(dataDir, realClock.now())
      const removed = removeLeaves(dataDir, services)
      for (const name of removed) print(`${name}: the next start makes a new certificate\n`)
      print(`Backed up certificates to ${copy}; start k3ts server to make new ones\n`)
    })
    return Promise.resolve(0)
  },
})

const rotateCa = defineCommand({
  summary: "Replace the certificate authorities, or the key of service account tokens; the server must be stopped",
  details:
    "The folder tls below --path has the new files: server-ca, client-ca and request-header-ca, each with its .crt " +
    "(the new certificate first, then those up to a root) and .key, and service.key (the new key first, then the old " +
    "one). A new authority should be signed by the old one too (cross-signed), so that clients of the old one still work.",
  flags: {
    ...FLAGS,
    path: value(filePath, "Folder with the new files in its folder tls", { placeholder: "DIR", path: true }),
    force: boolean("Accept them even if clients that trust the old ones do not trust them"),
  },
  run({ flags, print }) {
    const dataDir = flags["data-dir"]
    readableFolder(tlsFolder(dataDir), dataDir)
    whileStopped(dataDir, () => takeNew({ dataDir, path: flags.path, force: flags.force, print }))
    return Promise.resolve(0)
  },
})

interface TakeOptions {
  readonly dataDir: string
  readonly path: string
  readonly force: boolean
  print(text: string): void
}

/** @throws Error that names what cannot be taken */
function takeNew({ dataDir, path, force, print }: TakeOptions): void {
  const now = realClock.now()
  const { found, unusable, untrusted, take } = newAuthorities(dataDir, path, now)
  if (found.length === 0 && unusable.length === 0)
    throw new Error(`there are no new files in ${path}/tls: put server-ca.crt and server-ca.key there`)
  const problems = [...unusable, ...untrusted]
  if (unusable.length > 0 || (untrusted.length > 0 && !force))
    throw new Error(
      `failed to validate new CA certificates and keys:\n${problems.map((one) => `  ${one}`).join("\n")}` +
        (unusable.length > 0 ? "" : "\nuse --force to accept them anyway"),
    )
  for (const problem of untrusted) print(`warning: ${problem}\n`)
  const copy = backUp(dataDir, now)
  take()
  removeLeaves(dataDir, SERVICE_NAMES)
  print(`Took ${found.join(", ")}; the earlier files are in ${basename(copy)}. Start k3ts server to use them\n`)
}

const group: CommandGroup = {
  summary: "Certificates and authorities of a cluster",
  commands: { check, rotate, "rotate-ca": rotateCa },
}
export default group
