import { describe, expect, test } from "bun:test"
import { DEFAULT_FEATURES, featuresOf } from "../../../pkg/component/features.ts"
import { servedOptionalKinds } from "../../../pkg/component/optional-kinds.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { resolveFlags, splitArguments } from "../cli/parse.ts"
import { KUBELET_SETTINGS } from "../config/kubelet-args.ts"
import { refuseRuntimeConfig } from "../config/runtime-config.ts"
import { serverFlags } from "../config/server-flags.ts"
import { serverVocabulary } from "../config/server-vocabulary.ts"
import { k3sFlags } from "./flags.ts"
import { PROGRAMS } from "./programs.ts"
import { tellWithoutEffect } from "./told.ts"
import { UPSTREAM_FLAGS } from "./upstream-flags.fixtures.ts"

const read = (...argv: readonly string[]) =>
  resolveFlags(serverFlags, {
    written: splitArguments([...argv], serverFlags, k3sFlags),
    env: { K3TS_CONFIG: "/dev/null" },
    config: serverVocabulary,
  })

/** Settings that earlier versions of these programs had, and k3s documents. */
const EARLIER = new Set([
  ...["contention-profiling", "disabled-metrics", "allow-metric-labels", "allow-metric-labels-manifest"],
  ...["image-gc-max-age", "image-maximum-gc-age", "image-minimum-gc-age", "max-parallel-image-pulls"],
  ...["pod-infra-container-image", "profiling", "tls-curve-preferences"],
])

describe.each(Object.keys(PROGRAMS))("of the flags of %s", (program) => {
  const known = [...Object.keys(PROGRAMS[program]!), ...(program === "kubelet" ? KUBELET_SETTINGS : [])]

  test("each has an answer, and no other has", () => {
    expect(UPSTREAM_FLAGS[program]!.filter((name) => !known.includes(name))).toEqual([])
    expect(known.filter((name) => !UPSTREAM_FLAGS[program]!.includes(name) && !EARLIER.has(name))).toEqual([])
  })

  test("each that is done is done by a flag of k3ts", () => {
    const flags = Object.values(PROGRAMS[program]!).flatMap((flag) => ("done" in flag ? [flag.done] : []))
    expect(flags.filter((name) => !(name in serverFlags))).toEqual([])
  })

  test("each without effect is accepted, and each that is refused says why", () => {
    for (const [name, flag] of Object.entries(PROGRAMS[program]!)) {
      const arg = (value: string) => () => read(`--${program}-arg=${name}=${value}`)
      if ("idle" in flag) expect(arg("1")).not.toThrow()
      else if ("refused" in flag) expect(arg("1")).toThrow(flag.refused)
      else if ("holds" in flag) {
        expect(arg(flag.holds[0]!)).not.toThrow()
        expect(arg("nonsense")).toThrow(flag.why)
      }
    }
  })
})

test("flags that mean nothing here are told once at the start, with the reason", () => {
  // given flags of two programs, one of them twice
  const flags = read(
    "--kube-apiserver-arg=watch-cache=true",
    "--kube-apiserver-arg=watch-cache=true",
    "--kubelet-arg=fail-swap-on=false,max-pods=50",
  )
  const lines: unknown[] = []
  const log = { warn: (message: string, fields: object) => lines.push({ message, ...fields }) } as unknown as Logger
  // when
  tellWithoutEffect(flags, log)
  // then
  expect(flags["kubelet-arg"]).toContainEqual({ maxPods: 50 })
  expect(lines).toEqual([
    {
      message: "A flag means nothing here",
      flag: "--kube-apiserver-arg watch-cache",
      why: "all live objects are in memory, and watches are served from there",
    },
    {
      message: "A flag means nothing here",
      flag: "--kubelet-arg fail-swap-on",
      why: "nodes with swap are accepted",
    },
  ])
})

test("a flag that several programs have may be given to each", () => {
  const gate = "feature-gates=EnvFiles=true"
  const programs = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"]
  expect(read(...programs.map((program) => `--${program}-arg=${gate}`))["feature-gates"].EnvFiles).toBe(true)
})

test("the key of token Secrets and that of the API server's tokens are one", () => {
  const flags = read(
    `--kube-apiserver-arg=service-account-signing-key-file=${import.meta.path}`,
    `--kube-controller-manager-arg=service-account-private-key-file=${import.meta.path}`,
  )
  expect(flags["service-account-signing-key-file"]).toBe(import.meta.path)
})

describe("--runtime-config", () => {
  test.each([
    "api/ga=true",
    "api/beta=false",
    "apps/v1",
    "api/v1=true",
    "batch/v1=true",
    "resource.k8s.io/v1beta1=false",
    "api/all=true",
    "api/beta",
  ])("takes %s", (given) => expect(() => refuseRuntimeConfig([given], DEFAULT_FEATURES)).not.toThrow())

  test("turns on a version that k3ts has, if a gate of its kinds is on", () => {
    const given = ["certificates.k8s.io/v1beta1=true"]
    const features = featuresOf({ ClusterTrustBundle: true })
    expect(() => refuseRuntimeConfig(given, features)).not.toThrow()
    expect(servedOptionalKinds(given, features).map(({ plural }) => plural)).toEqual(["clustertrustbundles"])
    expect(servedOptionalKinds(given, DEFAULT_FEATURES)).toEqual([])
  })

  test.each<[string[], number]>([
    [["api/all=true"], 1],
    [["api/beta=true"], 1],
    [["api/alpha=true"], 0],
    [["api/all=true", "api/beta=false"], 0],
    [["certificates.k8s.io/v1beta1", "api/beta=false"], 1],
    [["certificates.k8s.io/v1beta1=1", "certificates.k8s.io/v1beta1/clustertrustbundles=false"], 0],
  ])("says by %j how many kinds are served, the more exact word before the other", (given, count) => {
    expect(servedOptionalKinds(given, featuresOf({ ClusterTrustBundle: true }))).toHaveLength(count)
  })

  test.each([
    ["api/all=false", "the stable versions cannot be turned off"],
    ["apps/v1=false", "apps/v1 cannot be turned off"],
    ["batch/v1/jobs=false", "batch/v1/jobs cannot be turned off"],
    [
      "certificates.k8s.io/v1beta1=true",
      "serves nothing without a gate: add --feature-gates ClusterTrustBundle=true or PodCertificateRequest=true",
    ],
    ["resource.k8s.io/v1beta2=true", "resource.k8s.io/v1beta2 is beta and off in Kubernetes 1.36, and not in k3ts"],
    ["app/v1", "unknown api group or version; did you mean apps/v1?"],
    ["apps/v1=maybe", "must be GROUP/VERSION=true or GROUP/VERSION=false"],
  ])("refuses %s", (given, message) => expect(() => refuseRuntimeConfig([given], DEFAULT_FEATURES)).toThrow(message))
})
