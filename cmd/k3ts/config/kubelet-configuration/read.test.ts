import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { Logger } from "../../../../pkg/log/log.ts"
import { resolveFlags, splitArguments } from "../../cli/parse.ts"
import { k3sFlags } from "../../k3s/flags.ts"
import { tellWithoutEffect } from "../../k3s/told.ts"
import { agentFlags } from "../agent-flags.ts"
import { kubeletSettings, KUBELET_SETTINGS } from "../kubelet-args.ts"
import { serverFlags } from "../server-flags.ts"
import { serverVocabulary } from "../server-vocabulary.ts"
import { MEANINGS } from "./meanings.ts"
import { KubeletConfiguration, leavesOf } from "./schema.ts"
import { UPSTREAM_FIELDS } from "./upstream-fields.fixtures.ts"

let dir: string
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), "k3ts-kubelet-configuration-"))))
afterAll(() => rmSync(dir, { recursive: true }))

const HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
const write = (name: string, text: string): string => {
  const path = join(dir, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}
const config = (text: string, name = "kubelet.yaml") => `--kubelet-arg=config=${write(name, HEAD + text)}`

const read = (...argv: readonly string[]) =>
  resolveFlags(serverFlags, {
    written: splitArguments([...argv], serverFlags, k3sFlags),
    env: { K3TS_CONFIG: "/dev/null" },
    config: serverVocabulary,
  })
const settings = (...argv: readonly string[]) => {
  const flags = read(...argv)
  return kubeletSettings(flags["kubelet-arg"], 4, flags["feature-gates"])
}
const told = (flags: Parameters<typeof tellWithoutEffect>[0]) => {
  const lines: Record<string, unknown>[] = []
  tellWithoutEffect(flags, {
    warn: (message: string, fields: object) => lines.push({ message, ...fields }),
  } as unknown as Logger)
  return lines
}

describe("of the fields of a KubeletConfiguration", () => {
  test("each of Kubernetes 1.36 is known, and no other is", () => {
    const names = UPSTREAM_FIELDS.map((name) => name.replace("*", ""))
    expect(Object.keys(KubeletConfiguration.fields).toSorted()).toEqual(names.toSorted())
  })

  test("each is a pointer where it is one in Kubernetes", () => {
    const ofTop = leavesOf(KubeletConfiguration.fields).filter(({ path }) => !path.includes("."))
    const starred = ofTop.map(({ path, isPointer }) => `${path}${isPointer ? "*" : ""}`)
    expect(starred.filter((name) => !UPSTREAM_FIELDS.includes(name))).toEqual([])
  })

  test("each has a meaning, and no other has", () => {
    expect(Object.keys(MEANINGS).toSorted()).toEqual(
      leavesOf(KubeletConfiguration.fields)
        .map(({ path }) => path)
        .toSorted(),
    )
  })

  test("each that does something does it by a setting or a flag that there is", () => {
    for (const meaning of Object.values(MEANINGS)) {
      if ("setting" in meaning) expect(KUBELET_SETTINGS).toContain(meaning.setting)
      if ("flag" in meaning) expect(Object.keys(serverFlags)).toContain(meaning.flag)
    }
  })
})

describe("a KubeletConfiguration", () => {
  test("sets what flags of the kubelet set", () => {
    expect(
      settings(
        config(`
maxPods: 250
podPidsLimit: -1
podsPerCore: 30
syncFrequency: 1m30s
nodeStatusUpdateFrequency: 20s
containerLogMaxSize: 50Mi
containerLogMaxFiles: 3
seccompDefault: true
allowedUnsafeSysctls: ["net.core.somaxconn", "kernel.msg*"]
tlsMinVersion: VersionTLS13
evictionHard: {memory.available: 500Mi, nodefs.available: 10%}
evictionSoft: {memory.available: 1Gi}
evictionSoftGracePeriod: {memory.available: 1m30s}
evictionMinimumReclaim: {nodefs.available: 5%}
evictionMaxPodGracePeriod: 60
evictionPressureTransitionPeriod: 30s
kubeReserved: {cpu: 200m, memory: 1Gi}
systemReserved: {cpu: 300m}
imageMinimumGCAge: 5m
imageGCHighThresholdPercent: 70
imageGCLowThresholdPercent: 60
serializeImagePulls: true
crashLoopBackOff: {maxContainerRestartPeriod: 5s}
`),
      ),
    ).toEqual({
      maxPods: 120,
      syncFrequencyMs: 90_000,
      tuning: {
        measureMs: 20_000,
        containerLogMaxBytes: 50 * 2 ** 20,
        containerLogMaxFiles: 3,
        podMaxPids: -1,
        seccompDefault: true,
        unsafeSysctls: ["net.core.somaxconn", "kernel.msg*"],
        tlsProfile: { minVersion: "TLSv1.3" },
        crashes: { firstMs: 5000, longestMs: 5000 },
        eviction: {
          hard: { "memory.available": { count: 500 * 2 ** 20 }, "nodefs.available": { fraction: 0.1 } },
          soft: { "memory.available": { amount: { count: 2 ** 30 }, graceMs: 90_000 } },
          mostGraceSeconds: 60,
          transitionMs: 30_000,
        },
        minimumReclaim: { "nodefs.available": { fraction: 0.05 } },
        imageMinAgeMs: 300_000,
        reserved: { cpuMilli: 500, memoryBytes: 2 ** 30, diskBytes: 0 },
        imageGc: { highPercent: 70, lowPercent: 60 },
        mostPulls: 1,
      },
    })
  })

  test("sets flags of k3ts where they are not given: the node's taints, port, DNS, feature gates, log", () => {
    const text = `
port: 10350
registerWithTaints: [{key: dedicated, value: db, effect: NoSchedule}, {key: lone, effect: NoExecute}]
resolvConf: own/resolv.conf
clusterDNS: [10.43.0.53]
clusterDomain: example.internal
featureGates: {EnvFiles: true, ReduceDefaultCrashLoopBackOffDecay: true}
logging: {format: json, verbosity: 4}
`
    for (const name of ["etc/own/resolv.conf", "own/resolv.conf"]) write(name, "nameserver 192.0.2.1\n")
    expect(read(config(text, "etc/kubelet.yaml"))).toMatchObject({
      "kubelet-port": 10350,
      "node-taint": [
        { key: "dedicated", value: "db", effect: "NoSchedule" },
        { key: "lone", value: "", effect: "NoExecute" },
      ],
      "resolv-conf": join(dir, "etc/own/resolv.conf"),
      "cluster-dns": ["10.43.0.53"],
      "cluster-domain": "example.internal",
      "feature-gates": { EnvFiles: true, ReduceDefaultCrashLoopBackOffDecay: true },
      "log-format": "json",
      v: 4,
    })
    expect(
      read(config(text), "--kubelet-port=10400", "--feature-gates=EnvFiles=false", "--cluster-domain=cluster.local"),
    ).toMatchObject({
      "kubelet-port": 10400,
      "cluster-domain": "cluster.local",
      "feature-gates": { EnvFiles: false, ReduceDefaultCrashLoopBackOffDecay: true },
    })
  })

  test("has paths that are relative to its file", () => {
    expect(settings(config("staticPodPath: manifests/\n", "etc/kubelet.yaml")).staticPods).toBe(
      join(dir, "etc/manifests"),
    )
  })

  test("counts less than a setting that is given, whose map replaces that of the file", () => {
    const file = config(`
maxPods: 250
evictionHard: {memory.available: 500Mi, pid.available: 20%}
kubeReserved: {cpu: "1"}
`)
    const given = settings("--kubelet-arg=max-pods=50,eviction-hard=nodefs.available<10%", file)
    expect(given.maxPods).toBe(50)
    expect(given.tuning.eviction.hard).toEqual({ "nodefs.available": { fraction: 0.1 } })
    expect(given.tuning.reserved.cpuMilli).toBe(1000)
  })

  test("keeps the default thresholds beside its own with mergeDefaultEvictionSettings", () => {
    const hard = (more: string) => settings(config(`evictionHard: {memory.available: 1Gi}${more}`)).tuning.eviction.hard
    expect(hard("")).toEqual({ "memory.available": { count: 2 ** 30 } })
    expect(hard("\nmergeDefaultEvictionSettings: true")).toMatchObject({
      "memory.available": { count: 2 ** 30 },
      "pid.available": { fraction: 0.1 },
    })
  })

  test("means by a zero that a field is not set, where Kubernetes has no pointer", () => {
    expect(settings(config("maxPods: 0\nsyncFrequency: 0s\nevictionHard: {}\n"))).toMatchObject({
      maxPods: 110,
      syncFrequencyMs: 60_000,
    })
    expect(() => settings(config("containerLogMaxFiles: 0"))).toThrow("kubelet.yaml:3: containerLogMaxFiles: 0 must be")
  })

  test("as kubeadm writes it is taken", () => {
    const text = `
authentication:
  anonymous: {enabled: false}
  webhook: {cacheTTL: 0s, enabled: true}
  x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}
authorization:
  mode: Webhook
  webhook: {cacheAuthorizedTTL: 0s, cacheUnauthorizedTTL: 0s}
cgroupDriver: systemd
clusterDNS: [10.43.0.10]
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {}
evictionPressureTransitionPeriod: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
imageMaximumGCAge: 0s
logging: {flushFrequency: 0, options: {json: {infoBufferSize: "0"}, text: {infoBufferSize: "0"}}, verbosity: 0}
memorySwap: {}
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
streamingConnectionIdleTimeout: 0s
volumeStatsAggPeriod: 0s
staticPodPath: /etc/kubernetes/manifests
`
    expect(told(read(config(text))).map(({ field }) => field)).toEqual([
      "rotateCertificates",
      "authentication.x509.clientCAFile",
      "cgroupDriver",
      "logging.options",
    ])
    expect(settings(config(text)).staticPods).toBe("/etc/kubernetes/manifests")
  })

  test("tells once what means nothing here, with file and reason, and nothing of what is so anyway", () => {
    const flags = read(config("failSwapOn: false\nhealthzPort: 10248\nregisterNode: true\nnodeStatusMaxImages: 50\n"))
    expect(told(flags)).toEqual([
      {
        message: "A field of the KubeletConfiguration means nothing here",
        file: join(dir, "kubelet.yaml"),
        field: "failSwapOn",
        why: "nodes with swap are accepted",
      },
    ])
  })

  test("tells an agent that its cluster's DNS is said at the servers", () => {
    const flags = resolveFlags(agentFlags, {
      written: splitArguments(
        ["--server=https://192.0.2.1:6443", "--token=x", config("clusterDNS: [169.254.20.10]\nport: 10350\n")].filter(
          (word) => !word.startsWith("--token"),
        ),
        agentFlags,
        k3sFlags,
      ),
      env: { K3TS_CONFIG: "/dev/null", K3TS_TOKEN: "x" },
      config: serverVocabulary,
    })
    expect(flags["kubelet-port"]).toBe(10350)
    expect(told(flags)).toEqual([
      {
        message: "A field of the KubeletConfiguration means nothing at an agent",
        field: `clusterDNS in ${join(dir, "kubelet.yaml")}`,
        why: "all nodes of a cluster have the same: give its servers --cluster-dns",
      },
    ])
  })
})

describe("a folder of files", () => {
  const folder = (name: string, files: Readonly<Record<string, string>>) => {
    for (const [file, text] of Object.entries(files)) write(join(name, file), text)
    return `--kubelet-arg=config-dir=${join(dir, name)}`
  }

  test("is merged over the file in the order of names, by fields, lists as a whole; null takes a field away", () => {
    const given = folder("merged", {
      "10-first.conf": `${HEAD}maxPods: 10\nkubeReserved: {cpu: 200m, memory: 1Gi}\nregisterWithTaints: [{key: a, effect: NoSchedule}]\n`,
      "20-second.conf": `${HEAD}maxPods: 20\nkubeReserved: {memory: 2Gi}\npodsPerCore: null\n`,
      "30-inner/x.conf": `${HEAD}registerWithTaints: [{key: b, effect: NoSchedule}]\n`,
    })
    const argv = [
      config("maxPods: 5\npodsPerCore: 1\nsyncFrequency: 10s\nregisterWithTaints: [{key: z, effect: NoSchedule}]\n"),
      given,
    ]
    expect(settings(...argv)).toMatchObject({
      maxPods: 20,
      syncFrequencyMs: 10_000,
      tuning: { reserved: { cpuMilli: 200, memoryBytes: 2 ** 31 } },
    })
    expect(read(...argv)["node-taint"].map(({ key }) => key)).toEqual(["b"])
  })

  test("counts without a file too, and is less than what is given", () => {
    const given = folder("alone", { "10.conf": `${HEAD}maxPods: 10\nsyncFrequency: 10s\n` })
    expect(settings(given, "--kubelet-arg=max-pods=50")).toMatchObject({ maxPods: 50, syncFrequencyMs: 10_000 })
  })

  test("is merged into the default thresholds of the file", () => {
    const given = folder("thresholds", { "10.conf": `${HEAD}evictionHard: {memory.available: 1Gi}\n` })
    expect(settings(config("maxPods: 5"), given).tuning.eviction.hard).toMatchObject({
      "memory.available": { count: 2 ** 30 },
      "pid.available": { fraction: 0.1 },
    })
  })

  test("has files whose names do not end with .conf, which are told and not read", () => {
    const given = folder("others", { "10.yaml": "nonsense: [", "20.conf": `${HEAD}maxPods: 10\n` })
    expect(settings(given).maxPods).toBe(10)
    expect(told(read(given))).toEqual([
      {
        message: "Files do not end with .conf, and are no KubeletConfiguration for that",
        files: [join(dir, "others/10.yaml")],
      },
    ])
  })

  test("is refused with the file and line of the drop-in that is wrong", () => {
    const wrong = (text: string) => folder("wrong", { "50.conf": text })
    expect(() => read(config(""), wrong(`${HEAD}maxPod: 5\n`))).toThrow(
      `${join(dir, "wrong/50.conf")}:3: maxPod: this field is not known; did you mean maxPods?`,
    )
    expect(() => read(config("maxPods: 5"), wrong(`${HEAD}\nmaxPods: 99999\n`))).toThrow(
      `${join(dir, "wrong/50.conf")}:4: maxPods: 99999 must be such`,
    )
  })
})

describe("a file is refused", () => {
  test.each<[text: string, message: string]>([
    [`${HEAD}maxPod: 5`, "kubelet.yaml:3: maxPod: this field is not known; did you mean maxPods?"],
    [
      `${HEAD}authentication:\n  x509:\n    clientCA: /x`,
      "kubelet.yaml:5: authentication.x509.clientCA: this field is not known",
    ],
    [`${HEAD}maxPods: 5\nmaxPods: 6`, "kubelet.yaml:4:"],
    [`${HEAD}maxPods: many`, "kubelet.yaml:3: json: cannot unmarshal string"],
    [`${HEAD}evictionHard: {memory.free: 5%}`, 'kubelet.yaml:3: evictionHard: {"memory.free":"5%"} must be such'],
    [
      `${HEAD}cpuManagerPolicy: static`,
      'kubelet.yaml:3: cpuManagerPolicy: "static" cannot be used here: processors and memory',
    ],
    [`${HEAD}enforceNodeAllocatable: [pods, kube-reserved]`, "enforceNodeAllocatable"],
    [`${HEAD}featureGates: {NoSuchGate: true}`, "NoSuchGate"],
    [`${HEAD}port: 99999`, "for port in "],
    [
      `${HEAD}crashLoopBackOff: {maxContainerRestartPeriod: 10m}`,
      "crashLoopBackOff.maxContainerRestartPeriod: 10m must be 1s to 5m",
    ],
    ["kind: KubeletConfiguration\nmaxPods: 5", "apiVersion: is missing: this file must begin with"],
    [
      "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration",
      '"kubelet.config.k8s.io/v1" is not known here',
    ],
    ["maxPods: [", "is not YAML"],
    ["", "is empty"],
  ])("%j", (text, message) => {
    const file = write("kubelet.yaml", text)
    expect(() => settings(`--kubelet-arg=config=${file}`)).toThrow(message)
  })

  test("where it is missing, a folder, a FIFO or huge, and does not stop the start for ever", () => {
    spawnSync("mkfifo", [join(dir, "fifo")])
    truncateSync(write("huge.yaml", ""), 100 * 2 ** 20)
    const refused = (name: string) => expect(() => read(`--kubelet-arg=config=${join(dir, name)}`))
    refused("none.yaml").toThrow(`${join(dir, "none.yaml")}: there is no such file`)
    refused("").toThrow("it is a folder")
    refused("fifo").toThrow("it is a FIFO")
    refused("huge.yaml").toThrow("more than 1048576")
    expect(() => read(`--kubelet-arg=config-dir=${join(dir, "none")}`)).toThrow(
      "cannot be read as a folder of .conf files",
    )
  })
})
