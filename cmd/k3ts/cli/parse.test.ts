import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { kubeletSettings } from "../config/kubelet-args.ts"
import { agentFlags } from "../config/agent-flags.ts"
import { serverFlags, type ServerFlags } from "../config/server-flags.ts"
import { k3sFlags } from "../k3s/flags.ts"
import { serverVocabulary } from "../config/server-vocabulary.ts"
import { DEFAULT_TUNING } from "../../../components/kubelet/model/tuning.ts"
import { resolveFlags, splitArguments } from "./parse.ts"
import { UsageError } from "./usage-error.ts"

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "k3ts-flags-"))
})
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0

/** Reads a server's flags; a text in `file` is the config file. */
function read(
  argv: readonly string[],
  { env = {}, file }: { env?: Record<string, string>; file?: string } = {},
): ServerFlags {
  const path = join(folder, `config-${files++}.yaml`)
  if (file !== undefined) writeFileSync(path, file)
  const written = splitArguments([...argv, ...(file === undefined ? [] : ["--config", path])], serverFlags, k3sFlags)
  return resolveFlags(serverFlags, {
    written,
    env: { K3TS_CONFIG: file === undefined ? undefined : path, ...env },
    config: serverVocabulary,
  })
}

function faultOf(run: () => unknown): string {
  try {
    run()
  } catch (err) {
    expect(err).toBeInstanceOf(UsageError)
    return (err as Error).message.replaceAll(folder, "").replace(/\/config-\d+\.yaml/, "FILE")
  }
  throw new Error("was taken")
}

describe("the source of a flag's value", () => {
  test.each<[string, string[], Record<string, string>, string | undefined, number]>([
    ["the default", [], {}, undefined, 6443],
    ["the config file", [], {}, "https-listen-port: 7000", 7000],
    [
      "an environment variable, which overrides the file",
      [],
      { K3TS_HTTPS_LISTEN_PORT: "7001" },
      "https-listen-port: 7000",
      7001,
    ],
    [
      "the command line, which overrides everything",
      ["--https-listen-port", "7002"],
      { K3TS_HTTPS_LISTEN_PORT: "7001" },
      "https-listen-port: 7000",
      7002,
    ],
    ["the command line, with =", ["--https-listen-port=7003"], {}, undefined, 7003],
  ])("%s", (_, argv, env, file, expected) =>
    expect(read(argv, { env, ...(file === undefined ? {} : { file }) })["https-listen-port"]).toBe(expected),
  )
})

