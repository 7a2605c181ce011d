import { afterAll, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { once } from "node:events"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { agentFlags } from "../config/agent-flags.ts"
import { serverFlags } from "../config/server-flags.ts"
import { serverVocabulary } from "../config/server-vocabulary.ts"
import { k3sFlags } from "../k3s/flags.ts"
import { apiServerFlags } from "../test-assets/api-server-flags.ts"
import { variableOf, type FlagShape } from "./flags.ts"
import { resolveFlags, splitArguments } from "./parse.ts"

const dir = mkdtempSync(join(tmpdir(), "k3ts-named-"))
afterAll(() => rmSync(dir, { recursive: true }))
const text = join(dir, "text")
writeFileSync(text, "")
mkdirSync(join(dir, "folder"))
symlinkSync("itself", join(dir, "itself"))
const socket = createServer().listen(join(dir, "socket"))
await once(socket, "listening")
afterAll(() => void socket.close())

/** Flags of files that are written, or that may be missing. */
const OTHERS = new Set([
  "config",
  "log",
  "write-kubeconfig",
  "audit-log-path",
  "ingress-access-log",
  "private-registry",
  "cluster-reset-restore-path",
])
const filesOf = (shape: FlagShape): readonly string[] =>
  Object.entries(shape).flatMap(([name, { path, placeholder }]) =>
    path === true && placeholder === "FILE" && !OTHERS.has(name) ? [name] : [],
  )
const NEEDED: Readonly<Record<string, string>> = { server: "https://127.0.0.1:6443" }

function resolving(
  shape: FlagShape,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): () => unknown {
  const needed = Object.entries(NEEDED).flatMap(([name, value]) => (name in shape ? [`--${name}=${value}`] : []))
  return () =>
    resolveFlags(shape, {
      written: splitArguments([...needed, ...argv], shape, k3sFlags),
      env: { K3TS_CONFIG: "/dev/null", ...env },
      config: serverVocabulary,
    })
}

describe.each([
  ["k3ts server", serverFlags, 25],
  ["k3ts agent", agentFlags, 2],
  ["kube-apiserver of k3ts test-assets", apiServerFlags, 8],
] as const)("%s", (_command, shape: FlagShape, fewest) => {
  const flags = filesOf(shape)
  test("has flags of files", () => expect(flags.length).toBeGreaterThanOrEqual(fewest))

  test.each(flags)("refuses a --%s that cannot be read, with flag, file and mend", (flag) => {
    for (const [name, mend] of [
      ["none", "there is no such file: write it, or name another one"],
      ["folder", "it is a folder: name a file in it"],
      ["text/below", "a part of its path is no folder: name another file"],
      ["itself", "it is a symbolic link that leads to itself: name another file"],
      ["socket", "it is a socket: name a file"],
    ] as const) {
      const file = join(dir, name)
      expect(resolving(shape, [`--${flag}=${file}`])).toThrow(`invalid value "${file}" for --${flag}: ${mend}`)
    }
    expect(resolving(shape, [`--${flag}=${text}`])).not.toThrow()
  })
})

describe("a file that cannot be read is named by what names it", () => {
  const none = join(dir, "none")
  test("a variable", () => {
    const env = { [variableOf("audit-policy-file")]: none }
    expect(resolving(serverFlags, [], env)).toThrow(`invalid value "${none}" for K3TS_AUDIT_POLICY_FILE: there is no`)
  })

  test("a key of the config file", () => {
    const config = join(dir, "config.yaml")
    writeFileSync(config, `audit-policy-file: ${none}\n`)
    expect(resolving(serverFlags, ["--config", config])).toThrow(
      `invalid value "${none}" for audit-policy-file in ${config}: there is no such file`,
    )
  })

  test.each<[argument: string, first: string, second: string]>([
    ["--kube-apiserver-arg=audit-policy-file=FILE", "FILE", "--audit-policy-file"],
    ["--kube-scheduler-arg=config=FILE", "FILE", "--scheduler-config"],
    ["--kubelet-arg=config=FILE", "FILE: there is no such file: write it", "--kubelet-arg config=FILE"],
    [
      "--kubelet-arg=config-dir=FILE",
      "FILE: cannot be read as a folder of .conf files",
      "--kubelet-arg config-dir=FILE",
    ],
    ["--tls-sni-cert-key=FILE,FILE", "FILE: there is no such file: write it", "--tls-sni-cert-key"],
    ["--config=FILE", "FILE: there is no such file: write it, or name another one", "--config"],
  ])("%s", (argument, first, second) => {
    for (const said of [first, second])
      expect(resolving(serverFlags, [argument.replaceAll("FILE", none)])).toThrow(said.replaceAll("FILE", none))
  })

  test("a KubeletConfiguration with a fault, by --kubelet-arg", () => {
    const file = join(dir, "kubelet.yaml")
    writeFileSync(file, "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPod: 3\n")
    expect(resolving(serverFlags, ["--kubelet-arg", `config=${file}`])).toThrow(
      `--kubelet-arg config=${file} cannot be used:\n${file}:3: maxPod: this field is not known; did you mean maxPods?`,
    )
  })
})
