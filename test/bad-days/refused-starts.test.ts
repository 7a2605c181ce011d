/** A start that is refused leaves the data directory as it was: whoever mends the flag goes on as if nothing had been. */
import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { k3ts, startServer } from "../cli/k3ts.ts"
import { hasEtcd } from "../harness/etcd.ts"

const base = mkdtempSync(join(tmpdir(), "k3ts-refused-"))
afterAll(() => rmSync(base, { recursive: true }))
/** A data directory with a cluster whose Secrets are encrypted, and one without. */
const encrypted = join(base, "encrypted")
const plain = join(base, "plain")
const fresh = join(base, "fresh")

beforeAll(async () => {
  const make = async (dataDir: string, ...flags: readonly string[]) => {
    mkdirSync(dataDir)
    await using server = await startServer({ dataDir, keep: true, flags })
    server.signal("SIGTERM")
    await server.ended
  }
  await Promise.all([make(encrypted, "--secrets-encryption"), make(plain)])
}, 60_000)

/** Writes a file in a folder of its own. Returns its path. */
function fileWith(name: string, text: string): string {
  const file = join(mkdtempSync(join(base, "file-")), name)
  writeFileSync(file, text)
  return file
}

/** Returns all that is in a folder: kind, mode and content of each entry, but for that of the folder itself. */
function contentOf(folder: string): Readonly<Record<string, string>> {
  if (!existsSync(folder)) return {}
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return Object.fromEntries(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const hash = entry.isFile() ? createHash("sha256").update(readFileSync(path)).digest("hex").slice(0, 12) : ""
      return [path.slice(folder.length + 1), `${lstatSync(path).mode.toString(8)} ${hash}`]
    }),
  )
}

const file = (name: string, text: string) => () => {
  const path = join(base, name)
  writeFileSync(path, text)
  return path
}
const KMS = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources: [{resources: [secrets], providers: [{kms: {apiVersion: v2, name: k, endpoint: "unix:///run/none.sock"}}]}]
`
const SHARED = ["--datastore-endpoint", "http://127.0.0.1:9"]
const missing = () => join(base, "missing")

interface Row {
  readonly title: string
  readonly from: () => string
  readonly flags: readonly (string | (() => string))[]
  readonly says: string
  readonly needsEtcd?: boolean
}
const ROWS: readonly Row[] = [
  {
    title: "keys of its own, and --cluster-init",
    from: () => encrypted,
    flags: ["--cluster-init"],
    says: "Cannot move the database to etcd",
    needsEtcd: true,
  },
  {
    title: "--secrets-encryption and --cluster-init",
    from: () => plain,
    flags: ["--cluster-init", "--secrets-encryption"],
    says: "Cannot use --secrets-encryption with a store that servers share",
    needsEtcd: true,
  },
  {
    title: "an etcd that does not come up",
    from: () => plain,
    flags: ["--cluster-init", "--advertise-address", "192.0.2.77"],
    says: "etcd",
    needsEtcd: true,
  },
  {
    title: "--server beside a cluster of its own",
    from: () => plain,
    flags: ["--server", "https://127.0.0.1:9", "--token", "t"],
    says: "This server has a cluster of its own",
    needsEtcd: true,
  },
  {
    title: "--server without a token",
    from: () => fresh,
    flags: ["--server", "https://127.0.0.1:9"],
    says: "--server needs --token",
    needsEtcd: true,
  },
  {
    title: "--cluster-reset without an etcd",
    from: () => plain,
    flags: ["--cluster-reset"],
    says: "cluster-reset",
    needsEtcd: true,
  },
  {
    title: "--cluster-reset with a snapshot that is not there",
    from: () => plain,
    flags: ["--cluster-reset", "--cluster-reset-restore-path", missing],
    says: "missing",
    needsEtcd: true,
  },
  {
    title: "--secrets-encryption and a shared store",
    from: () => fresh,
    flags: [...SHARED, "--secrets-encryption"],
    says: "Cannot use --secrets-encryption with a store that servers share",
  },
  {
    title: "a KMS plugin and a shared store",
    from: () => fresh,
    flags: [...SHARED, "--encryption-provider-config", file("kms.yaml", KMS)],
    says: "Cannot use the KMS plugin",
  },
  {
    title: "an encryption configuration that is not there",
    from: () => fresh,
    flags: ["--encryption-provider-config", missing],
    says: "no such file",
  },
  {
    title: "an encryption configuration beside keys of its own",
    from: () => encrypted,
    flags: ["--encryption-provider-config", file("none.yaml", "kind: Nothing\n")],
    says: "Cannot use --encryption-provider-config",
  },
  {
    title: "a token's file that is not there",
    from: () => fresh,
    flags: ["--token-file", missing],
    says: "there is no such file",
  },
  {
    title: "a token that is malformed",
    from: () => plain,
    flags: ["--agent-token", "K10zz::server:x"],
    says: "token",
  },
  {
    title: "a kubeconfig that is a folder",
    from: () => fresh,
    flags: ["--write-kubeconfig", () => base],
    says: "kubeconfig",
  },
  {
    title: "an audit log that is a folder",
    from: () => fresh,
    flags: ["--audit-log-path", () => base],
    says: "it is a folder",
  },
  {
    title: "a shared store's authority that is not there",
    from: () => fresh,
    flags: ["--datastore-endpoint", "https://127.0.0.1:9", "--datastore-cafile", missing],
    says: "missing",
  },
  {
    title: "a tracing configuration that is not there",
    from: () => fresh,
    flags: ["--tracing-config-file", missing],
    says: "tracing",
  },
  {
    title: "a scheduler configuration with a fault",
    from: () => fresh,
    flags: [
      "--scheduler-config",
      () =>
        fileWith(
          "scheduler.yaml",
          "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: 101\n",
        ),
    ],
    says: "scheduler.yaml:3: percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
  },
  {
    title: "a scheduler plugin with a fault",
    from: () => fresh,
    flags: ["--scheduler-plugin", () => fileWith("plugin.ts", 'export default { name: "Mine", filters() {} }')],
    says: "plugin.ts cannot be used: plugin",
  },
]

describe("a start that is refused leaves the data directory as it was", () => {
  for (const { title, from, flags, says, needsEtcd = false } of ROWS)
    test.skipIf(needsEtcd && !hasEtcd)(title, async () => {
      // given
      const dataDir = join(mkdtempSync(join(base, "case-")), "data")
      if (existsSync(from())) cpSync(from(), dataDir, { recursive: true })
      const before = contentOf(dataDir)
      // when
      const { code, stderr } = await k3ts([
        ...["server", "--config", "/dev/null", "--disable-agent", "--data-dir", dataDir],
        ...["--https-listen-port", String(await freePort()), "--write-kubeconfig", join(dataDir, "../k3ts.yaml")],
        ...flags.map((flag) => (typeof flag === "string" ? flag : flag())),
      ])
      // then
      expect(stderr).toContain(says)
      expect(code).toBeGreaterThan(0)
      expect(contentOf(dataDir)).toEqual(before)
    })
})