describe("kinds of values", () => {
  test("a boolean flag is given alone or with a value", () => {
    expect(read(["--disable-agent"])["disable-agent"]).toBe(true)
    expect(read(["--disable-agent=false"])["disable-agent"]).toBe(false)
    expect(read([], { env: { K3TS_DISABLE_AGENT: "1" } })["disable-agent"]).toBe(true)
    expect(read([], { file: "disable-agent: true" })["disable-agent"]).toBe(true)
    expect(read([])["disable-agent"]).toBe(false)
  })

  test("a list is given by repeated flags, by commas, or as a list in the file", () => {
    const expected = ["a.example.org", "192.0.2.1", "b.example.org"]
    expect(read(["--tls-san", "a.example.org,192.0.2.1", "--tls-san=b.example.org"])["tls-san"]).toEqual(expected)
    expect(read([], { env: { K3TS_TLS_SAN: expected.join(",") } })["tls-san"]).toEqual(expected)
    expect(read([], { file: `tls-san: [${expected.join(", ")}]` })["tls-san"]).toEqual(expected)
    expect(read([], { file: "tls-san: a.example.org" })["tls-san"]).toEqual(["a.example.org"])
  })

  test("other values are parsed into their types", () => {
    const flags = read(
      [
        "--node-taint",
        "dedicated=db:NoSchedule",
        "--node-label",
        "disk=ssd",
        "--kubelet-arg",
        "max-pods=250,sync-frequency=1m30s,node-status-update-frequency=30s,container-log-max-size=50Mi",
        "--kubelet-arg",
        "container-log-max-files=10",
        "--service-node-port-range",
        "31000-31999",
        "-d",
        "/data",
        "-o",
        "/k.yaml",
        "--container-runtime-endpoint",
        "unix:///run/x.sock",
      ],
      { file: "write-kubeconfig-mode: 0644" },
    )
    expect(flags["node-taint"]).toEqual([{ key: "dedicated", value: "db", effect: "NoSchedule" }])
    expect(flags["node-label"]).toEqual([["disk", "ssd"]])
    expect(kubeletSettings(flags["kubelet-arg"], 4)).toEqual({
      maxPods: 250,
      syncFrequencyMs: 90_000,
      tuning: {
        ...DEFAULT_TUNING,
        measureMs: 30_000,
        containerLogMaxBytes: 50 * 2 ** 20,
        containerLogMaxFiles: 10,
      },
    })
    expect(kubeletSettings([], 4)).toEqual({
      maxPods: 110,
      syncFrequencyMs: 60_000,
      tuning: DEFAULT_TUNING,
    })
    expect([1, 4, 100].map((cpus) => kubeletSettings([{ podsPerCore: 20 }], cpus).maxPods)).toEqual([20, 80, 110])
    expect(flags["service-node-port-range"]).toEqual({ first: 31000, last: 31999 })
    expect(flags["write-kubeconfig-mode"]).toBe(0o644)
    expect([flags["data-dir"], flags["write-kubeconfig"], flags["container-runtime-endpoint"]]).toEqual([
      "/data",
      "/k.yaml",
      "/run/x.sock",
    ])
  })

  test("--kubelet-arg values can have commas, and are merged", () => {
    const settings = (...given: readonly string[]) =>
      kubeletSettings(read(given.flatMap((one) => ["--kubelet-arg", one]))["kubelet-arg"], 4).tuning
    expect(
      settings(
        "eviction-hard=memory.available<1Gi,nodefs.available<10%,max-pods=20",
        "eviction-soft=memory.available<2Gi,eviction-soft-grace-period=memory.available=1m30s",
        "eviction-pressure-transition-period=30s",
        "kube-reserved=cpu=100m,memory=1Gi,system-reserved=cpu=1,ephemeral-storage=1k",
        "image-gc-high-threshold=90,serialize-image-pulls=true",
      ),
    ).toEqual({
      ...DEFAULT_TUNING,
      eviction: {
        hard: { "memory.available": { count: 2 ** 30 }, "nodefs.available": { fraction: 0.1 } },
        soft: { "memory.available": { amount: { count: 2 ** 31 }, graceMs: 90_000 } },
        mostGraceSeconds: 0,
        transitionMs: 30_000,
      },
      reserved: { cpuMilli: 1100, memoryBytes: 2 ** 30, diskBytes: 1000 },
      imageGc: { highPercent: 90, lowPercent: 80 },
      mostPulls: 1,
    })
    expect(settings("max-parallel-image-pulls=3").mostPulls).toBe(3)
  })

  test.each([
    {
      given: ["eviction-soft=memory.available<2Gi"],
      wants: "eviction-soft=memory.available: needs a grace, as in --kubelet-arg eviction-soft-grace-period=",
    },
    {
      given: ["image-gc-low-threshold=90"],
      wants: "image-gc-low-threshold=90: must be less than image-gc-high-threshold, which is 85",
    },
    {
      given: ["serialize-image-pulls=true", "max-parallel-image-pulls=2"],
      wants: "max-parallel-image-pulls=2: must be 1 with serialize-image-pulls=true; leave that out",
    },
  ])("contradictory --kubelet-arg values are refused: $wants", ({ given, wants }) => {
    const flags = read(given.flatMap((one) => ["--kubelet-arg", one]))
    expect(() => kubeletSettings(flags["kubelet-arg"], 4)).toThrow(wants)
  })

  test("defaults are parsed like given values", () => {
    const flags = read([])
    expect(flags["write-kubeconfig-mode"]).toBe(0o600)
    expect(flags["service-node-port-range"]).toEqual({ first: 30000, last: 32767 })
    expect(flags["node-ip"]).toEqual([])
    expect(flags["node-name"]).toBeUndefined()
  })

  test("--help is recognized at any place, also after an invalid value", () => {
    expect(splitArguments(["--https-listen-port", "x", "-h"], serverFlags).help).toBe(true)
  })

  test("arguments after -- are not parsed as flags", () => {
    expect(splitArguments(["a", "--", "--b"], serverFlags).positionals).toEqual(["a", "--b"])
  })
})

describe("an error about the command line names the argument and what to do", () => {
  test.each<[string[], string]>([
    [["--https-listn-port", "1"], "unknown flag --https-listn-port; did you mean --https-listen-port?"],
    [["--whatever"], "unknown flag --whatever"],
    [["-x"], "unknown flag -x"],
    [["--https-listen-port"], "--https-listen-port needs a value: --https-listen-port PORT"],
    [["--https-listen-port", "--debug"], "--https-listen-port needs a value: --https-listen-port PORT"],
    [["--https-listen-port", "0"], 'invalid value "0" for --https-listen-port: must be a port, 1 to 65535'],
    [["--https-listen-port", "65536"], 'invalid value "65536" for --https-listen-port: must be a port, 1 to 65535'],
    [["--https-listen-port", "1e3"], 'invalid value "1e3" for --https-listen-port: must be a port, 1 to 65535'],
    [
      ["--https-listen-port", "1", "--https-listen-port", "2"],
      "--https-listen-port is given 2 times, but takes one value",
    ],
    [["--event-ttl", "500ms"], 'invalid value "500ms" for --event-ttl: must be a duration, as in 15m, 24h or 7d'],
    [["--event-ttl", "3651d"], 'invalid value "3651d" for --event-ttl: must be at most 3650d, or 0s for ever'],
    [["--debug=maybe"], 'invalid value "maybe" for --debug: must be true or false'],
    [["--log-format", "xml"], 'invalid value "xml" for --log-format: must be text or json'],
    [
      ["--datastore-endpoint", "postgres://k3ts:p@ss:word@db"],
      'invalid value "postgres://k3ts:***@db" for --datastore-endpoint: must be URLs of an etcd, as in ' +
        "https://192.0.2.1:2379,https://192.0.2.2:2379, or of a PostgreSQL server, as in " +
        "postgres://user:password@host/database, where sslmode may be verify-full or disable",
    ],
    [["--proxy-mode", "ipvs"], 'invalid value "ipvs" for --proxy-mode: must be nftables or iptables'],
    [
      ["--cluster-cidr", "10.42.0.1/16"],
      'invalid value "10.42.0.1/16" for --cluster-cidr: must not have bits set beyond the prefix length',
    ],
    [
      ["--service-cidr", "10.43.0.0"],
      'invalid value "10.43.0.0" for --service-cidr: must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    [
      ["--bind-address", "localhost"],
      'invalid value "localhost" for --bind-address: must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      ["--tls-san", "ok.example.org,not ok"],
      'invalid value "not ok" for --tls-san: must be a host name or an IP address',
    ],
    [
      ["--node-name", "Node_1"],
      "invalid value \"Node_1\" for --node-name: must be a DNS name: lower case letters, digits, '-' and '.'",
    ],
    [
      ["--kubelet-arg", "max-pods=none"],
      'invalid value "max-pods=none" for --kubelet-arg: must be max-pods=COUNT, as in max-pods=250',
    ],
    [
      ["--kubelet-arg", "container-log-max-files=1"],
      'invalid value "container-log-max-files=1" for --kubelet-arg: must be container-log-max-files=COUNT of at ' +
        "least 2, as in container-log-max-files=10",
    ],
    [
      ["--kubelet-arg", "constructor=1"],
      'invalid value "constructor=1" for --kubelet-arg: must be one of config, config-dir, max-pods, pod-max-pids, pods-per-core, ' +
        "sync-frequency, node-status-update-frequency, container-log-max-size, container-log-max-files, root-dir, " +
        "pod-manifest-path, seccomp-default, allowed-unsafe-sysctls, tls-min-version, tls-cipher-suites, eviction-hard, eviction-soft, " +
        "eviction-soft-grace-period, eviction-minimum-reclaim, eviction-max-pod-grace-period, " +
        "eviction-pressure-transition-period, kube-reserved, system-reserved, image-gc-high-threshold, " +
        "image-gc-low-threshold, minimum-image-ttl-duration, image-minimum-gc-age, serialize-image-pulls, " +
        "max-parallel-image-pulls; other settings of a kubelet are not known",
    ],
    [
      ["--kubelet-arg", "kube-reserved-cgroup=/kubelet"],
      'invalid value "kube-reserved-cgroup=/kubelet" for --kubelet-arg: k3ts has no such setting: what is reserved is ' +
        "kept from the scheduler, not enforced by a cgroup: bound pods by their limits",
    ],
    [
      ["--kubelet-arg", "eviction-minimum-reclaim=memory=1Gi"],
      'invalid value "eviction-minimum-reclaim=memory=1Gi" for --kubelet-arg: must be ' +
        "eviction-minimum-reclaim=SIGNAL=AMOUNT,…, as in " +
        "eviction-minimum-reclaim=nodefs.available=10%,imagefs.available=2Gi; signals are memory.available, " +
        "nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available",
    ],
    [
      ["--kubelet-arg", "eviction-hard=memory<1Gi"],
      'invalid value "eviction-hard=memory<1Gi" for --kubelet-arg: must be eviction-hard=SIGNAL<AMOUNT,…, as in ' +
        "eviction-hard=memory.available<500Mi,nodefs.available<10%; signals are memory.available, nodefs.available, " +
        "nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available",
    ],
    [
      ["--kubelet-arg", "kube-reserved=pid=100"],
      'invalid value "kube-reserved=pid=100" for --kubelet-arg: must be kube-reserved=RESOURCE=AMOUNT,… of cpu, ' +
        "memory, ephemeral-storage, as in kube-reserved=cpu=200m,memory=500Mi",
    ],
    [
      ["--kubelet-arg", "node-labels=disk=ssd"],
      'invalid value "node-labels=disk=ssd" for --kubelet-arg: here it is the flag --node-label',
    ],
    [
      ["--node-taint", "a=b:Never"],
      'invalid value "a=b:Never" for --node-taint: must be a taint, as in dedicated=db:NoSchedule ' +
        "(NoSchedule, PreferNoSchedule, NoExecute)",
    ],
    [
      ["--node-label", "disk"],
      'invalid value "disk" for --node-label: must be a label that a node may give itself, as in disk=ssd',
    ],
    [
      ["--node-label", "node-role.kubernetes.io/db="],
      'invalid value "node-role.kubernetes.io/db=" for --node-label: must be a label that a node may give ' +
        "itself, as in disk=ssd",
    ],
    [
      ["--write-kubeconfig-mode", "rw"],
      'invalid value "rw" for --write-kubeconfig-mode: must be a file mode in octal, as in 600 or 0644',
    ],
    [
      ["--service-node-port-range", "32767-30000"],
      'invalid value "32767-30000" for --service-node-port-range: must be a range of ports, as in 30000-32767',
    ],
    [
      ["--disable", "dns,kube-dns"],
      'invalid value "kube-dns" for --disable: must be one of dns, gateway, ingress, kube-proxy, network-policy, local-storage, ' +
        "metrics-server, helm-controller, servicelb, source-guard, scheduler, controller-manager, manifests",
    ],
    [
      ["--disable", "dns,traefik"],
      'invalid value "traefik" for --disable: that is k3s\'s Ingress controller; here it is ingress, and gateway for ' +
        "the Gateway API",
    ],
    [
      ["--config", "/nonexistent.yaml"],
      "cannot read the config file /nonexistent.yaml: there is no such file: write it, or name another one " +
        "(by --config or K3TS_CONFIG)",
    ],
  ])("%j", (argv, expected) => expect(faultOf(() => read(argv))).toBe(expected))

  test("an error about an environment variable names the variable", () => {
    expect(faultOf(() => read([], { env: { K3TS_NODE_IP: "here" } }))).toBe(
      'invalid value "here" for K3TS_NODE_IP: must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    )
  })
})

describe("an error about the config file names the key and what to do", () => {
  test.each<[string, string]>([
    ["tls-sans: [a]", 'unknown key "tls-sans" in FILE; did you mean tls-san?'],
    ["config: /x.yaml", 'unknown key "config" in FILE'],
    ["- a", "FILE must be a map of flags, as in: https-listen-port: 6443"],
    ["just text", "FILE must be a map of flags, as in: https-listen-port: 6443"],
    ["https-listen-port: many", 'invalid value "many" for https-listen-port in FILE: must be a port, 1 to 65535'],
    ["https-listen-port: [1, 2]", "https-listen-port in FILE is given 2 times, but takes one value"],
    [
      "https-listen-port:",
      "invalid value for https-listen-port in FILE: must be a text, a number, true or false, or a list of those",
    ],
    [
      "tls-san: {a: b}",
      "invalid value for tls-san in FILE: must be a text, a number, true or false, or a list of those",
    ],
  ])("%j", (file, expected) => expect(faultOf(() => read([], { file }))).toBe(expected))

  test.each(["a: [", "a: 1\na: 2"])("%j is refused as invalid YAML", (file) =>
    expect(faultOf(() => read([], { file }))).toStartWith("FILE is not YAML: "),
  )
  test.each(["", "# nothing\n", "---\n"])("%j is an empty config file, which is accepted", (file) =>
    expect(read([], { file })["https-listen-port"]).toBe(6443),
  )
})

test("the error about a missing required flag lists every way to set it", () => {
  const { server, config } = agentFlags
  const wrong = () =>
    resolveFlags(
      { server, config },
      { written: splitArguments([], { server, config }), env: {}, config: serverVocabulary },
    )
  expect(() => wrong()).toThrow(
    "--server is required: give --server URL, or set it by K3TS_SERVER, K3TS_URL, the config file",
  )
})
